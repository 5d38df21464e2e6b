#include "analyze/facts/run_places.hpp"

#include <algorithm>

#include "analyze/facts/path_facts.hpp"
#include "model/rank.hpp"

namespace culprit::analyze {

namespace {

bool same_seat(const RunPlaces::Seat& a, const RunPlaces::Seat& b) {
  return a.host == b.host && (!a.local || !b.local || a.local == b.local);
}

}  // namespace

void RunPlaces::add_of_log(MemberId log, std::uint64_t line, Rank rank, Seat seat) {
  const auto [at, fresh] = first_.try_emplace(rank, seat.host, false);
  if (!fresh && at->second.first != seat.host) at->second.second = true;
  logs_[{log, rank}].insert_or_assign(line, std::move(seat));
}

void RunPlaces::add_of_folder(const std::string& folder, Rank rank, const Seat& seat) {
  const auto [at, fresh] = folders_[folder].try_emplace(rank, seat);
  if (fresh || !at->second) return;
  if (!same_seat(*at->second, seat))
    at->second.reset();
  else if (!at->second->local)
    at->second->local = seat.local;
}

void RunPlaces::add_order(const std::string& folder_or_log, Order order) {
  const auto [at, fresh] = orders_.try_emplace(folder_or_log, order);
  if (!fresh && at->second != order) at->second.reset();
}

std::optional<RunPlaces::Seat> RunPlaces::in_log(MemberId log, std::uint64_t line,
                                                 Rank rank) const {
  const auto it = logs_.find({log, rank});
  if (it == logs_.end()) return std::nullopt;
  const auto next = it->second.upper_bound(line);
  return next == it->second.begin() ? next->second : std::prev(next)->second;
}

std::optional<RunPlaces::Seat> RunPlaces::in_run(const MemberRow& log, std::uint64_t line,
                                                 Rank rank) const {
  if (auto own = in_log(log.id, line, rank)) return own;
  const auto folder = folders_.find(folder_of(log.path));
  if (folder == folders_.end()) return std::nullopt;
  const auto it = folder->second.find(rank);
  return it == folder->second.end() ? std::nullopt : it->second;
}

std::optional<RunPlaces::Seat> RunPlaces::by_order(const MemberRow& log, std::uint64_t line,
                                                   Rank rank) const {
  if (auto told = in_run(log, line, rank)) return told;
  const Order* order = order_of(log);
  if (order == nullptr || number_of(rank) < 0) return std::nullopt;
  std::int64_t local = number_of(rank);
  for (const auto& [host, ranks] : *order) {
    if (local < ranks) return Seat{host, LocalRank(local)};
    local -= ranks;
  }
  return std::nullopt;
}

const RunPlaces::Order* RunPlaces::order_of(const MemberRow& log) const {
  auto at = orders_.find(log.path);
  if (at == orders_.end()) at = orders_.find(folder_of(log.path));
  return at == orders_.end() || !at->second ? nullptr : &*at->second;
}

std::size_t RunPlaces::ranks_beside(const MemberRow& log) const {
  const std::string folder = folder_of(log.path);
  const auto placed = folders_.find(folder);
  const Order* order = order_of(log);
  std::int64_t ordered = 0;
  if (order != nullptr)
    for (const auto& [host, ranks] : *order) ordered += ranks;
  return std::max(placed == folders_.end() ? 0 : placed->second.size(),
                  static_cast<std::size_t>(ordered));
}

bool RunPlaces::moved(Rank rank) const {
  const auto it = first_.find(rank);
  return it != first_.end() && it->second.second;
}

}  // namespace culprit::analyze
