// Who waits for a lock file, and where the code asked for it.
#include "analyze/hang/lock_file.hpp"

#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "model/confidence.hpp"
#include "model/phrases.hpp"
#include "model/ranges.hpp"
#include "model/sort.hpp"

namespace culprit::analyze {

std::optional<Finding> lock_file_wait(const Facts& facts, const Topology& topology,
                                      const StackReport& stacks, const Finding& base, bool standing,
                                      double sure) {
  constexpr std::size_t kShown = 3;
  Finding f = base;
  HangFacts known{.kind = StopKind::lock_file, .wait = WaitKind::lock_file, .standing = standing};
  std::size_t at_lock = 0, trainers = 0;
  std::set<Host> hosts, passed;
  for (const StackProcess& p : stacks.processes) {
    if (p.role != "trainer") continue;
    ++trainers;
    const bool waits = p.stage.doing == Doing::lock_file;
    if (!waits && !p.stage.waits()) return std::nullopt;
    if (!waits) {
      passed.insert(p.host);
      continue;
    }
    if (at_lock++ == 0 && p.stage.where >= 0) {
      const Frame& frame = facts.stacks.frames[static_cast<std::size_t>(p.stage.where)];
      known.reason = Text(fmt::format("{} ({}:{})", frame.function, frame.file, frame.line));
    }
    if (p.rank) f.ranks.push_back(*p.rank);
    if (!p.host.empty()) hosts.insert(p.host);
    if (f.evidence.size() < kShown) f.evidence.push_back(evidence_of(facts, p.sample));
  }
  if (at_lock == 0) return std::nullopt;
  // Its neighbours on the machine got the lock and let it go: one that stands there alone stopped
  // like any other that never came, and nothing else tells of the lock.
  if (at_lock == 1 && hosts.size() == 1 && passed.contains(*hosts.begin())) return std::nullopt;
  sort_rows(f.ranks);
  for (const Host& host : topology.hosts_of(f.ranks)) hosts.insert(host);
  f.hosts.assign(hosts.begin(), hosts.end());
  if (hosts.size() == 1) f.host = *hosts.begin();
  known.ranks = to_ranges(f.ranks);
  known.waiting = static_cast<std::int64_t>(trainers - at_lock);
  known.sources = {"stacks"};
  f.id = "hang/lock_file";
  f.event_class = "hang/lock_file";
  f.subject = {SubjectKind::config, "lock_file"};
  f.scope = Scope::shared;
  f.title = say(Phrase::waits_for_lock_file);
  f.why = say(Phrase::nobody_holds_lock_file, at_lock, trainers);
  f.confidence = std::min(confidence::kStorageWait, sure);
  f.facts = std::move(known);
  return f;
}

}  // namespace culprit::analyze
