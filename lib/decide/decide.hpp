// Findings become a verdict in five steps: what has to be explained (effects_of), what could have
// happened (propose), how well each of it explains what was seen (compare), whether it may accuse
// (weigh_isolation), and what to do and to look at next (ask_for_missing).
//
// Sources: Aegis algorithm 1 (critical errors, distributed errors, RootDiag, ConfigCheck/NetDiag,
// offline diagnosis); ByteRobust section 4.2 and figure 5 (evict, stop-time checks, reattempt,
// rollback, replay). Ours: causality before severity (what comes after the first failure on another
// host is a consequence), shared causes, comparison instead of an order, "not enough evidence".
#pragma once

#include "decide/case.hpp"

namespace culprit::decide {

struct DecideParams {
  // The same kind of error on this many hosts at once has one cause, which they share.
  std::size_t many_hosts = 3;
  std::size_t few_of = 100;  // of so many hosts one more may fail by itself
  // A mere warning of a service that they share counts when so many of all hosts report it.
  double shared_hosts = 0.25;
  // A job that prints an error from its beginning on for so long does not end of it.
  Nanoseconds lived_with = kHour;
  // Errors of the same kind on several hosts this close together have one cause.
  Nanoseconds same_moment = 300 * kSecond;
  // Within which the peers of a process notice that the kernel ended it: their connections break.
  Nanoseconds kill_noticed = 60 * kSecond;
  // Xid 13 and 31 on one GPU at moments further apart than this are separate runs into the same
  // fault, not one burst.
  Nanoseconds same_burst = 180 * kSecond;
  // Work that went on for this long after an event says that the event did not end the job.
  Nanoseconds went_on = 120 * kSecond;
  // Longer than any time-out of collectives that is in use: what was over by then ended another
  // job.
  Nanoseconds long_before = 2 * kHour;
  // Thrice the five minutes for which pods tolerate a node that is not ready by default.
  Nanoseconds evicted_within = 15 * kMinute;
  // An alert that was taken back explains what broke until this long after its end: retries give up
  // late.
  Nanoseconds after_alert = 60 * kSecond;
  // Network warnings this long before the first broken connection may have broken it.
  Nanoseconds network_lead = 900 * kSecond;
  // How long after the scheduler's word faults still belong to the clean-up and to maintenance.
  Nanoseconds cleanup = 1200 * kSecond;
  // Metrics at zero for so long after the last step: the job stands still (ByteRobust table 3).
  Nanoseconds standstill = 600 * kSecond;
  // A link that was down so often in one run, the last time for longer than RDMA retries by default
  // (NCCL_IB_TIMEOUT 20, NCCL_IB_RETRY_CNT 7: about half a minute), is faulty though it came back.
  std::size_t keeps_failing = 3;
  Nanoseconds retried_for = 30 * kSecond;
  // Who waits for a process that is gone gives up within that: the longest time-out in use.
  Nanoseconds longest_timeout = 40 * kMinute;
  // Clocks that were compared, and loggers that buffer: closer than that nothing is in order.
  Nanoseconds order_slack = 5 * kSecond;
  // SlurmdTimeout is five minutes by default, Kubernetes' grace period 40 seconds.
  Nanoseconds polling = 6 * kMinute;
  // Of retries of RDMA and TCP connections, before the first step.
  Nanoseconds set_up_retries = 2 * kMinute;
  // Zones of clocks differ by up to that, and a fault stands at most so long before what it broke
  // where both are read in one zone.
  Nanoseconds farthest_zone = 14 * kHour, zone_lead = 2 * kMinute;
  // Aegis: at most this many hosts with distributed errors are isolated without further proof.
  std::size_t few_reporters = 2;
};

Verdict decide(const Case& incident, const DecideParams& params = {});
// The same without a copy of the findings, of which there may be as many as machines: they are
// moved about, and are in their order again when it returns.
Verdict decide_in_place(Case& incident, const DecideParams& params = {});

}  // namespace culprit::decide
