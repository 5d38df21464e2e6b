// Looks which part of a start took the time.
#include "analyze/pace/slow_start.hpp"

#include <algorithm>
#include <set>
#include <tuple>

#include <fmt/format.h>

#include "model/confidence.hpp"
#include "model/contains.hpp"
#include "model/phrases.hpp"
#include "rules/restart_parts.hpp"

namespace culprit::analyze {

namespace {

constexpr Nanoseconds kLong = 15 * kMinute;

const rules::RestartPart* part_named(std::string_view name) {
  const auto parts = rules::restart_parts();
  const auto at = std::ranges::find(parts, name, &rules::RestartPart::name);
  return at == parts.end() || at->relief.empty() ? nullptr : &*at;
}

// From the begin of the job, or of its first part, to its first step.
std::optional<Nanoseconds> whole_of(const Facts& facts, const Start& start) {
  if (start.took) return start.took;
  if (!start.until) return std::nullopt;
  std::optional<Nanoseconds> begin = facts.job_start;
  for (const StartPart& part : start.parts)
    if (part.start && part.name != "allocation")
      begin = std::min(begin.value_or(*part.start), *part.start);
  return begin && *begin < *start.until ? std::optional(*start.until - *begin) : std::nullopt;
}

Finding finding_of(const rules::RestartPart& part, Text title, Text why) {
  return {.id = "slow_start/" + part.name,
          .analysis = Analysis::slow_start,
          .subject = {SubjectKind::config, part.label},
          .event_class = "slow_start/" + part.name,
          .symptom = Symptom::mfu_decline,
          .severity = Severity::warning,
          .role = Role::confirmation,
          .scope = Scope::job_wide,
          .confidence = confidence::kSlowSettled,
          .why = std::move(why),
          .title = std::move(title),
          .advice = part.relief};
}

// Processes of which a thread is seen importing a module, and the first of them; of all that were
// looked at.
struct Importing {
  std::size_t processes = 0, all = 0;
  const StackSample* first = nullptr;
};
Importing importing(const Facts& facts) {
  using Process = std::tuple<MemberId, std::optional<Host>, std::optional<std::int64_t>>;
  std::set<Process> all, at_it;
  Importing out;
  for (const StackSample& s : facts.samples) {
    if (s.stack < 0 || !facts.counts(facts.member(s.row.place.member))) continue;
    const Process process{s.row.place.member, s.row.host, s.row.pid};
    all.insert(process);
    const auto& frames = facts.stacks.stacks[static_cast<std::size_t>(s.stack)];
    if (std::ranges::any_of(frames, [&](std::uint32_t frame) {
          return contains(facts.stacks.frames[frame].file, "importlib._bootstrap");
        })) {
      if (out.first == nullptr) out.first = &s;
      at_it.insert(process);
    }
  }
  out.processes = at_it.size();
  out.all = all.size();
  return out;
}

}  // namespace

std::vector<Finding> slow_start(const Facts& facts, const JobSteps& steps,
                                std::span<const Start> starts) {
  if (steps.size() == 0) return {};
  const Start* last = nullptr;
  for (const Start& start : starts)
    if (start.until || start.iteration) last = &start;
  // Of the one start of which no line tells.
  const Start untold{.until = steps.time.front() == kNoValue ? std::optional<Nanoseconds>()
                                                             : steps.time.front()};
  if (last == nullptr) last = &untold;
  const auto whole = whole_of(facts, *last);
  const StartPart* longest = nullptr;
  for (const StartPart& part : last->parts)
    if (part.took && part_named(part.name) != nullptr &&
        (longest == nullptr || *part.took > *longest->took))
      longest = &part;
  const auto told = [&](Nanoseconds took) {
    return whole && *whole > took ? say(Phrase::start_took, human_duration(*whole)) : Text();
  };
  if (longest != nullptr && *longest->took >= kLong && (!whole || 2 * *longest->took >= *whole)) {
    const rules::RestartPart& part = *part_named(longest->name);
    Finding f = finding_of(
        part, say(Phrase::part_of_start_took, part.label, human_duration(*longest->took)),
        told(*longest->took));
    if (longest->first) f.evidence.push_back(*longest->first);
    if (longest->last) f.evidence.push_back(*longest->last);
    f.start = longest->start;
    f.end = longest->end;
    return {std::move(f)};
  }
  const rules::RestartPart* imports = part_named("imports");
  if (!whole || *whole < kLong || imports == nullptr) return {};
  const Importing seen = importing(facts);
  if (seen.processes < 2 || 2 * seen.processes < seen.all) return {};
  Finding f = finding_of(*imports, say(Phrase::processes_import, seen.processes, seen.all),
                         say(Phrase::start_took, human_duration(*whole)));
  f.evidence.push_back(facts.evidence(seen.first->row.place));
  f.end = last->until;
  return {std::move(f)};
}

}  // namespace culprit::analyze
