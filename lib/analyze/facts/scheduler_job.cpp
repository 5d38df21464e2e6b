#include "analyze/facts/scheduler_job.hpp"

#include <algorithm>
#include <set>

#include <re2/re2.h>

#include "model/hostlist.hpp"

namespace culprit::analyze {

namespace {

constexpr std::string_view kRecord = "slurm.job.";
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

// Numbers of schedulers in the names of files: "slurm-4711.out".
Jobs in_names(const Facts& facts) {
  static const re2::RE2 kOutput(R"((?:^|/)(?:slurm|job|lsf|pbs)[-_](\d{2,12})(?:[^/\d][^/]*)?$)");
  Jobs out;
  std::string number;
  for (const MemberRow& m : facts.members)
    if (m.kind == "file" && re2::RE2::PartialMatch(m.path, kOutput, &number)) out.insert(number);
  return out;
}

// Those of `jobs` whose number is a word of the name of a log: "train-4711.log". A number in a
// machine's name is none.
Jobs named(const Facts& facts, const Jobs& jobs) {
  static const re2::RE2 kNumber(R"((?:^|[^0-9A-Za-z])(\d{3,12})(?:[^0-9A-Za-z]|$))");
  Jobs out;
  for (const MemberRow& m : facts.members) {
    if (m.kind != "file" || m.text_kind == "kernel" || m.text_kind == "data") continue;
    re2::StringPiece name(m.path);
    name.remove_prefix(m.path.rfind('/') + 1);
    if (m.host && name.find(re2::StringPiece(*m.host)) != re2::StringPiece::npos) continue;
    for (std::string number; re2::RE2::FindAndConsume(&name, kNumber, &number);)
      if (jobs.count(number) > 0) out.insert(number);
  }
  return out;
}

// Those of `jobs` that had any of the machines that the bundle holds files of.
Jobs of_machines(const Facts& facts, const Jobs& jobs) {
  constexpr std::size_t kMostNodes = 4096;  // of a record; the first of them tell as much
  std::set<Host> machines;
  for (const MemberRow& m : facts.members)
    if (m.host && (m.attribution == "path" || m.text_kind == "kernel"))  // collected there
      machines.insert(short_host(*m.host));
  Jobs out;
  for (const ConfigRow& c : facts.configs) {
    if (c.name != "slurm.job.nodes" || jobs.count(number_of(c)) == 0) continue;
    const auto nodes =
        expand_hostlist(std::string_view(c.value).substr(c.value.find(' ') + 1), kMostNodes);
    // What cannot be read may be of these machines, too.
    if (nodes.broken || std::any_of(nodes.hosts.begin(), nodes.hosts.end(), [&](const auto& node) {
          return machines.count(short_host(node)) > 0;
        }))
      out.insert(number_of(c));
  }
  return out;
}

std::string only(const Jobs& jobs) { return jobs.size() == 1 ? *jobs.begin() : std::string(); }

}  // namespace

std::string job_by_number(const Facts& facts) {
  const Jobs recorded = recorded_jobs(facts);
  if (facts.manifest)
    for (const std::string& own : {facts.manifest->job_id, facts.manifest->job})
      if (!own.empty() && (recorded.count(own) > 0 || own == facts.manifest->job_id)) return own;
  const Jobs in_paths = in_names(facts);
  if (in_paths.size() == 1) return only(in_paths);
  return recorded.size() < 2 ? only(recorded) : only(named(facts, recorded));
}

std::string job_in_question(const Facts& facts) {
  if (std::string own = job_by_number(facts); !own.empty()) return own;
  return only(of_machines(facts, recorded_jobs(facts)));
}

}  // namespace culprit::analyze
