// What bears out a fault that a machine reports: the job's own processes, or who waits for whom.
// Inside of this room only.
#pragma once

#include <map>
#include <set>
#include <string>

#include "decide/broken_connections.hpp"

namespace culprit::decide {

class Witnesses {
 public:
  Witnesses(const Case& incident, const BrokenConnections& broken);

  // A second source that is independent of the machine's own log names it: its ranks, or who waits
  // for whom. Without any output of the job there is no story in which it could have another place.
  bool corroborate(const Finding& f, CauseKind kind) const;

  bool cuda_error = false;  // processes of the job report one

 private:
  void collect(const Finding& f);
  void note_lost_processes(const Finding& f);
  void note_witness(const Host& host, const Finding& f);
  bool of_own_process(const Finding& f) const;
  bool of_lost_process(const Finding& f) const;
  bool took_away(const Finding& f) const;
  bool felt_by_others(const Finding& f) const;
  bool alone_with(const Finding& f, const Finding& lost) const;
  bool links_break_everywhere() const;

  const Case& incident_;
  bool heard_job_;  // nothing that a machine tells is doubted where no word of the job is there
  const ExitFact* first_abort_ = nullptr;  // by its place in one log, or by time
  std::set<Host> killed_, crashed_;        // hosts on which a process ended so
  // What may corroborate, by host; the two that came first are enough.
  std::map<std::string, std::vector<const Finding*>> by_host_;
  // What ran out or failed, by the job's word; under no host what nobody places.
  std::map<Host, std::vector<const Finding*>> lost_there_;
  // Numbers of processes that the job says were killed.
  std::map<std::string, std::set<Host>> lost_processes_;
};

}  // namespace culprit::decide
