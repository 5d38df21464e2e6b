// Whose track of a trace something stands on: one of a host or rank, or of many that share it.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "analyze/facts/facts.hpp"
#include "diagnose/trace.hpp"
#include "model/trace.hpp"

namespace culprit::diagnose {

inline constexpr std::size_t kMostWords = 160;  // columns of a line that is quoted, or of a name

// A moment that can stand in a trace: after 1970 and before 2096, so that no difference of two
// overflows, whatever a stranger's database holds.
constexpr bool drawable(Nanoseconds time) { return time > 0 && time < 4'000'000'000 * kSecond; }

// In the order in which a host or rank shows them.
enum class Lane { verdict, findings, events, steps, calls };

class TraceTracks {
 public:
  // named_hosts, named_ranks: who keeps a track, however many there are.
  TraceTracks(const analyze::Facts& facts, const std::set<Host>& named_hosts,
              const std::set<Rank>& named_ranks, const TraceLimits& limits);

  // A track for the time being: tracks get their numbers in put_in_order().
  std::size_t track(const std::optional<Host>& host, const std::optional<Rank>& rank, Lane lane);
  std::size_t process(const std::optional<Host>& host);
  // True of a track that many ranks or hosts share.
  bool shared(std::size_t track) const { return keys_[track].shared; }
  // Puts processes and threads into the trace, ordered: the job, hosts, their machines, ranks. A
  // thread whose slices overlap without nesting becomes several.
  void put_in_order(Trace& trace) const;

 private:
  struct Key {
    std::size_t process = 0;
    std::int64_t rank = -1;  // -1: the machine or job itself; of many: the first
    Lane lane = Lane::verdict;
    bool shared = false;
    auto operator<=>(const Key&) const = default;
  };
  std::string name_of(const Key& key) const;

  std::vector<std::string> processes_;  // the job is the first
  std::map<Host, std::size_t> process_of_;
  std::map<std::size_t, bool> shared_process_;
  std::map<Rank, std::optional<Host>> host_of_;
  std::set<Rank> own_;  // ranks with a track of their own
  bool all_own_ = true;
  std::map<std::size_t, std::vector<Rank>> together_;  // ranks that share one, by process
  std::map<Key, std::size_t> known_;
  std::vector<Key> keys_;
};

}  // namespace culprit::diagnose
