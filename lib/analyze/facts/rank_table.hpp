// The ranks of the job: on which machine each ran, as which process and as which task of srun.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "analyze/facts/facts.hpp"
#include "analyze/facts/host_names.hpp"

namespace culprit::analyze {

class RankTable {
 public:
  // Fills world_size, world_counted and run_places of the facts. Keeps references to both, and to
  // identities. REQUIRES: hosts and ranks of members by their paths and lines.
  RankTable(Facts& facts, const HostNames& names);

  const std::map<Rank, RankRow>& rows() const { return ranks_; }
  std::optional<Host> host_of(const std::optional<Rank>& rank) const;
  // What has no host is of the one machine of the job, if there is but one.
  std::optional<Rank> by_local(const std::optional<Host>& host,
                               const std::optional<LocalRank>& local) const;
  std::optional<Rank> by_pid(const std::optional<Host>& host,
                             const std::optional<std::int64_t>& pid) const;

  // Where a rank that a line of the log names stood, as the log says, or its folder.
  std::optional<RunPlaces::Seat> in_log(const Place& line, const std::optional<Rank>& rank) const;
  std::optional<RunPlaces::Seat> in_run(const Place& line, const std::optional<Rank>& rank) const;

  // Of a line with a label of srun -l: its rank, and where that task ran up to there.
  std::optional<Rank> rank_of_task(const std::optional<std::int64_t>& task) const {
    return tasks_are_ranks_ ? maybe<Rank>(task) : std::nullopt;
  }
  std::optional<Host> host_of_task(MemberId member, const std::optional<std::int64_t>& task,
                                   std::uint64_t line = 0) const;
  void place_by_label(SeriesRow& s) const;

 private:
  // Where a task ran, up to a line of its log.
  struct TaskPlace {
    Host host;
    std::uint64_t until = 0;
  };
  template <class Number>
  using Index = std::map<std::pair<std::string, Number>, Rank>;  // of a host

  void add(Rank rank, const std::optional<Host>& host, const std::optional<LocalRank>& local,
           const std::optional<std::int64_t>& pid, const std::optional<std::string>& gpu,
           std::string_view source);
  void read_manifest();
  bool of_smaller_group(const IdentityRow& i) const;
  void read_places_of_runs();
  void read_orders_of_runs();
  void read_identities();
  void read_rows();
  void count_world();
  void place_small_job();
  void index_processes();
  void number_by_local_ranks();
  void read_task_labels();
  bool a_task_each_device() const;

  Facts& facts_;
  const HostNames& names_;
  std::vector<const IdentityRow*> identities_;  // in order of their members' paths
  std::map<Rank, RankRow> ranks_;
  Index<LocalRank> by_local_;
  Index<std::int64_t> by_pid_;
  std::optional<Host> only_;  // the one machine of the job
  std::map<std::pair<MemberId, std::int64_t>, TaskPlace> tasks_;
  bool tasks_are_ranks_ = false;
};

}  // namespace culprit::analyze
