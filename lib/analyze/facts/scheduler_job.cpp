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

// Numbers of schedulers in the names of files: "slurm-4711.out".
Jobs in_names(const Facts& facts) {
  static const re2::RE2 kOutput(R"((?:^|/)(?:slurm|job|lsf|pbs)[-_](\d{2,12})(?:[^/\d][^/]*)?$)");
  Jobs out;
  std::string number;
  for (const MemberRow& m : facts.members)
    if (m.kind == "file" && re2::RE2::PartialMatch(m.path, kOutput, &number)) out.insert(number);
  return out;
}

// Those of `jobs` whose number is a word of a file's name: "train-4711.log".
Jobs named(const Facts& facts, const Jobs& jobs) {
  static const re2::RE2 kNumber(R"((\d+))");
  Jobs out;
  for (const MemberRow& m : facts.members) {
    if (m.kind != "file") continue;
    re2::StringPiece name(m.path);
    name.remove_prefix(m.path.rfind('/') + 1);
    for (std::string number; re2::RE2::FindAndConsume(&name, kNumber, &number);)
      if (jobs.count(number) > 0) out.insert(number);
  }
  return out;
}

// Those of `jobs` that had most of the machines that the bundle holds files of.
Jobs of_machines(const Facts& facts, const Jobs& jobs) {
  std::set<Host> machines;
  for (const MemberRow& m : facts.members)
    if (m.host) machines.insert(short_host(*m.host));
  std::map<std::string, std::set<Host>> shared;
  for (const ConfigRow& c : facts.configs)
    if (c.name == "slurm.job.nodes" && jobs.count(number_of(c)) > 0)
      for (const std::string& node : expand_hostlist(c.value.substr(c.value.find(' ') + 1)).hosts)
        if (const Host host = short_host(node); machines.count(host) > 0)
          shared[number_of(c)].insert(host);
  std::size_t most = 0;
  for (const auto& [job, hosts] : shared) most = std::max(most, hosts.size());
  Jobs out;
  for (const auto& [job, hosts] : shared)
    if (hosts.size() == most) out.insert(job);
  return out;
}

std::string only(const Jobs& jobs) { return jobs.size() == 1 ? *jobs.begin() : std::string(); }

}  // namespace

std::string job_in_question(const Facts& facts) {
  Jobs recorded;
  for (const ConfigRow& c : facts.configs)
    if (c.name.starts_with(kRecord)) recorded.insert(number_of(c));
  if (facts.manifest)
    for (const std::string& own : {facts.manifest->job_id, facts.manifest->job})
      if (!own.empty() && (recorded.count(own) > 0 || own == facts.manifest->job_id)) return own;
  const Jobs in_paths = in_names(facts);
  if (recorded.size() < 2) return only(recorded.empty() ? in_paths : recorded);
  if (const std::string own = only(in_paths); recorded.count(own) > 0) return own;
  for (const Jobs& left : {named(facts, recorded), of_machines(facts, recorded)})
    if (const std::string own = only(left); !own.empty()) return own;
  return {};
}

}  // namespace culprit::analyze
