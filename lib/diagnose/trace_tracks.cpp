#include "diagnose/trace_tracks.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "model/ranges.hpp"

namespace culprit::diagnose {

namespace {

constexpr std::size_t kMostName = 80;   // bytes of a host or of a list of ranks
constexpr std::size_t kMostLanes = 16;  // of calls that overlap; later ones begin after the others

std::string cut(std::string text) {
  if (text.size() <= kMostName) return text;
  std::size_t end = kMostName;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80) --end;
  return text.substr(0, end) + "…";
}

}  // namespace

TraceTracks::TraceTracks(const analyze::Facts& facts, const std::set<Host>& named_hosts,
                         const std::set<Rank>& named_ranks, const TraceLimits& limits)
    : processes_{"job"} {
  std::set<Host> hosts;
  for (const HostRow& h : facts.hosts) hosts.insert(h.host);
  for (const RankRow& r : facts.ranks)
    if (r.host) hosts.insert(*r.host);
  const std::size_t together = hosts.size() <= limits.hosts ? 1 : hosts.size() / limits.hosts + 1;
  std::vector<Host> crowd;
  const auto close = [&] {
    if (crowd.empty()) return;
    const std::size_t process = processes_.size();
    processes_.push_back(crowd.size() == 1 ? cut(crowd[0])
                                           : fmt::format("{} hosts: {} to {}", crowd.size(),
                                                         cut(crowd.front()), cut(crowd.back())));
    for (const Host& h : crowd) process_of_[h] = process;
    shared_process_[process] = crowd.size() > 1;
    crowd.clear();
  };
  std::size_t own = 0;
  for (const Host& h : hosts) {
    if (named_hosts.count(h) != 0 && own++ < limits.named) {
      close();
      crowd.push_back(h);
      close();
    } else {
      crowd.push_back(h);
      if (crowd.size() >= together) close();
    }
  }
  close();
  for (const RankRow& r : facts.ranks) host_of_[r.rank] = r.host;
  all_own_ = facts.ranks.size() <= limits.ranks;
  for (const Rank r : named_ranks)
    if (own_.size() < limits.named) own_.insert(r);
  if (all_own_) return;
  for (const RankRow& r : facts.ranks)
    if (own_.count(r.rank) == 0) together_[process(r.host)].push_back(r.rank);
  for (auto& [process, ranks] : together_) std::ranges::sort(ranks);
}

std::size_t TraceTracks::process(const std::optional<Host>& host) {
  if (!host) return 0;
  const auto found = process_of_.find(*host);
  return found == process_of_.end() ? 0 : found->second;
}

std::size_t TraceTracks::track(const std::optional<Host>& host, const std::optional<Rank>& rank,
                               Lane lane) {
  std::optional<Host> whose = host;
  if (rank)
    if (const auto found = host_of_.find(*rank); found != host_of_.end() && found->second)
      whose = found->second;
  Key key{process(whose), -1, lane, false};
  if (rank && (all_own_ || own_.count(*rank) != 0)) {
    key.rank = number_of(*rank);
  } else if (rank) {
    const auto found = together_.find(key.process);
    key.shared = true;
    if (found != together_.end() && !found->second.empty())
      key.rank = number_of(found->second.front());
  } else {
    const auto found = shared_process_.find(key.process);
    key.shared = found != shared_process_.end() && found->second;
  }
  const auto [at, fresh] = known_.emplace(key, keys_.size());
  if (fresh) keys_.push_back(key);
  return at->second;
}

std::string TraceTracks::name_of(const Key& key) const {
  const auto crowd = together_.find(key.process);
  const bool many = key.shared && key.rank >= 0 && crowd != together_.end();
  std::string who = many               ? "ranks " + cut(to_ranges(crowd->second))
                    : key.rank >= 0    ? fmt::format("rank {}", key.rank)
                    : key.process == 0 ? "job"
                                       : "machine";
  switch (key.lane) {
    case Lane::verdict: return "verdict";
    case Lane::findings: return who + " findings";
    case Lane::events: return who;
    case Lane::steps: return who + " steps";
    case Lane::calls: return who + " collectives";
  }
  return who;
}

void TraceTracks::put_in_order(Trace& trace) const {
  for (const std::string& name : processes_) trace.processes.push_back({name});
  std::vector<std::vector<std::size_t>> on(keys_.size());  // slices of each track
  for (std::size_t i = 0; i < trace.slices.size(); ++i) on[trace.slices[i].thread].push_back(i);
  std::vector<std::size_t> first(keys_.size());
  for (const auto& [key, track] : known_) {
    auto& mine = on[track];
    std::ranges::stable_sort(mine, [&](std::size_t a, std::size_t b) {
      const Trace::Slice &x = trace.slices[a], &y = trace.slices[b];
      return std::tie(x.begin, y.end, x.name) < std::tie(y.begin, x.end, y.name);
    });
    std::vector<Nanoseconds> ends{std::numeric_limits<Nanoseconds>::min()};
    first[track] = trace.threads.size();
    for (const std::size_t i : mine) {
      Trace::Slice& s = trace.slices[i];
      auto lane = std::ranges::find_if(ends, [&](Nanoseconds e) { return e <= s.begin; });
      if (lane == ends.end() && ends.size() < kMostLanes) lane = ends.insert(lane, s.begin);
      if (lane == ends.end()) {
        lane = std::ranges::min_element(ends);
        s.args.emplace_back("began", iso_utc(s.begin));
        s.begin = *lane;
        s.end = std::max(s.end, s.begin);
      }
      *lane = s.end;
      s.thread = first[track] + static_cast<std::size_t>(lane - ends.begin());
    }
    for (std::size_t lane = 0; lane < ends.size(); ++lane)
      trace.threads.push_back(
          {key.process, name_of(key) + (lane == 0 ? "" : fmt::format(" ({})", lane + 1))});
  }
  for (Trace::Instant& i : trace.instants) i.thread = first[i.thread];
}

}  // namespace culprit::diagnose
