#include "diagnose/trace_curves.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "report/fields.hpp"

namespace culprit::diagnose {

namespace {

// Without points where none has a time.
Trace::Counter curve_of(const store::Database& db, const analyze::Facts& facts, const SeriesRow& s,
                        TraceTracks& tracks, std::size_t most) {
  const MemberRow* m = facts.member(s.member);
  Trace::Counter out{
      .process = tracks.process(s.host ? s.host : m->host), .name = s.name, .unit = s.unit};
  if (s.gpu) out.name += " GPU " + *s.gpu;
  if (s.nic) out.name += " " + *s.nic;
  if (const auto rank = s.rank ? s.rank : m->rank) out.name += fmt::format(" rank {}", *rank);
  if (!s.labels.empty()) out.name += " {" + s.labels + "}";
  out.name = report::shortened(out.name, kMostWords);
  const SeriesPoints p = db.points(s.id);
  const auto offset = facts.clock_offset(s.member, s.clock);
  if (!offset || p.times.empty()) return out;
  std::vector<std::pair<Nanoseconds, double>> all;
  for (std::size_t i = 0; i < p.size(); ++i)
    if (p.times[i] != kNoValue && drawable(p.times[i] + *offset) && std::isfinite(p.values[i]))
      all.emplace_back(p.times[i] + *offset, p.values[i]);
  std::ranges::sort(all);
  // The lowest and the highest of so many in a row: no spike is lost.
  const std::size_t bucket = all.size() <= most ? 1 : all.size() * 2 / most + 1;
  for (std::size_t i = 0; i < all.size(); i += bucket) {
    const auto begin = all.begin() + static_cast<std::ptrdiff_t>(i);
    const auto end = all.begin() + static_cast<std::ptrdiff_t>(std::min(all.size(), i + bucket));
    auto [low, high] = std::minmax_element(
        begin, end, [](const auto& a, const auto& b) { return a.second < b.second; });
    if (high < low) std::swap(low, high);
    out.points.push_back(*low);
    if (high != low) out.points.push_back(*high);
  }
  return out;
}

}  // namespace

std::vector<Trace::Counter> curves_of(const store::Database& db, const analyze::Facts& facts,
                                      const std::set<Host>& hosts, TraceTracks& tracks,
                                      const TraceLimits& limits, std::size_t& left_out) {
  std::vector<Trace::Counter> out;
  std::vector<std::tuple<bool, std::int64_t, SeriesId, const SeriesRow*>> order;
  for (const SeriesRow& s : facts.series) {
    const MemberRow* m = facts.member(s.member);
    if (!facts.counts(m) || s.clock == Clock::none) continue;
    const auto& host = s.host ? s.host : m->host;
    order.emplace_back(!host || hosts.count(*host) == 0, m->order, s.id, &s);
  }
  std::ranges::sort(order);
  std::set<std::pair<std::size_t, std::string>> used;
  for (const auto& [other, path, id, s] : order) {
    if (out.size() >= limits.series) {
      ++left_out;
      continue;
    }
    Trace::Counter counter = curve_of(db, facts, *s, tracks, limits.points);
    if (counter.points.empty()) continue;
    if (!used.emplace(counter.process, counter.name).second)
      counter.name += fmt::format(" ({})", facts.member(s->member)->path);
    if (!used.emplace(counter.process, counter.name + " ").second) continue;
    out.push_back(std::move(counter));
  }
  return out;
}

}  // namespace culprit::diagnose
