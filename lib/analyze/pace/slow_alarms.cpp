#include "analyze/pace/slow_alarms.hpp"

#include <algorithm>
#include <set>

namespace culprit::analyze {

namespace {

// Machines of which there is a file of this kind.
std::size_t machines_asked(const Facts& facts, const MemberRow& like) {
  std::set<Host> out;
  for (const MemberRow& m : facts.members)
    if (m.host && m.format == like.format && m.text_kind == like.text_kind) out.insert(*m.host);
  return out.size();
}

}  // namespace

bool holds_part_down(const Finding& f) {
  return f.cause == CauseKind::machine && f.role == Role::root &&
         (f.symptom == Symptom::thermal || f.symptom == Symptom::mfu_decline);
}

bool storm_within(const Facts& facts, const Finding& f, Nanoseconds from, Nanoseconds to) {
  constexpr std::uint64_t kFewest = 30, kTimesOthers = 5;
  std::uint64_t inside = 0, outside = 0;
  for (const EventRow& e : facts.events) {
    if (e.event_class != f.event_class || !e.time_ns || e.host != f.host) continue;
    (*e.time_ns >= from && *e.time_ns <= to ? inside : outside) += e.count;
  }
  return inside >= kFewest && inside >= kTimesOthers * outside;
}

std::vector<const Finding*> alarms_without_moment(const Facts& facts,
                                                  std::span<const Finding> classified,
                                                  const std::function<bool(const Host&)>& of_job) {
  std::vector<const Finding*> out;
  for (const Finding& f : classified) {
    if (f.analysis != Analysis::classify || f.outcome != Outcome::fired || !f.host || f.start ||
        f.hosts.size() > 1 || !holds_part_down(f) || f.evidence.empty() || !of_job(*f.host))
      continue;
    const MemberRow* m = facts.member(f.evidence.front().member);
    if (m == nullptr || machines_asked(facts, *m) < 2) continue;
    if (!out.empty() && out.front()->host != f.host) return {};
    out.push_back(&f);
  }
  return out;
}

}  // namespace culprit::analyze
