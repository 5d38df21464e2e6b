#include "holdings.hpp"

#include <algorithm>

#include <re2/re2.h>

#include "analyze/facts/path_facts.hpp"
#include "model/contains.hpp"

namespace culprit::diagnose {

namespace {

// Series that tell how a machine does; loss and step times do not.
bool of_machine(const SeriesRow& s) { return s.host && (s.gpu || s.nic || !s.rank); }

}  // namespace

decide::Holdings holdings_of(const analyze::Facts& facts, const analyze::Topology& topology) {
  decide::Holdings out;
  for (const MemberRow& m : facts.members) {
    if (!m.host || m.size == 0 || m.duplicate_of != 0) continue;
    if (m.text_kind == "kernel" || analyze::system_log(m.path)) out.kernel_logs.insert(*m.host);
    if (m.text_kind == "bmc") out.management_logs.insert(*m.host);
    if (m.text_kind == "nvidia-smi" || m.text_kind == "dcgm") out.device_readings.insert(*m.host);
  }
  for (const MemberRow& m : facts.members)
    if (m.rank && m.size > 0 && m.text_kind != "stack" && m.text_kind != "data" &&
        (m.format == "text" || m.format == "nccl-log"))
      out.ranks.insert(*m.rank);
  for (const HostRow& h : facts.hosts)
    if (h.has_log) out.outputs.insert(h.host);
  for (const SeriesRow& s : facts.series)
    if (of_machine(s)) out.metrics.insert(*s.host);
  for (const analyze::StackSample& s : facts.samples)
    if (s.row.rank && s.stack >= 0) out.stacks.insert(*s.row.rank);
  for (const RecorderRow& r : facts.recorders)
    if (r.rank) out.recorders.insert(*r.rank);
  out.scheduler = std::ranges::any_of(
      facts.configs, [](const ConfigRow& c) { return c.name.rfind("slurm.job.", 0) == 0; });
  out.scheduler = out.scheduler || std::ranges::any_of(facts.members, [](const MemberRow& m) {
                    return m.text_kind == "scheduler" || m.text_kind == "kubernetes";
                  });
  out.manifest = facts.manifest.has_value();
  out.attempts = facts.manifest ? facts.manifest->attempts.size() : 0;
  out.network = !topology.switches.empty();
  out.times =
      std::ranges::any_of(facts.progress,
                          [](const ProgressSpan& p) { return p.last.time_ns.has_value(); }) ||
      std::ranges::any_of(facts.events, [](const EventRow& e) { return e.rank && e.time_ns; });
  return out;
}

decide::Scheduler scheduler_of(const analyze::Facts& facts) {
  static const re2::RE2 kSlurm(
      R"((?i)(?:^|[^a-z])(?:slurm[a-z]*|sacct|scontrol|sinfo|squeue|srun)(?:[^a-z]|$))");
  static const re2::RE2 kPbs(
      R"((?i)(?:^|[^a-z])(?:pbs[a-z]*|qstat|mom_logs|tracejob)(?:[^a-z]|$))");
  static const re2::RE2 kLsf(R"((?i)(?:^|[^a-z])(?:lsf|bjobs|bhist|bhosts)(?:[^a-z]|$))");
  const auto any = [&](const re2::RE2& words) {
    return std::ranges::any_of(
        facts.members, [&](const MemberRow& m) { return re2::RE2::PartialMatch(m.path, words); });
  };
  const bool slurm =
      std::ranges::any_of(facts.configs,
                          [](const ConfigRow& c) { return c.name.rfind("slurm.", 0) == 0; }) ||
      any(kSlurm);
  if (slurm) return decide::Scheduler::slurm;
  return any(kPbs)   ? decide::Scheduler::pbs
         : any(kLsf) ? decide::Scheduler::lsf
                     : decide::Scheduler::slurm;
}

bool has_command_manager(const analyze::Facts& facts) {
  static const re2::RE2 kTrace(
      R"((?:^|[^\w/])/cm/(?:shared|local)/|\bCMDaemon\b|\bcmdaemon\b|(?:^|/)cmsh)");
  const auto tells = [](const std::string& text) { return re2::RE2::PartialMatch(text, kTrace); };
  return std::ranges::any_of(facts.configs, tells, &ConfigRow::value) ||
         std::ranges::any_of(facts.tracebacks, tells, &TracebackRow::file) ||
         std::ranges::any_of(facts.members, tells, &MemberRow::path) ||
         std::ranges::any_of(facts.events, [&](const EventRow& e) {
           return e.traits.has(Trait::node_drained) && tells(e.message);
         });
}

std::size_t hosts_in_question(const analyze::Facts& facts) {
  std::set<Host> placed, elsewhere;
  const auto hear = [&](const MemberRow* m, const std::optional<Host>& host) {
    if (!host || m == nullptr) return;
    const bool tied = m->belonging != Belonging::unplaced && m->belonging != Belonging::another;
    (tied ? placed : elsewhere).insert(analyze::short_host(*host));
  };
  for (const MemberRow& m : facts.members) hear(&m, m.host);
  for (const EventRow& e : facts.events) hear(facts.member(e.place.member), e.host);
  for (const IdentityRow& i : facts.identities) hear(facts.member(i.place.member), i.host);
  return static_cast<std::size_t>(std::ranges::count_if(facts.hosts, [&](const HostRow& h) {
    const Host host = analyze::short_host(h.host);
    return elsewhere.count(host) == 0 || placed.count(host) > 0;
  }));
}

std::size_t hosts_heard(const analyze::Facts& facts) {
  std::set<Host> known, heard;
  for (const HostRow& h : facts.hosts) {
    known.insert(h.host);
    if (h.has_log) heard.insert(h.host);
  }
  const auto hear = [&](const std::optional<Host>& host) {
    if (host && known.count(*host) > 0) heard.insert(*host);
  };
  for (const MemberRow& m : facts.members) hear(m.host);
  for (const RankRow& r : facts.ranks) hear(r.host);
  for (const EventRow& e : facts.events) hear(e.host);
  for (const IdentityRow& i : facts.identities)
    if (i.pid) hear(i.host);
  return heard.size();
}

std::set<Host> machines_of(const analyze::Facts& facts, const decide::Holdings& holds) {
  std::set<Host> out = holds.kernel_logs;
  for (const RankRow& r : facts.ranks)
    if (r.host) out.insert(*r.host);
  for (const HostRow& h : facts.hosts)
    if (h.has_log) out.insert(h.host);
  for (const IdentityRow& i : facts.identities)
    if (i.host) out.insert(analyze::short_host(*i.host));
  if (facts.manifest)
    for (const Host& host : facts.manifest->hosts) out.insert(analyze::short_host(host));
  for (const MemberRow& m : facts.members)
    if (m.host && m.kind == "file" && analyze::one_per_machine(m.path))
      out.insert(analyze::short_host(*m.host));
  // A kernel's words in an export of many machines, or those of a process of a launcher there.
  for (const EventRow& e : facts.events)
    if (e.host && (e.local_rank || analyze::said_by_kernel(e)))
      out.insert(analyze::short_host(*e.host));
  return out;
}

namespace {
constexpr std::size_t kWholeMachine = 8;  // GPUs
}  // namespace

std::map<Host, std::set<std::string>> gpus_of_job(const analyze::Facts& facts) {
  std::map<Host, std::set<std::string>> out;
  if (facts.world_size <= 0 || facts.ranks.size() < static_cast<std::size_t>(facts.world_size))
    return out;
  std::set<Host> partly;
  for (const RankRow& r : facts.ranks) {
    if (!r.host) return {};
    // Two ranks with one address: cut short, or a part of a GPU.
    if (!r.gpu || !contains(*r.gpu, ':') || !out[*r.host].insert(*r.gpu).second)
      partly.insert(*r.host);
  }
  for (const Host& host : partly) out.erase(host);
  // A job that has all of a machine's GPUs leaves none to others: an address that is not among
  // them is one as a container or another program counts them.
  std::erase_if(out, [](const auto& one) { return one.second.size() >= kWholeMachine; });
  return out;
}

}  // namespace culprit::diagnose
