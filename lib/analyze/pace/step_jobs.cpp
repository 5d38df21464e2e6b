#include "analyze/pace/step_jobs.hpp"

#include <cmath>
#include <cstdlib>
#include <map>
#include <unordered_map>

namespace culprit::analyze {

namespace {

bool is_global_batch(std::string_view name) {
  std::string plain;
  for (const char c : name)
    if (c != ' ' && c != '_' && c != '-')
      plain += c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c;
  return plain == "globalbatchsize" || plain == "globalbatch";
}

struct JobWord {
  std::map<std::uint64_t, std::int64_t> world;      // by line
  std::unordered_map<std::uint64_t, double> batch;  // by line of the step
};

}  // namespace

std::vector<std::uint32_t> step_jobs(const Facts& facts, const JobSteps& steps,
                                     const std::function<SeriesPoints(SeriesId)>& load) {
  std::map<MemberId, JobWord> said;
  for (const Place& place : steps.place) said[place.member];
  for (const ConfigRow& row : facts.configs)
    if (const auto it = said.find(row.place.member); it != said.end() && row.name == "world_size")
      if (const std::int64_t world = std::strtoll(row.value.c_str(), nullptr, 10); world > 0)
        it->second.world[row.place.line] = world;
  for (const SeriesRow& s : facts.series) {
    const auto it = said.find(s.member);
    if (it == said.end() || !is_global_batch(s.name)) continue;
    const SeriesPoints points = load(s.id);
    for (std::size_t i = 0; i < points.lines.size(); ++i)
      if (points.lines[i] > 0 && std::isfinite(points.values[i]))
        it->second.batch[static_cast<std::uint64_t>(points.lines[i])] = points.values[i];
  }
  std::vector<std::uint32_t> out;
  std::map<std::pair<std::int64_t, double>, std::uint32_t> numbers;
  std::pair<std::int64_t, double> now{0, 0};
  const auto look = [&](const Place& place) {
    const JobWord& of = said.at(place.member);
    if (auto it = of.world.lower_bound(place.line); it != of.world.begin())
      now.first = std::prev(it)->second;
    if (const auto it = of.batch.find(place.line); it != of.batch.end()) now.second = it->second;
  };
  // Before anything is said it is as the first word has it.
  for (const Place& place : steps.place) {
    const auto before = now;
    look(place);
    if (before.first != 0) now.first = before.first;
    if (before.second != 0) now.second = before.second;
    if (now.first != 0 && now.second != 0) break;
  }
  for (const Place& place : steps.place) {
    look(place);
    out.push_back(numbers.emplace(now, static_cast<std::uint32_t>(numbers.size())).first->second);
  }
  if (numbers.size() < 2) return {};
  return out;
}

}  // namespace culprit::analyze
