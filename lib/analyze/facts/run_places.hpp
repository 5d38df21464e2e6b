// Where the ranks of each run stood. Attempts of a job give a rank another machine each time: what
// a log says of its own ranks holds for it, and what stands in its folder for the logs there.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "model/rows.hpp"

namespace culprit::analyze {

class RunPlaces {
 public:
  struct Seat {
    Host host;
    std::optional<LocalRank> local;
  };

  // From this line of its log on.
  void add_of_log(MemberId log, std::uint64_t line, Rank rank, Seat seat);
  void add_of_folder(const std::string& folder, Rank rank, const Seat& seat);
  // So many ranks on each host, in their order: of a folder by a host file in it, as launchers of
  // MPI and DeepSpeed place them, which torchrun does not; of a log, by its path, as it says
  // itself.
  using Order = std::vector<std::pair<Host, std::int64_t>>;
  void add_order(const std::string& folder_or_log, Order order);

  // As the log itself says, the last time before that line, else the first time after it.
  std::optional<Seat> in_log(MemberId log, std::uint64_t line, Rank rank) const;
  // The same; else as the folder that the log stands in says.
  std::optional<Seat> in_run(const MemberRow& log, std::uint64_t line, Rank rank) const;
  // The same; else by the order of a host file there. Proves nothing by itself.
  std::optional<Seat> by_order(const MemberRow& log, std::uint64_t line, Rank rank) const;

  // Whether the log says itself in which order ranks stand on its machines.
  bool has_order(const MemberRow& log) const { return orders_.count(log.path) > 0; }

  // How many ranks the log and its folder place; 0 = none.
  std::size_t ranks_beside(const MemberRow& log) const;

  // Logs or folders place it on different machines: no one of them holds for the job as a whole.
  bool moved(Rank rank) const;

 private:
  std::map<std::pair<MemberId, Rank>, std::map<std::uint64_t, Seat>> logs_;
  // nullopt: files of the folder differ.
  std::map<std::string, std::map<Rank, std::optional<Seat>>, std::less<>> folders_;
  const Order* order_of(const MemberRow& log) const;

  std::map<std::string, std::optional<Order>, std::less<>> orders_;
  std::map<Rank, std::pair<Host, bool>> first_;  // where it was placed first; placed elsewhere too
};

}  // namespace culprit::analyze
