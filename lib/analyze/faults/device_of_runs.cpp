#include "analyze/faults/device_of_runs.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <string>

#include <fmt/format.h>

#include "analyze/facts/path_facts.hpp"
#include "model/confidence.hpp"
#include "model/phrases.hpp"
#include "model/sort.hpp"

namespace culprit::analyze {

namespace {

constexpr std::size_t kProven = 3;      // runs
constexpr std::int64_t kLargeJob = 64;  // ranks

struct WrongInRun {
  std::string device;  // "node-07/3"
  Host host;
  Rank rank{};
  std::int64_t size = 0;            // ranks of the run, as far as they are known
  const EventRow* first = nullptr;  // the line that says so
  bool several = false;             // other devices too
};

std::optional<RunPlaces::Seat> seat_of(const Facts& facts, const MemberRow& log,
                                       const EventRow& e) {
  if (auto seat = facts.run_places.by_order(log, e.place.line, *e.rank)) return seat;
  if (e.host && e.local_rank) return RunPlaces::Seat{*e.host, e.local_rank};
  return std::nullopt;
}

std::map<std::string, WrongInRun> wrong_in_runs(const Facts& facts) {
  std::vector<const EventRow*> lines;
  for (const EventRow& e : facts.events)
    if (e.rank && e.traits.has_any({Trait::own_numbers, Trait::replicas_differ}))
      lines.push_back(&e);
  sort_by(lines, [&](const EventRow* e) {
    return std::pair(facts.order(e->place.member), e->place.line);
  });
  std::map<std::string, WrongInRun> out;
  for (const EventRow* e : lines) {
    // An earlier run counts here: it is the witness.
    const MemberRow* log = facts.member(e->place.member);
    if (log == nullptr || log->duplicate_of != 0) continue;
    const auto seat = seat_of(facts, *log, *e);
    if (!seat || !seat->local) continue;
    const bool own = facts.run_places.has_order(*log) ||
                     facts.run_places.in_log(log->id, e->place.line, *e->rank).has_value();
    const std::string run = own ? log->path : folder_of(log->path);
    const std::string device = fmt::format("{}/{}", seat->host, number_of(*seat->local));
    const auto size = static_cast<std::int64_t>(facts.run_places.ranks_beside(*log));
    WrongInRun& wrong = out.try_emplace(run, WrongInRun{device, seat->host, *e->rank,
                                                        std::max(facts.world_size, size), e})
                            .first->second;
    wrong.several = wrong.several || wrong.device != device;
  }
  return out;
}

// Two runs of it agree on a device hardly by chance.
bool within_large_job(const WrongInRun& run) {
  return run.size >= kLargeJob && number_of(run.rank) > 0 && number_of(run.rank) + 1 < run.size;
}

}  // namespace

std::vector<Finding> same_device_in_each_run(const Facts& facts) {
  const std::map<std::string, WrongInRun> runs = wrong_in_runs(facts);
  if (runs.size() < 2) return {};
  const WrongInRun& first = runs.begin()->second;
  std::set<Rank> ranks;
  for (const auto& [run, wrong] : runs) {
    if (wrong.several || wrong.device != first.device) return {};
    ranks.insert(wrong.rank);
  }
  if (ranks.size() < 2) return {};
  const bool proven = ranks.size() >= kProven || std::ranges::all_of(runs, [](const auto& one) {
                        return within_large_job(one.second);
                      });
  Finding f{
      .id = "same_device_in_each_run",
      .analysis = Analysis::divergence,
      .subject = {SubjectKind::gpu, first.device},
      .event_class = "same_device_in_each_run",
      .symptom = Symptom::nan_value,
      .severity = Severity::critical,
      .role = Role::root,
      .confidence = proven ? confidence::kSameGpuDiffersAgain : confidence::kSameGpuDiffersOnce,
      .why = say(Phrase::another_rank_in_each_run, ranks.size()),
      .title = say(Phrase::same_device_in_each_run)};
  f.host = first.host;
  f.hosts = {first.host};
  f.ranks.assign(ranks.begin(), ranks.end());
  f.count = ranks.size();
  for (const auto& [run, wrong] : runs) {
    const EventRow& line = *wrong.first;
    f.evidence.push_back(facts.evidence(line.place, line.message));
    f.evidence.back().reading =
        fmt::format("rank {} of this run is {}", number_of(wrong.rank), wrong.device);
    if (line.time_ns && (!f.start || *line.time_ns > *f.start)) f.start = line.time_ns;
  }
  return {std::move(f)};
}

}  // namespace culprit::analyze
