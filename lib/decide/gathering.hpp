// Puts findings together that are of one cause. Inside of this room only.
#pragma once

#include <limits>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "decide/causes.hpp"

namespace culprit::decide {

// One cause per kind and moment: the same fault on two hosts at once is one cause with two hosts.
// Causes are found by host and by moment, so that a hundred thousand hosts are no more work than
// their findings.
class Gathering {
 public:
  explicit Gathering(const DecideParams& params) : params_(params) {}

  void add(CauseKind kind, const Finding& f);
  // Best first. A moment that can be placed before the trouble is better than one that cannot; then
  // the kind; then the earlier. A reading of a counter must not stand before an exception with a
  // moment.
  std::vector<Cause> take();

 private:
  static constexpr std::size_t kNone = std::numeric_limits<std::size_t>::max();
  struct Kind {
    std::size_t first = kNone, undated = kNone;
    Nanoseconds most_uncertain = 0;
    std::multimap<Nanoseconds, std::size_t> by_start;
    std::map<Host, std::size_t> by_host;
  };
  struct Known {
    std::set<Host> hosts;
    std::set<std::string> classes;
  };

  std::size_t home(CauseKind kind, const Finding& f) const;
  std::size_t open(CauseKind kind, const Finding& f);

  const DecideParams& params_;
  std::vector<Cause> causes_;
  std::vector<Known> known_;  // beside causes_
  std::map<CauseKind, Kind> kinds_;
};

}  // namespace culprit::decide
