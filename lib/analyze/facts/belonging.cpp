// Ties between a file and the job: who speaks in it, what its name says, and what speaks against.
#include "analyze/facts/belonging.hpp"

#include <algorithm>
#include <set>

#include "analyze/facts/job_life.hpp"
#include "analyze/facts/job_pods.hpp"
#include "analyze/facts/path_facts.hpp"
#include "analyze/facts/scheduler_job.hpp"

namespace culprit::analyze {

namespace {

// Text of machines, schedulers and tools: its lines name hosts and jobs, and are placed by them.
bool told_by_machine(const MemberRow& m) {
  static const std::set<std::string> kKinds{
      "kernel",     "bmc",     "nvidia-smi", "rdma",   "dcgm",    "scheduler", "fabric-manager",
      "kubernetes", "storage", "data",       "source", "process", "commands"};
  return kKinds.count(m.text_kind) > 0 || system_log(m.path);
}

struct Ties {
  std::set<MemberId> speaks;                        // of ranks, communicators, steps
  std::map<MemberId, std::set<std::string>> hosts;  // that its NCCL and launcher lines print

  explicit Ties(const Facts& facts) {
    for (const ProgressSpan& p : facts.progress)
      if (p.framework != "tqdm" && p.rows > 1) speaks.insert(p.member);
    for (const IdentityRow& i : facts.identities) {
      if (!tells_of_job(i)) continue;
      speaks.insert(i.place.member);
      if (i.host) hosts[i.place.member].insert(short_host(*i.host));
    }
    for (const TracebackRow& t : facts.tracebacks)
      if (t.rank) speaks.insert(t.place.member);
    collect_warnings(facts);
    for (const RecorderRow& r : facts.recorders) speaks.insert(r.place.member);
    for (const FrontierRow& f : facts.frontiers)
      if (f.rank) speaks.insert(f.place.member);
    for (const StackSample& s : facts.samples) speaks.insert(s.row.place.member);
  }

 private:
  // Processes of several machines report lost peers in one file, with their numbers: lines that
  // somebody took out of the output of a job, and no machine's log.
  void collect_warnings(const Facts& facts) {
    constexpr std::size_t kSeveral = 4;
    std::map<std::string, std::set<MemberId>> named;  // machines, by the files that name them
    for (const MemberRow& m : facts.members)
      if (m.host) named[short_host(*m.host)].insert(m.id);
    for (const EventRow& e : facts.events)
      if (e.host) named[short_host(*e.host)].insert(e.place.member);
    for (const ClockRow& c : facts.clocks)
      if (c.host) named[short_host(*c.host)].insert(c.place.member);
    for (const RankRow& r : facts.ranks)
      if (r.host) named[short_host(*r.host)].insert(0);
    const std::vector<Host> job = hosts_of_job(facts);
    std::map<MemberId, std::set<std::string>> reporters;
    for (const EventRow& e : facts.events)
      if (e.role == Role::cascade && e.host && e.pid && e.severity >= Severity::distributed)
        reporters[e.place.member].insert(short_host(*e.host));
    // Of this job, as far as another file knows one of them, or its list of hosts.
    const auto ours = [&](MemberId member, const std::set<std::string>& of) {
      return std::ranges::any_of(of, [&, &who = member](const std::string& host) {
        return job.empty() ? std::ranges::any_of(named[host], [&](MemberId m) { return m != who; })
                           : std::binary_search(job.begin(), job.end(), Host(host));
      });
    };
    for (const auto& [member, of] : reporters)
      if (of.size() >= kSeveral && ours(member, of)) {
        speaks.insert(member);
        hosts[member].insert(of.begin(), of.end());
      }
  }
};

// Numbers of jobs in a path: five digits and more, that stand by themselves.
std::set<std::string> job_numbers(const std::string& path) {
  std::set<std::string> out;
  for (std::size_t at = 0; at < path.size();) {
    if (std::isdigit(static_cast<unsigned char>(path[at])) == 0) {
      ++at;
      continue;
    }
    std::size_t end = at;
    while (end < path.size() && std::isdigit(static_cast<unsigned char>(path[end])) != 0) ++end;
    const auto word = [&](std::size_t i) {
      return i < path.size() && std::isalnum(static_cast<unsigned char>(path[i])) != 0;
    };
    if (end - at >= 4 && !(at > 0 && word(at - 1)) && !word(end))
      out.insert(path.substr(at, end - at));
    at = end;
  }
  return out;
}

// Its name has the number of another job: about as long as the own one's, and not that.
bool names_another_job(const std::string& own, const MemberRow& m) {
  if (own.size() < 4 || own.find_first_not_of("0123456789") != std::string::npos) return false;
  const auto numbers = job_numbers(m.path);
  return numbers.count(own) == 0 && std::ranges::any_of(numbers, [&](const std::string& n) {
           // No job's number begins with a zero; days do.
           return n.front() != '0' && n.size() + 1 >= own.size() && n.size() <= own.size() + 1;
         });
}

bool any_of_job(const std::vector<Host>& job, const std::set<std::string>& printed) {
  return std::ranges::any_of(printed, [&](const std::string& host) {
    return std::binary_search(job.begin(), job.end(), Host(host));
  });
}

// Every host that its own lines print is none of the job's, whose hosts others print: so they go by
// the same names in both (pods and nodes do not).
bool of_other_hosts(const Ties& ties, const std::vector<Host>& job,
                    const std::set<std::string>& printed) {
  return !printed.empty() && !any_of_job(job, printed) &&
         std::ranges::none_of(printed, nameless_host) &&
         std::ranges::any_of(ties.hosts,
                             [&](const auto& other) { return any_of_job(job, other.second); });
}

// What a row says of its own place outweighs the file's: a host of the job, a rank, a service's or
// a device's own word with a time.
class Rows {
 public:
  Rows(const Facts& facts, const std::vector<Host>& hosts) : facts_(facts), hosts_(hosts) {
    if (!hosts_.empty()) return;
    for (const MemberRow& m : facts.members)
      if (m.host && (m.belonging == Belonging::job || m.belonging == Belonging::machine))
        known_.insert(short_host(*m.host));
    for (const RankRow& r : facts.ranks)
      if (r.host) ran_on_.insert(short_host(*r.host));
    known_.insert(ran_on_.begin(), ran_on_.end());
    pods_on_ = nodes_of_pods(facts);
    known_.insert(pods_on_.begin(), pods_on_.end());
  }
  // host: as the row prints it; that of a rank is only as good as the rank.
  bool elsewhere(const Place& place, const std::optional<Host>& host,
                 const std::optional<Rank>& rank = std::nullopt) const {
    const MemberRow* m = facts_.member(place.member);
    if (m != nullptr && host && in_another_cluster(*host)) return true;
    if (m == nullptr || m->belonging == Belonging::job || m->belonging == Belonging::machine)
      return false;
    return m->belonging == Belonging::another || !host || rank || !of_job(short_host(*host));
  }
  // The platform took back a machine that is known to be none of the job's.
  bool of_another_machine(const EventRow& e) const {
    if (!e.traits.has(Trait::preempted) || !e.host) return false;
    const Host host = short_host(*e.host);
    if (!hosts_.empty()) return !of_job(host);
    if (ran_on_.empty() || ran_on_.count(host) > 0 || pods_on_.count(host) > 0) return false;
    // Files of its own, beside the list that names machines of everybody.
    return !of_job(host) || std::ranges::none_of(facts_.members, [&](const MemberRow& m) {
      return m.id != e.place.member && m.host && short_host(*m.host) == host;
    });
  }
  // Whoever collected a tool's output did not reach a machine, in a file of others.
  bool of_collector(const EventRow& e) const {
    const MemberRow* m = facts_.member(e.place.member);
    return e.traits.has(Trait::ssh_unreachable) && m != nullptr &&
           m->belonging == Belonging::machine && !system_log(m->path);
  }
  // In a machine's log a process of a communicator tells of itself, on a host that is not the
  // job's.
  bool of_another_process(const EventRow& e) const {
    const MemberRow* m = facts_.member(e.place.member);
    return m != nullptr && m->belonging == Belonging::machine && !hosts_.empty() && e.host &&
           (e.pid || e.role == Role::cascade) && !said_by_unit(e) && !of_job(short_host(*e.host)) &&
           m->host && short_host(*m->host) != short_host(*e.host);
  }

 private:
  bool of_job(const Host& host) const {
    return hosts_.empty() ? known_.count(host) > 0
                          : std::binary_search(hosts_.begin(), hosts_.end(), host);
  }
  const Facts& facts_;
  const std::vector<Host>& hosts_;
  std::set<Host> ran_on_, pods_on_;  // ranks, the job's pods
  std::set<Host> known_;
};

// By itself: whose it is, as far as its text and its name say.
Belonging by_itself(const MemberRow& m, const Ties& ties, const std::vector<Host>& hosts) {
  const bool speaks = m.rank || m.local_rank || ties.speaks.count(m.id) > 0;
  if (!m.rank && (told_by_machine(m) || named_as_record(m.path))) return Belonging::machine;
  if (m.format == "measured-rates") return Belonging::machine;  // somebody measured them
  // An attempt of the job may get machines of its own.
  if (const auto printed = ties.hosts.find(m.id);
      !m.attempt && printed != ties.hosts.end() && of_other_hosts(ties, hosts, printed->second))
    return Belonging::another;
  if (of_other_program(m.path)) return Belonging::unplaced;
  return speaks || m.host || named_as_output(m.path) ? Belonging::job : Belonging::unplaced;
}

}  // namespace

void place_members(Facts& facts) {
  const Ties ties(facts);
  const std::string own = job_by_number(facts);
  const std::vector<Host> hosts = hosts_of_job(facts);
  std::set<std::string> folders, names;
  bool any = false;
  const std::set<MemberId> others = output_of_other_jobs(facts, own),
                           before = output_of_jobs_before(facts, own);
  for (MemberRow& m : facts.members) {
    m.belonging = by_itself(m, ties, hosts);
    if (others.count(m.id) > 0) m.belonging = Belonging::another;
    if (m.belonging != Belonging::job || names_another_job(own, m)) continue;
    any = any || m.rank || ties.speaks.count(m.id) > 0;
    folders.insert(folder_of(m.path));
    names.insert(name_without_numbers(m.path));
  }
  // Another run of the same program, on machines of its own: its log has the name of the job's but
  // for the numbers, and makes steps as that does.
  std::set<MemberId> steps;
  for (const ProgressSpan& p : facts.progress) steps.insert(p.member);
  for (const ProgressSpan& p : facts.progress_elsewhere) steps.insert(p.member);
  for (MemberRow& m : facts.members)
    if (m.belonging == Belonging::another && others.count(m.id) == 0 && steps.count(m.id) > 0 &&
        names.count(name_without_numbers(m.path)) > 0)
      m.belonging = Belonging::job;
  std::set<std::string> series;  // of logs that make the job's steps
  for (const MemberRow& m : facts.members)
    if (m.belonging == Belonging::job && steps.count(m.id) > 0)
      series.insert(file_of_run(m.path).series);
  const auto of_run_before = [&](const MemberRow& m) {
    const FileOfRun file = file_of_run(m.path);
    return file.age < 0 && steps.count(m.id) > 0 && series.count(file.series) > 0;
  };
  // At the top of a bundle lies whatever was at hand; in one folder, what belongs together.
  folders.erase("");
  for (MemberRow& m : facts.members) {
    // A run of the same job under another number has a file of the same name, or the records say
    // that it came before.
    if (m.format == "search-result" && any) m.belonging = Belonging::another;  // lines of others
    if (m.belonging != Belonging::machine && names_another_job(own, m) && any &&
        names.count(name_without_numbers(m.path)) == 0 && before.count(m.id) == 0)
      m.belonging = Belonging::another;
    if (m.belonging != Belonging::unplaced) continue;
    if (!any || of_run_before(m) ||
        (!of_other_program(m.path) &&
         (folders.count(folder_of(m.path)) > 0 || names.count(name_without_numbers(m.path)) > 0)))
      m.belonging = Belonging::job;
  }
  const Rows rows(facts, hosts);
  std::erase_if(facts.exits,
                [&](const ExitRow& x) { return rows.elsewhere(x.place, x.host, x.rank); });
  std::erase_if(facts.collectives, [&](const CollectiveSample& c) {
    return rows.elsewhere(c.row.place, c.row.host, c.row.rank);
  });
  std::erase_if(facts.frontiers,
                [&](const FrontierRow& f) { return rows.elsewhere(f.place, f.host, f.rank); });
  const auto elsewhere = [&](const ProgressSpan& p) {
    return rows.elsewhere(p.last.place, std::nullopt);
  };
  std::ranges::copy_if(facts.progress, std::back_inserter(facts.progress_elsewhere), elsewhere);
  std::erase_if(facts.progress, elsewhere);
  for (EventRow& e : facts.events)
    // What a port of the network says of itself is in no file of the job's.
    e.elsewhere = !e.traits.has(Trait::of_network) &&
                  (rows.elsewhere(e.place, e.host, e.rank) || rows.of_another_process(e) ||
                   rows.of_another_machine(e) || rows.of_collector(e));
  for (TracebackRow& t : facts.tracebacks) t.elsewhere = rows.elsewhere(t.place, t.host, t.rank);
}

}  // namespace culprit::analyze
