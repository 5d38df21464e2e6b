// Who told of failed communication, and whose connections broke. Inside of this room only.
#pragma once

#include <optional>
#include <set>
#include <vector>

#include "decide/decide.hpp"

namespace culprit::decide {

class BrokenConnections {
 public:
  explicit BrokenConnections(const Case& incident);

  // Its host is an end of something that broke, as far as ends are known.
  bool touched(const Finding& f) const;
  // The connections that broke first have another host in common.
  bool name_another(const Finding& f) const;
  // A scheduler misses one node after minutes in which nobody there said a word, while all the
  // others told of connections that failed, and nothing of anything else. Several are taken away,
  // or lost together.
  bool noticed_late(const Finding& missed) const;

  bool any = false;             // ranks report failed communication
  bool job_names_root = false;  // the job itself prints what may be a cause

 private:
  void hear(const Finding& f);

  const Case& incident_;
  bool ends_known_ = false;
  std::set<std::optional<Host>> roots_of_job_;    // where the job prints what may be a cause
  std::set<Host> ends_;                           // hosts of connections that broke
  std::set<Host> peers_;                          // that broken connections name as their other end
  std::set<Host> reporters_;                      // on which the job tells of failed communication
  std::set<Host> missed_;                         // by the scheduler
  std::vector<const ExitFact*> ended_by_signal_;  // processes that were killed or crashed
  std::optional<Host> broke_first_;  // that the connections which broke first have in common
};

}  // namespace culprit::decide
