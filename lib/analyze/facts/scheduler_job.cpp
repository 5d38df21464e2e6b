#include "analyze/facts/scheduler_job.hpp"

#include <algorithm>
#include <iterator>
#include <map>
#include <set>

#include <re2/re2.h>

#include "analyze/facts/programs.hpp"
#include "model/contains.hpp"
#include "model/hostlist.hpp"
#include "model/sort.hpp"

namespace culprit::analyze {

namespace {

constexpr std::string_view kRecord = "slurm.job.", kQueued = "slurm.queue.nodes";
constexpr std::size_t kMostNodes = 4096;  // of a record; the first of them tell as much
using Jobs = std::set<std::string>;

// "4711.batch COMPLETED" -> "4711"
std::string number_of(const ConfigRow& record) {
  return record.value.substr(0, record.value.find_first_of(" ."));
}

Jobs recorded_jobs(const Facts& facts) {
  Jobs out;
  for (const ConfigRow& c : facts.configs)
    if (c.name.starts_with(kRecord)) out.insert(number_of(c));
  return out;
}

// Those that had machines when somebody looked at the queue.
Jobs queued_jobs(const Facts& facts) {
  Jobs out;
  for (const ConfigRow& c : facts.configs)
    if (c.name == kQueued) out.insert(number_of(c));
  return out;
}

Jobs known_jobs(const Facts& facts) {
  Jobs out = recorded_jobs(facts);
  out.merge(queued_jobs(facts));
  return out;
}

// 20260303, or seconds since 1970.
bool is_a_date(const std::string& number) {
  return (number.size() == 8 && (number.starts_with("19") || number.starts_with("20"))) ||
         (number.size() == 10 && number.starts_with("1"));
}

// Numbers of schedulers in the names of files: "slurm-4711.out"; where there is none, "4711.out",
// which a date or a process's number may be as well: a record that has it proves it.
Jobs in_names(const Facts& facts, const Jobs& recorded) {
  static const re2::RE2 kOutput(
      R"((?:slurm|job|lsf|pbs)(?:[-_](\d{2,12})|(\d{4,12}))(?:[^/\d][^/]*)?|(\d{4,12})\.(?:out|err|log))");
  Jobs out, bare;
  for (const MemberRow& m : facts.members) {
    std::string number, joined, alone;
    re2::StringPiece name(m.path);
    name.remove_prefix(m.path.rfind('/') + 1);
    // What the pattern takes begins so.
    if (name.empty() || !contains(std::string_view("sjlp0123456789"), name[0])) continue;
    if (m.kind != "file" || !re2::RE2::FullMatch(name, kOutput, &number, &joined, &alone)) continue;
    number += joined;
    (number.empty() ? bare : out).insert(number.empty() ? alone : number);
  }
  if (!out.empty()) return out;
  std::erase_if(bare, [&](const std::string& one) {
    return recorded.empty() ? is_a_date(one) : recorded.count(one) == 0;
  });
  return bare;
}

// Those of `jobs` whose list of nodes fits.
Jobs with_nodes(const Facts& facts, const Jobs& jobs, auto fits) {
  Jobs out;
  for (const ConfigRow& c : facts.configs)
    if ((c.name == "slurm.job.nodes" || c.name == kQueued) && jobs.count(number_of(c)) > 0 &&
        fits(expand_hostlist(std::string_view(c.value).substr(c.value.find(' ') + 1), kMostNodes)))
      out.insert(number_of(c));
  return out;
}

// Machines of which somebody collected files.
std::set<Host> hosts_of_files(const Facts& facts) {
  std::set<Host> out;
  for (const MemberRow& m : facts.members)
    if (m.host && (m.attribution == "path" || m.text_kind == "kernel"))
      out.insert(short_host(*m.host));
  return out;
}

// Those of `jobs` that had any of the machines that the bundle holds files of.
Jobs of_machines(const Facts& facts, const Jobs& jobs) {
  const std::set<Host> machines = hosts_of_files(facts);
  return with_nodes(facts, jobs, [&](const Hostlist& nodes) {
    // What cannot be read may be of these machines, too.
    return nodes.broken || std::ranges::any_of(nodes.hosts, [&](const auto& node) {
             return machines.count(short_host(node)) > 0;
           });
  });
}

// Numbers that are words of the name of a file, or the name of a folder above it: "train-4711.log",
// "4711/stdout.log".
Jobs numbers_of(const MemberRow& m) {
  static const re2::RE2 kNumber(R"((?:^|[^0-9A-Za-z])(\d{3,12})(?:[^0-9A-Za-z]|$))"),
      kFolder(R"((?:^|/)(\d{3,12})/)");
  Jobs out;
  re2::StringPiece folders(m.path), name(m.path);
  for (std::string number; re2::RE2::FindAndConsume(&folders, kFolder, &number);)
    out.insert(number);
  name.remove_prefix(m.path.rfind('/') + 1);
  if (m.host && name.find(re2::StringPiece(*m.host)) != re2::StringPiece::npos) return out;
  for (std::string number; re2::RE2::FindAndConsume(&name, kNumber, &number);) out.insert(number);
  return out;
}

void add_named(const MemberRow& m, const Jobs& jobs, Jobs& out) {
  if (jobs.empty()) return;
  for (const std::string& number : numbers_of(m))
    if (jobs.count(number) > 0) out.insert(number);
}

// Those of `jobs` whose number is a word of the name of a log: "train-4711.log". A number in a
// machine's name is none.
Jobs named(const Facts& facts, const Jobs& jobs) {
  Jobs out;
  for (const MemberRow& m : facts.members)
    if (m.kind == "file" && m.text_kind != "kernel" && m.text_kind != "data")
      add_named(m, jobs, out);
  return out;
}

// When each began, as its record prints it: one clock, so that texts compare.
std::map<std::string, std::string> starts_of(const Facts& facts) {
  std::map<std::string, std::string> out;
  for (const ConfigRow& c : facts.configs)
    if (c.name == "slurm.job.start") {
      std::string& start = out[number_of(c)];
      start = std::max(start, c.value.substr(c.value.find(' ') + 1));
    }
  return out;
}

// What is said of each job under that name.
std::map<std::string, std::string> told_of(const Facts& facts, std::string_view name) {
  std::map<std::string, std::string> out;
  for (const ConfigRow& c : facts.configs)
    if (c.name == name) out[number_of(c)] = c.value.substr(c.value.find(' ') + 1);
  return out;
}

// Those of `jobs` of which there is output with steps: of several the one that trained.
Jobs with_steps(const Facts& facts, const Jobs& jobs) {
  Jobs out;
  for (const ProgressSpan& p : facts.progress)
    if (const MemberRow* m = facts.member(p.member); m != nullptr) add_named(*m, jobs, out);
  return out;
}

// They had machines in common, so that one ran after the other.
bool on_common_machines(const Facts& facts, const Jobs& jobs) {
  const auto nodes = told_of(facts, "slurm.job.nodes");
  std::optional<std::set<std::string>> common;
  for (const std::string& job : jobs) {
    const auto at = nodes.find(job);
    if (at == nodes.end()) return false;
    const auto list = expand_hostlist(at->second, kMostNodes);
    if (list.broken) return false;
    std::set<std::string> kept;
    for (const auto& node : list.hosts)
      if (!common || common->count(node) > 0) kept.insert(node);
    common = std::move(kept);
  }
  return common && !common->empty();
}

// Each began when the one before had ended, as far as the records tell of all, under a name that
// somebody gave. Where the records tell the machines, those decide.
bool one_after_another(const Facts& facts, const Jobs& jobs) {
  const auto starts = starts_of(facts), ends = told_of(facts, "slurm.job.end");
  const auto names = told_of(facts, "slurm.job.name"), nodes = told_of(facts, "slurm.job.nodes");
  std::vector<std::pair<std::string, std::string>> spans;
  for (const std::string& job : jobs) {
    const auto start = starts.find(job), end = ends.find(job), name = names.find(job);
    if (start == starts.end() || end == ends.end() || name == names.end() ||
        is_default_name(name->second) || nodes.count(job) > 0)
      return false;
    spans.emplace_back(start->second, end->second);
  }
  sort_rows(spans);
  for (std::size_t i = 1; i < spans.size(); ++i)
    if (spans[i].first < spans[i - 1].second) return false;
  return true;
}

// Of several that ran one after the other: the last, where they are one job that was submitted
// again; "" where they are called otherwise, or one has no record.
std::string last_of(const Facts& facts, const Jobs& jobs) {
  if (!on_common_machines(facts, jobs) && !one_after_another(facts, jobs)) return {};
  const auto starts = starts_of(facts), names = told_of(facts, "slurm.job.name");
  std::set<std::string> called;
  for (const auto& [job, name] : names)
    if (jobs.count(job) > 0) called.insert(name);
  if (called.size() > 1) return {};
  std::string last, when;
  for (const std::string& job : jobs) {
    const auto start = starts.find(job);
    if (start == starts.end()) return {};
    if (start->second > when) last = job, when = start->second;
  }
  return last;
}

// Files named after other jobs, of which the records tell something that stands so to what they
// tell of `job`.
std::set<MemberId> output_where(const Facts& facts, const std::string& job,
                                const std::map<std::string, std::string>& told, auto stands) {
  std::set<MemberId> out;
  const auto own = told.find(job);
  if (own == told.end()) return out;
  for (const MemberRow& m : facts.members) {
    if (m.kind != "file" || m.text_kind == "kernel" || m.text_kind == "data") continue;
    const Jobs numbers = numbers_of(m);
    if (numbers.empty() || numbers.count(job) > 0) continue;
    if (std::ranges::any_of(numbers, [&](const std::string& number) {
          const auto other = told.find(number);
          return other != told.end() && stands(other->second, own->second);
        }))
      out.insert(m.id);
  }
  return out;
}

// Jobs whose steps were cancelled on the job's own standard error.
Jobs cancelled_in_output(const Facts& facts) {
  static const re2::RE2 kStep(R"(\*\*\* (?:STEP|JOB) (\d{2,12})(?:\.\S+)? ON )");
  Jobs out;
  std::string number;
  for (const EventRow& e : facts.events)
    if (const MemberRow* m = facts.member(e.place.member);
        m != nullptr && m->belonging == Belonging::job && m->text_kind != "kernel" &&
        re2::RE2::PartialMatch(e.message, kStep, &number))
      out.insert(number);
  return out;
}

// The machines that the output says its ranks run on; where it says nothing, those of which there
// is output.
std::set<Host> hosts_of_output(const Facts& facts) {
  std::set<Host> hosts;
  for (const IdentityRow& i : facts.identities)
    if (i.rank && i.host && tells_of_job(i)) hosts.insert(short_host(*i.host));
  if (hosts.size() > 1) return hosts;
  for (const ProgressSpan& p : facts.progress)
    if (const MemberRow* m = facts.member(p.member); m != nullptr && m->host)
      hosts.insert(short_host(*m->host));
  for (const EventRow& e : facts.events)
    if (const MemberRow* m = facts.member(e.place.member);
        m != nullptr && m->host && m->text_kind != "kernel" &&
        (e.rank || (e.severity == Severity::critical && m->text_kind.empty() && !said_by_unit(e))))
      hosts.insert(short_host(*m->host));
  return hosts;
}

std::set<Host> nodes_of(const Hostlist& list) {
  std::set<Host> out;
  for (const auto& node : list.hosts) out.insert(short_host(node));
  return out;
}

// Those of `jobs` that had all machines of which there is output, two or more; where no output
// says, all of which there are files.
Jobs of_all_output(const Facts& facts, const Jobs& jobs) {
  std::set<Host> hosts = hosts_of_output(facts);
  if (hosts.empty()) hosts = hosts_of_files(facts);
  if (hosts.size() < 2) return {};
  return with_nodes(facts, jobs, [&](const Hostlist& list) {
    const std::set<Host> nodes = nodes_of(list);
    return std::ranges::includes(nodes, hosts);
  });
}

// Those of `jobs` that had half of these machines, as far as their machines are known.
Jobs of_much_output(const Facts& facts, const Jobs& jobs) {
  const std::set<Host> hosts = hosts_of_output(facts);
  const Jobs few = with_nodes(facts, jobs, [&](const Hostlist& list) {
    const std::set<Host> nodes = nodes_of(list);
    const auto had =
        std::ranges::count_if(hosts, [&](const Host& h) { return nodes.count(h) > 0; });
    return !list.broken && 2 * static_cast<std::size_t>(had) < hosts.size();
  });
  Jobs out;
  std::ranges::set_difference(jobs, few, std::inserter(out, out.end()));
  return out;
}

std::string only(const Jobs& jobs) { return jobs.size() == 1 ? *jobs.begin() : std::string(); }

}  // namespace

std::string job_by_number(const Facts& facts) {
  const Jobs recorded = recorded_jobs(facts);
  if (facts.manifest)
    for (const std::string& own : {facts.manifest->job_id, facts.manifest->job})
      if (!own.empty() && (recorded.count(own) > 0 || own == facts.manifest->job_id)) return own;
  const Jobs in_paths = in_names(facts, recorded);
  if (in_paths.size() == 1) return only(in_paths);
  if (in_paths.size() > 1 && recorded.size() > 1)
    if (std::string last = last_of(facts, in_paths); !last.empty()) return last;
  const Jobs known = known_jobs(facts);
  if (const Jobs trained = with_steps(facts, known); known.size() > 1 && trained.size() == 1)
    return only(trained);
  // The only one that is recorded is another one where the output tells of many more machines.
  if (recorded.size() < 2) return only(of_much_output(facts, recorded));
  const Jobs of_logs = named(facts, recorded);
  return of_logs.size() == 1 ? only(of_logs) : last_of(facts, of_logs);
}

std::string job_of_steps(const Facts& facts) {
  std::string own = job_in_question(facts);
  if (own.empty()) own = only(cancelled_in_output(facts));
  return own.empty() ? job_of_all_output(facts) : own;
}

std::string job_of_all_output(const Facts& facts) {
  if (std::string own = job_by_number(facts); !own.empty()) return own;
  return only(of_all_output(facts, known_jobs(facts)));
}

bool began_last(const Facts& facts, const std::string& job) {
  const auto starts = starts_of(facts);
  const auto own = starts.find(job);
  return std::ranges::all_of(
      starts, [&](const auto& one) { return own != starts.end() && one.second <= own->second; });
}

std::set<MemberId> output_of_jobs_before(const Facts& facts, const std::string& job) {
  return output_where(facts, job, starts_of(facts), std::less<>());
}

std::set<MemberId> output_of_other_jobs(const Facts& facts, const std::string& job) {
  std::set<MemberId> out =
      output_where(facts, job, told_of(facts, "slurm.job.name"), std::not_equal_to<>());
  // Those that had none of its machines when somebody looked at the queue.
  auto queued = told_of(facts, kQueued);
  const auto own = queued.find(job);
  if (own == queued.end()) return out;
  const Hostlist list = expand_hostlist(own->second, kMostNodes);
  const std::set<Host> nodes = nodes_of(list);
  for (auto& [number, machines] : queued) {
    const Hostlist other = expand_hostlist(machines, kMostNodes);
    const bool apart =
        !list.broken && !other.broken && std::ranges::none_of(other.hosts, [&](const auto& node) {
          return nodes.count(short_host(node)) > 0;
        });
    machines = number != job && apart ? "apart" : "";
  }
  out.merge(output_where(facts, job, queued, std::not_equal_to<>()));
  return out;
}

std::string job_in_question(const Facts& facts) {
  if (std::string own = job_by_number(facts); !own.empty()) return own;
  return only(of_much_output(facts, of_machines(facts, recorded_jobs(facts))));
}

}  // namespace culprit::analyze
