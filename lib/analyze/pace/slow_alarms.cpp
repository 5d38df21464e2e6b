#include "analyze/pace/slow_alarms.hpp"

#include <algorithm>
#include <map>
#include <set>

namespace culprit::analyze {

namespace {

// The file that a finding stands in, where other machines have one of its kind; else null.
const MemberRow* asked_of_several(const Facts& facts, const Finding& f) {
  const MemberRow* like = f.evidence.empty() ? nullptr : facts.member(f.evidence.front().member);
  if (like == nullptr) return nullptr;
  std::set<Host> hosts;
  for (const MemberRow& m : facts.members)
    if (m.host && m.format == like->format && m.text_kind == like->text_kind) hosts.insert(*m.host);
  return hosts.size() > 1 ? like : nullptr;
}

}  // namespace

bool holds_part_down(const Finding& f) {
  return f.cause == CauseKind::machine && f.role == Role::root &&
         (f.symptom == Symptom::thermal || f.symptom == Symptom::mfu_decline);
}

bool storm_within(const Facts& facts, const Finding& f, Nanoseconds from, Nanoseconds to) {
  constexpr std::uint64_t kFewest = 30, kTimesOthers = 5;
  constexpr Nanoseconds kSpan = 10 * kMinute;
  std::map<Nanoseconds, std::uint64_t> inside;
  std::map<Host, std::uint64_t> others;
  std::uint64_t all = 0, outside = 0;
  for (const EventRow& e : facts.events) {
    if (e.event_class != f.event_class || !e.time_ns || !e.host) continue;
    const bool within = *e.time_ns >= from && *e.time_ns <= to;
    if (e.host != f.host) {
      if (within) others[*e.host] += e.count;
    } else if (within) {
      inside[*e.time_ns] += e.count;
      all += e.count;
    } else {
      outside += e.count;
    }
  }
  std::uint64_t most = 0, now = 0;
  for (auto first = inside.begin(), last = first; last != inside.end(); ++last) {
    now += last->second;
    for (; last->first - first->first > kSpan; ++first) now -= first->second;
    most = std::max(most, now);
  }
  return most >= kFewest && all >= kTimesOthers * outside &&
         asked_of_several(facts, f) != nullptr &&
         std::ranges::all_of(others,
                             [&](const auto& other) { return all >= kTimesOthers * other.second; });
}

std::vector<const Finding*> alarms_without_moment(const Facts& facts,
                                                  std::span<const Finding> classified,
                                                  const std::function<bool(const Host&)>& of_job) {
  std::vector<const Finding*> out;
  for (const Finding& f : classified) {
    if (f.analysis != Analysis::classify || f.outcome != Outcome::fired || !f.host || f.start ||
        f.hosts.size() > 1 || !holds_part_down(f) || !of_job(*f.host))
      continue;
    // A line of a log may be of any day since the machine started; a look is of now.
    const MemberRow* m = asked_of_several(facts, f);
    if (m == nullptr || m->text_kind == "kernel" || m->format == "kernel-log") continue;
    if (!out.empty() && out.front()->host != f.host) return {};
    out.push_back(&f);
  }
  return out;
}

}  // namespace culprit::analyze
