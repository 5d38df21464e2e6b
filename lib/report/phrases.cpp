#include "report/phrases.hpp"

#include <algorithm>
#include <cctype>
#include <set>

#include <fmt/args.h>
#include <fmt/format.h>

#include "model/phrases.hpp"

namespace culprit::report {

namespace {

struct Words {
  Phrase phrase;
  const char* id;
  const char* words;
};

// clang-format off
#define SAYS(phrase, words) {Phrase::phrase, #phrase, words}
constexpr Words kWords[] = {
    SAYS(verbatim, "{}"),
    SAYS(list, ""),
    SAYS(inside, "{}"),
    SAYS(capital, "{}"),

    // Shared.
    SAYS(at_time, " at {}"),

    // The walk.
    SAYS(ranks_counted, "{} ranks"),
    SAYS(rank_named, "rank {}"),
    SAYS(hosts_counted, "{} hosts"),
    SAYS(the_job, "the job"),
    SAYS(excluded_candidate, "{} on {}: {}"),
    SAYS(also_showed,
         "{} also reported {}, which did not cause this failure ({}): check it before the next "
         "start."),

    // Why a candidate cannot have come first.
    SAYS(job_went_on, "the job completed steps for {} after it"),
    SAYS(few_and_only_warning, "{} of {} hosts report it, and only as a warning"),
    SAYS(no_process_on_host, "no process of the job ran on {}"),
    SAYS(peers_were_reachable, "the job had completed steps: its peers were reachable then"),
    SAYS(undated_unconfirmed, "its time is unknown and no second source confirms it"),
    SAYS(vague_time_unconfirmed,
         "its time is known only to within {}, so it may be later than the failure, and no "
         "second source confirms it"),
    SAYS(xid_without_cuda_error,
         "no rank reports a CUDA error, and its time is not near the failure"),
    SAYS(known_consequence, "it is a known consequence of {} on {}"),
    SAYS(after_failed_communication,
         "ranks had reported failed communication before it, or its time relative to that is "
         "unknown"),
    SAYS(after_first_failure, "it came {} after the first failure"),
    SAYS(over_before_connections_broke, "it had ended {} before the first connection failed"),
    SAYS(after_first_sign, "it came {} after the first sign of failure on other ranks"),

    // Who cannot talk to whom.
    SAYS(no_peer_named, "no connection error names its peer"),
    SAYS(first_connection_between,
         "The connection between {} failed first{}: the fault is at one of the two ends, and "
         "the logs do not show which."),
    SAYS(all_gather_with_good_machine,
         "Run an all-gather between {} and a known good machine, one at a time; evict the one "
         "that fails."),
    SAYS(kernel_log_of_both, "kernel log and ibstat of both hosts"),
    SAYS(connections_cross_switch,
         "All connections that failed first cross {}: the switch is at fault, not the hosts."),
    SAYS(connections_of_host_first,
         "Connections to {} failed first{}; the later errors are consequences."),
    SAYS(kernel_log_which_part,
         "kernel log, ibstat and nvidia-smi -q of {}: they show which component failed"),
    SAYS(broke_first_unseen,
         "Not enough evidence: connections to {} failed first{}, but none of its output was "
         "collected, so a machine fault, a crashed process and an outside kill cannot be "
         "distinguished."),
    SAYS(collect_logs_of_host,
         "stderr and stdout of the ranks on {}, its kernel log, and the scheduler's record of it"),
    SAYS(no_rank_timed_out, "no rank timed out"),
    SAYS(rank_in_brackets_on, "{} (on {})"),
    SAYS(hung_nothing_collected_of,
         "The job hung: every rank with output timed out, and no output of rank {} was "
         "collected."),
    SAYS(hung_others_timed_out,
         "The job hung: every other rank timed out and rank {} reported no timeout, so they "
         "probably waited for it."),
    SAYS(stacks_of_that_rank,
         "stacks of that rank while it hangs: py-spy dump --native --pid PID, or a loop over all "
         "ranks"),
    SAYS(recorder_never_entered,
         "TORCH_FR_BUFFER_SIZE=2000 TORCH_NCCL_DUMP_ON_TIMEOUT=1: the flight recorder shows "
         "which collective it never entered"),
    SAYS(no_distributed_error, "no rank reports a distributed error"),
    SAYS(reports_without_hosts,
         "the reports cannot be mapped to hosts: there is no rank-to-host map"),
    SAYS(hosts_report_distributed, "{} hosts report distributed errors"),
    SAYS(nobody_to_compare,
         "{} of the {} hosts with output report them: there is no healthy host to compare with"),
    SAYS(few_hosts_report,
         "Only {} of {} hosts report failed communication: {}. Isolating them may remove one "
         "host too many."),
    SAYS(few_reporters, "at most {} hosts report (Aegis section 4.1.1)"),

    // Ends without a fault to name.
    SAYS(bundle_has_logs, "the bundle has readable logs"),
    SAYS(bundle_says_nothing,
         "Not enough evidence: nothing in the bundle shows how the job ended."),
    SAYS(collect_output_of_ranks,
         "stderr and stdout of every rank (torchrun --log-dir DIR -r 3 -t 3), the scheduler's "
         "output"),
    SAYS(collect_kernel_logs,
         "kernel log of every host: dmesg -T, or journalctl -k -o short-iso-precise"),
    SAYS(no_line_of_a_job, "no line of the bundle is about a job, a fault or a machine"),
    SAYS(ranks_were_waiting, "ranks waited for a collective that did not complete"),
    SAYS(process_ended_with, "a process of the job ended with code {}"),
    SAYS(logs_tell_of_failure, "the logs report a failure"),
    SAYS(collectives_unfinished,
         "collectives are unfinished, and nothing shows that the job ended well"),
    SAYS(machine_reports_critical, "a machine of the job reports a critical error"),
    SAYS(loss_not_a_number, "the loss became NaN or Inf"),
    SAYS(service_stopped_answering,
         "a service that the job needs stopped responding and did not recover"),
    SAYS(machine_log_reports_fault, "the machine's own log reports a fault"),
    SAYS(failed_communication_exit_0,
         "ranks report failed communication although the job's exit code is 0"),
    SAYS(earlier_run_ended,
         " The scheduler ended an earlier run{} ({}); the job ran again afterwards{}."),
    SAYS(and_got_to_iteration, " and reached iteration {}"),
    SAYS(when_idle, "When {} is idle: {} ({})."),
    SAYS(look_first_at, " If the job hung at that time, look first at {}."),
    SAYS(stacks_twice, "if it hangs now, stacks of all ranks, twice, one minute apart: {}"),
    SAYS(logs_end_after_iteration,
         "No sign of a known failure, and no proof of success: the logs end after iteration {}{}."),
    SAYS(of_planned, " of {}"),
    SAYS(logs_end_here, "No sign of a known failure, and no proof of success: the logs end here."),
    SAYS(dumps_of_one_moment,
         " All dumps were taken at one moment, so they do not show whether the job hung then."),
    SAYS(collect_end_of_output,
         "the end of stdout and stderr of every rank, and how the job ended: the scheduler's "
         "record (sacct -j JOBID, kubectl describe pod) or the launcher's exit code"),
    SAYS(no_sign_no_proof, "no known failure and no proof of success"),
    SAYS(no_proof_of_success,
         "no exit code, closing line or last planned step shows that the job ended well"),
    SAYS(finished_exit_0, "No failure: the job finished with exit code 0."),
    SAYS(ran_to_its_end, "No failure: the job ran to completion."),
    SAYS(completed_planned_steps, "No failure: the job completed all {} planned steps."),
    SAYS(ended_well, "the job ended well and no rank reports an error"),
    SAYS(no_open_dumps, "no dumps that leave open whether the job hung"),
    SAYS(steps_and_no_failure, "the logs show completed steps and no failure"),
    SAYS(scheduler_says, "the scheduler says how the job ended"),
    SAYS(dumps_undecided, "Not enough evidence: {}.{}"),
    SAYS(collect_output_after_dumps,
         "stderr and stdout of every rank, and the scheduler's output: they show whether steps "
         "were completed after the dumps"),
    SAYS(scheduler_ended_this_run, "the scheduler ended this run"),
    SAYS(no_failure_shown,
         "No failure in the logs: steps were completed up to the end of the logs."),
    SAYS(unfinished_unexplained,
         " The logs end at iteration {} of {} without a reason: the job may still be running, "
         "or hang."),
    SAYS(no_sign_of_failure, "no sign of a failure"),
    SAYS(no_gpu_throttled, "no GPU reports hardware throttling"),
    SAYS(something_ended_job, "something ended the job"),
    SAYS(throttling_explains_no_failure, "the job failed, which throttling does not explain"),
    SAYS(many_hosts_report, "{} of {} hosts report it: no host stands out"),
    SAYS(gpus_throttled,
         "The job is running, but GPUs on {} are throttled by heat or power; in synchronous "
         "training one slow GPU slows every rank."),
    SAYS(collect_gpu_state,
         "nvidia-smi -q of all hosts under load, and iteration times: do they rise when "
         "throttling begins?"),
    SAYS(class_on_place, "{} on {}"),
    SAYS(earlier_run_ended_by_scheduler,
         "the scheduler ended an earlier run{}, and the job ran again after that"),
    SAYS(no_scheduler_word, "the scheduler did not end the job"),
    SAYS(error_before_scheduler,
         "an error came before the scheduler ended the job, or its time relative to that is "
         "unknown"),
    SAYS(rank_reports_cuda_error, "a rank reports a CUDA error"),
    SAYS(aborted_undated,
         "ranks reported failed communication and aborted, at a time that may be before the "
         "scheduler ended the job"),
    SAYS(communication_failed_before_scheduler,
         "ranks reported failed communication before the scheduler ended the job"),
    SAYS(aborted_with_scheduler,
         "ranks reported failed communication and aborted when the scheduler ended the job"),
    SAYS(timed_out_scheduler_undated,
         "ranks timed out, and the time at which the scheduler ended the job is unknown"),
    SAYS(process_failed_scheduler_undated,
         "a process failed, possibly before the scheduler ended the job"),
    SAYS(time_limit, "No fault: the job reached its time limit{}."),
    SAYS(scheduler_ended_job,
         "No fault: the scheduler ended the job{} and nothing had failed before."),
    SAYS(no_error_before, "{}, and no error before it"),
    SAYS(settings_of_one_host,
         "versions and settings are known of at most one host (`culprit drift -d incident.db` "
         "compares them)"),
    SAYS(settings_equal, "all known versions and settings are the same on all hosts"),
    SAYS(settings_differ_harmlessly,
         "{} settings differ between hosts, none that affects communication"),
    SAYS(settings_differ_nothing_broke, "settings differ between hosts, but no connection failed"),
    SAYS(make_settings_equal,
         "Hosts differ in {}, which did not cause this failure: make them equal before the next "
         "start (`culprit drift -d incident.db`)."),
    SAYS(setting_differs_job_ran, "{} differs between hosts, but the job completed steps with it"),
    SAYS(reporters_have_majority_settings,
         "only {} report failed connections, and their settings are those of the majority"),
    SAYS(setting_explains_connections,
         "Connections failed, no machine reports a fault, and hosts differ in a setting that "
         "affects communication: {}"),
    SAYS(collect_drift, "all differences: culprit drift -d incident.db --all"),
    SAYS(setting_differs, "{} differs between hosts (Aegis ConfigCheck)"),
    SAYS(hung_nobody_named,
         "Not enough evidence: the job hung, and nothing shows which rank the others waited for."),
    SAYS(stacks_of_all_while_hanging, "stacks of all ranks while it hangs: {}"),
    SAYS(recorder_and_ncclras,
         "TORCH_FR_BUFFER_SIZE=2000 TORCH_NCCL_DUMP_ON_TIMEOUT=1 for the flight recorder; ncclras "
         "-v while it hangs"),
    SAYS(crashed_no_cause, "Not enough evidence: the job crashed and no log shows the cause."),
    SAYS(crashed_nothing_proven,
         "Not enough evidence: the job crashed and nothing proves the cause."),
    SAYS(request_stop_time_checks, " Run stop-time checks before the next start."),
    SAYS(stop_time_checks,
         "Stop-time checks on all machines of the job: dcgmi diag -r 3, all-to-all within each "
         "machine, all-gather between neighbours; evict what fails, else reattempt."),
    SAYS(trouble_without_cause, "Not enough evidence: the logs show errors but not their cause."),
    SAYS(collect_host_state,
         "kernel log of every host (dmesg -T, or journalctl -k -o short-iso-precise), nvidia-smi "
         "-q, ibstat"),
    SAYS(collect_kernel_logs_short,
         "kernel log of every host (dmesg -T, or journalctl -k -o short-iso-precise)"),
    SAYS(collect_nccl_debug,
         "NCCL_DEBUG=WARN at least, NCCL_DEBUG=INFO for the first minutes: it maps ranks to "
         "hosts, GPUs and addresses"),
    SAYS(collect_job_json,
         "a job.json with hosts in node-rank order and gpus_per_node (`culprit schema "
         "job-v1.json`)"),
    SAYS(nothing_else_applies, "no other step applies"),
    SAYS(setting_differs_harmlessly,
         "1 setting differs between hosts, none that affects communication"),

    // Faults that say so.
    SAYS(critical_errors_not_first,
         "critical machine errors came after the failure, or the job continued after them"),
    SAYS(no_critical_error, "no machine reports a critical error"),
    SAYS(all_hosts_of_switch,
         "{} on all hosts of {} at once: the switch is at fault, not {} separate hosts"),
    SAYS(shared_by_many_hosts,
         "{} on {} of {} hosts at once: a shared cause, not {} separate faults"),
    SAYS(fault_of_unnamed_machine,
         "A machine of the job reports a fault, but nothing shows which one: {}{}."),
    SAYS(collect_file_with_host,
         "the same file again with the host's name in its path: hosts/NAME/..."),
    SAYS(class_without_host, "{} without a host"),
    SAYS(collect_job_json_for_host,
         "a job.json with hosts and gpus_per_node, or NCCL_DEBUG=INFO: nothing in the bundle "
         "maps this to a host name"),
    SAYS(machines_broke_job, "{}: {} on {}{}{}."),
    SAYS(one_machine, "One machine failed"),
    SAYS(several_machines, "{} machines failed"),
    SAYS(rest_are_consequences, "; the errors on other ranks are consequences"),
    SAYS(class_first, "{} on {}{}, and no other cause came before it"),
    SAYS(undated_on_several,
         "Not enough evidence: {} report different faults, and none of them has a time, so "
         "nothing shows which came first or whether any of them belongs to this failure."),
    SAYS(undated_faults, "faults without a time on {} machines"),
    SAYS(no_shared_error_first, "no error of a shared service or storage came first"),
    SAYS(same_fault_same_moment,
         "{} hosts show the same fault at the same time ({}): look for what they share{}, not "
         "for {} separate faults."),
    SAYS(a_switch_first, ", starting with a switch"),
    SAYS(power_cooling_driver, " (power, cooling, a driver roll-out)"),
    SAYS(look_at_switch, "Check {} first: its log, power, firmware and uplinks."),
    SAYS(shared_switch, "the switch that these hosts share"),
    SAYS(class_on_hosts_within_minutes, "{} on {} hosts within minutes"),
    SAYS(service_seen_by_one_host,
         "{} on {} only{}: its mount or network path may be at fault instead of the service."),
    SAYS(check_mount_of_host,
         "Check the mount and the NIC of {} first: no other host reports this."),
    SAYS(shared_service_failed, "A shared service failed, not a machine of the job: {}{}{}."),
    SAYS(seen_by_hosts, ", seen by {} hosts"),
    SAYS(class_on_hosts_first, "{} on {} host(s) before anything else"),
    SAYS(no_resource_ran_out_first, "no process ran out of memory, disk or shared memory first"),
    SAYS(shared_file_system_full, "The shared file system {} is full{}; no machine is at fault."),
    SAYS(of_the_job, "of the job"),
    SAYS(ran_out, "A resource ran out; no hardware fault: {}{}{}."),
    SAYS(on_place, " on {}"),
    SAYS(two_joined, "{}{}"),
    SAYS(no_exception_first, "no exception of the program came first"),
    SAYS(rank_out_of_gpu_memory,
         "Only rank {} ran out of GPU memory{}: a leftover process on its GPU, or more work "
         "than other ranks."),
    SAYS(cuda_oom_on_one_rank, "cuda_oom on one rank alone"),
    SAYS(at_place, " at {}"),
    SAYS(in_brackets, " ({})"),
    SAYS(program_failed_on_rank, "User code failed, not a machine: only rank {} raised {}{}."),
    SAYS(program_failed, "User code failed, not a machine: {}{}."),
    SAYS(program_failed_on_ranks, "User code failed on {} ranks, not a machine: {}{}."),
    SAYS(only_rank_failed_this_way,
         "Only rank {} failed this way: look at what only that rank has (its data, its pipeline "
         "stage, its configuration)."),
    SAYS(reduce_memory,
         "Reduce the micro-batch, sequence length or activation memory, or go back to the last "
         "settings that fitted."),
    SAYS(go_back_or_fix,
         "Go back to the last code and configuration that ran past this point, or fix {}; a "
         "restart without a fix will fail again."),
    SAYS(exception_at_on, "{}{} on {}"),
    SAYS(unnamed_ranks, "unnamed ranks"),
    SAYS(no_illegal_access_first, "no illegal memory access or Xid 13/31 came first"),
    SAYS(illegal_access_everywhere,
         "Illegal memory accesses by the program: the same fault on {}{}."),
    SAYS(gpus_counted, "{} GPUs"),
    SAYS(find_the_kernel,
         "Run once with CUDA_LAUNCH_BLOCKING=1 or compute-sanitizer to find the kernel; go back "
         "to the last code that ran past this point."),
    SAYS(fault_on_several_gpus, "the same fault on several GPUs points to the program"),
    SAYS(one_gpu_again_and_again,
         "One GPU reported illegal accesses repeatedly over {} while the others did not: {}."),
    SAYS(field_diagnostic_of_gpu,
         "Run the field diagnostic (dcgmi diag -r 4) on that GPU before it returns to service."),
    SAYS(fault_on_one_gpu_repeated,
         "the same fault on one GPU at separate times points to the device"),
    SAYS(illegal_access_once,
         "Illegal memory access on one GPU{}: program or device, one occurrence does not show "
         "which."),
    SAYS(checks_of_gpu,
         "Stop-time checks on that GPU (dcgmi diag -r 3, a memory test); if they pass, reattempt "
         "with CUDA_LAUNCH_BLOCKING=1."),
    SAYS(one_occurrence, "one occurrence on one device"),
    SAYS(no_crash_first, "no process crashed first"),
    SAYS(process_crashed,
         "A process crashed{}: {}. One crash is no proof of a machine fault; keep the core dump "
         "and restart."),
    SAYS(keep_core_dump,
         "Keep the core dump (ulimit -c unlimited); a second crash on the same host calls for a "
         "memory test of that host."),
    SAYS(class_once, "{} once"),
    SAYS(same_crash_on_hosts,
         "The program crashed on {} machines alike ({}){}, so no single machine is at fault."),
    SAYS(debug_the_crash,
         "Keep the core dumps (ulimit -c unlimited) and compare their innermost frames; go back "
         "to the last code, libraries and configuration that ran past this point."),
    SAYS(class_on_hosts, "{} on {}"),
    SAYS(no_network_alert, "no network alert passed its tolerance (two within five minutes)"),
    SAYS(network_alert_without_effect, "{} on {}, but no rank reports failed communication"),
    SAYS(connections_point_elsewhere, "the failed connections point to {}, not to {}"),
    SAYS(links_failed_together,
         "Links of {} hosts failed together{}: a switch or its power is at fault, not {} "
         "separate hosts."),
    SAYS(look_at_switch_at,
         "Check {} first: its log, power, firmware and uplinks at {}; then the cables of {}."),
    SAYS(that_moment, "that time"),
    SAYS(many_link_alerts, "link alerts on many hosts at once"),
    SAYS(link_failed, "The network link of {} {}{}, then communication failed: {}."),
    SAYS(link_went_down, "went down and did not come back"),
    SAYS(link_failed_repeatedly, "failed more than once"),
    SAYS(link_alerts_before, "{} {} times on {} before the first broken connection"),
    SAYS(loss_is_a_number, "no NaN or Inf in loss or gradients as far as the logs show"),
    SAYS(gradients_not_numbers,
         "Gradients became NaN or Inf{}{}: bit-wise alignment tests show whether silent data "
         "corruption or the data or code is the cause."),
    SAYS(nan_on_all_ranks,
         "Gradients became NaN or Inf on {} ranks at once{}, so no rank can be named: a bad "
         "step (data, learning rate, precision, code) reaches all ranks by the all-reduce, and "
         "so does silent corruption on one."),
    SAYS(first_on_rank, ", first on rank {}"),
    SAYS(loss_not_a_number_anywhere,
         "The loss became NaN or Inf{}, and nothing shows on which rank first."),
    SAYS(collect_nan_rank,
         "--check-for-nan-in-loss-and-grad (Megatron), or torch.autograd.set_detect_anomaly, "
         "names the first rank next time"),
    SAYS(bitwise_alignment,
         "Bit-wise alignment on the machines of the job (the same step twice, outputs compared); "
         "evict what differs; if nothing differs, go back to the checkpoint before and skip the "
         "data of that step."),
    SAYS(no_machine_explains, "no machine fault explains it"),
    SAYS(the_program, "the program"),

    // What was tried before.
    SAYS(a_closer_look, "a closer look"),
    SAYS(a_measure, "a {}"),
    SAYS(ledger_exhausted, "everything that could be tried was tried"),
    SAYS(no_attempt_answered_by, "{} was not tried since then: it remains the answer"),
    SAYS(got_no_further, " and the job made no further progress"),
    SAYS(tried_before, "{} {} tried before ({}){}"),
    SAYS(lead_and, "{}, and {}"),
    SAYS(machines_were_changed, "machines were replaced and that did not help"),
    SAYS(nothing_left_to_try, "{}: nothing is left to try, stop the job."),
    SAYS(hand_over_record,
         "Do not restart it: hand the record of all attempts to the owners of the code and of "
         "the machines, and test all machines offline."),
    SAYS(collect_before_restart,
         "Do not restart it before what is listed here is enabled: otherwise the next failure "
         "gives no more evidence than this one."),
    SAYS(stop_time_checks_nan,
         "Stop-time checks on all machines of the job: GPU and NCCL tests, then bit-wise "
         "alignment (the same step of a reference model everywhere, outputs compared); evict what "
         "differs, else reattempt."),
    SAYS(restart_if_checked_nan,
         "Restart from the previous checkpoint if the checks included bit-wise alignment and "
         "all machines passed; else run it first."),
    SAYS(restart_if_checked,
         "Restart if the checks found nothing: a transient fault remains (a flapping link, a "
         "reset connection)."),
    SAYS(rollback_nan,
         "Go back to the code before its last changes, and to the checkpoint before the first "
         "NaN; skip the data of that step if the same code ran before."),
    SAYS(rollback_code,
         "Go back to the code and configuration before their last changes; if the job then runs, "
         "those changes are the cause."),
    SAYS(dual_phase_replay,
         "Dual-phase replay: the job on groups of its machines, TP and PP as they are, so that "
         "the two groups in which it fails share one machine."),
    SAYS(replay_command_without_hosts,
         "`culprit replay plan --hosts LIST --pp STAGES` makes the groups."),
    SAYS(pipeline_stages_unknown,
         "The number of pipeline stages is not known: give it with --pp, since a replay that cuts "
         "a pipeline does not run."),
    SAYS(next_is, "next is {}"),
    SAYS(title_on_place, "{} on {}"),
    SAYS(what_shows_now, "Current failure: {}{}."),
    SAYS(evicted_one_after_another,
         "{} {} evicted one after the other for the same fault ({}) and it came back on {}: the "
         "machine is not the cause{}"),
    SAYS(but_what_they_share, "; what they share, such as {}, may be"),
    SAYS(test_what_they_share,
         "Test {} first: its ports, cables and firmware, and the power and cooling of what hangs "
         "on it."),
    SAYS(test_common_settings,
         "What all of them share may be at fault: versions and settings (`culprit drift -d "
         "incident.db`), power, cooling, a service. Check {} before the next start, but do not "
         "expect that to be enough."),
    SAYS(isolating_that_not_tried, "isolating it was not tried since then: it remains the answer"),
    SAYS(rebooted_before,
         "{} was rebooted {} times and fails again: repair it, another reboot will not help."),
    SAYS(take_out_for_repair,
         "Take {} out of service for repair: no return without a field diagnostic (dcgmi diag -r "
         "4)."),
    SAYS(evicting_not_tried, "evicting {} was not tried since then: it remains the answer"),
    SAYS(after_attempts, " (after {})"),
    SAYS(did_not_leave_with_it, "{} {}{} and not in this run: the failure occurs without it"),
    SAYS(repaired_before, "{} was repaired and fails again: take it out of service for good."),
    SAYS(keep_out_test_offline,
         "Keep {} out of every job and test it offline (dcgmi diag -r 4, a memory test); a repair "
         "that did not hold is not repeated.{}"),
    SAYS(came_back_without_cure, " {} returned without a repair: repair before return."),
    SAYS(evicted_and_in_job_again,
         "{} {} before{} and is in the job again: repair before return, and no return without a "
         "field diagnostic (dcgmi diag -r 4)."),
    SAYS(evicted_and_fails_again,
         "{} {} before{} and fails in the job again: repair before return."),
    SAYS(evicted_same_answer,
         "{} {} before{} and fails again: another eviction would repeat the same answer"),
    SAYS(evicted_not_the_others,
         "{} {} before{}, the others were not: the eviction remains, with a repair of what "
         "returned"),
    SAYS(no_rollback_tried, "a rollback was not tried since then: it remains the answer"),
    SAYS(rollback_unknown_progress,
         "a rollback followed {}, but neither the failure nor the progress of that run is known"),
    SAYS(rolled_back_before,
         "The code was rolled back before (after {}) and user code fails again{}: stop and fix "
         "{}."),
    SAYS(at_the_same_place, ", at the same place"),
    SAYS(fix_before_start,
         "Do not restart it before {} is fixed and that step was run on a small job: the "
         "rolled-back version has the same fault."),
    SAYS(failure_unknown, "the failure is unknown, so it cannot be compared with earlier ones"),
    SAYS(names_a_machine, "it names a machine to check: no earlier attempts apply"),
    SAYS(not_slow_before, "no earlier run was slow for the same reason: the answer remains"),
    SAYS(slow_before_nothing_found, "It was slow before ({}) and no cause was found"),
    SAYS(relieved_before, "{} was mitigated before ({}) and slows the job again"),
    SAYS(next_checks_of_it, "{}: next are checks of it."),
    SAYS(take_out_and_check,
         "Take {} out at the next checkpoint and run the stop-time checks on it (GREYHOUND S4: "
         "checkpoint and restart); evict it if it fails."),
    SAYS(next_restart_elsewhere,
         "{}, and its checks all passed: next is a restart with its ranks on another machine."),
    SAYS(restart_in_other_place,
         "Checkpoint and restart with {} at another position of the rank order: if the slowness "
         "follows the machine, it is at fault; if it follows the ranks, they are."),
    SAYS(repair_before_return, "{} after checks: repair before return."),
    SAYS(take_out_and_repair,
         "Take {} out at the next checkpoint: repair, and no return without a field diagnostic "
         "(dcgmi diag -r 4)."),
    SAYS(next_checkpoint_restart, "{}: checkpoint and restart is next."),
    SAYS(checkpoint_restart,
         "Checkpoint and restart (GREYHOUND S4), on other machines if available. What that "
         "costs compared with waiting: `culprit plan mitigate -d incident.db`."),
    SAYS(no_repair_tried, "that repair was not tried since then: it remains the answer"),
    SAYS(repair_again,
         "The same repair was requested before (after {}) and it fails again: stop until it is "
         "proven to work."),
    SAYS(test_before_start, "Do not start the job before {} has passed its own test."),
    SAYS(earlier_attempts, "{} earlier attempts; the last {}:"),
    SAYS(no_retry, "earlier attempts do not change this answer"),
    SAYS(tried_after, "{} (after {})"),
    SAYS(before_this_run, " Before this run: {}."),
    SAYS(was, "was"),
    SAYS(were, "were"),
    SAYS(two_sentences, "{} {}"),
    SAYS(next_are_rungs, "{}: next are {}."),
    SAYS(next_is_rung, "{}: next is {}."),
    SAYS(so_next_are_rungs, "{}; next are {}."),
    SAYS(so_next_is_rung, "{}; next is {}."),
    SAYS(because_next_is, "{}: next is {}"),
    SAYS(lead_next_is, "{}; next is {}"),
    SAYS(evicted_hardly_the_machine,
         "{} {} evicted one after the other for the same fault ({}) and it came back on {}: the "
         "machine is probably not the cause{}"),
    SAYS(was_evicted_then, "was evicted"),
    SAYS(were_evicted_then, "were evicted"),
    SAYS(was_to_be_evicted, "was to be evicted"),
    SAYS(were_to_be_evicted, "were to be evicted"),
    SAYS(kind_and_id, "{} {}"),
    SAYS(it, "it"),

    // Leads.
    SAYS(rank_on_host, "rank {} on {}"),
    SAYS(quotation, "\"{}\""),
    SAYS(title_and_quotation, "{}: \"{}\""),
    SAYS(first_known_trouble, " First known error, not proven to be the cause{}{}: {}."),
    SAYS(also_look_at, "Also check{}: {}."),

    // The record of attempts.
    SAYS(attempt_got_further,
         "{} reached iteration {}, beyond {}: what was tried before helped and no longer counts"),
    SAYS(this_run, "this run"),
    SAYS(advice_to, "the advice to {}{}"),
    SAYS(to_run_checks, "run checks"),
    SAYS(to_roll_back, "roll back"),
    SAYS(to_collect_more, "collect more"),
    SAYS(an_eviction, "an eviction"),
    SAYS(left_the_job, " left the job"),
    SAYS(was_evicted, " evicted"),
    SAYS(a_reboot, "a reboot"),
    SAYS(was_rebooted, " rebooted"),
    SAYS(a_repair, "a repair"),
    SAYS(was_repaired, " repaired"),
    SAYS(more_was_collected, "more evidence was collected"),
    SAYS(slow_worker_relieved, "the slow worker was mitigated"),
    SAYS(was_relieved, " mitigated"),
    SAYS(checks_all_passed, "checks, all passed"),
    SAYS(checks_not_all_passed, "checks, not all passed"),
    SAYS(started_again, "restarted"),
    SAYS(another_version, "another version of the code"),
    SAYS(a_rollback, "a rollback"),
    SAYS(a_replay, "a replay"),
    SAYS(something_else, "another measure"),
    SAYS(past_failure, "{}{}{}{}"),
    SAYS(to_iteration, ", to iteration {}"),
    SAYS(run_ended_by_scheduler, ", ended by the scheduler"),
    SAYS(run_ended_well, ", ended well"),
    SAYS(then_tried, "; then {}"),
    SAYS(after_space, " {}"),
    SAYS(after_comma, ", {}"),
    SAYS(to_version, " to {}"),
    SAYS(checks_done, "checks"),
    SAYS(stopped, "stopped"),

    // Set-up and how processes ended.
    SAYS(signal_numbered, "signal {}"),
    SAYS(killed_by_somebody,
         "it was killed: by the kernel for lack of memory, by a memory limit, by the scheduler, "
         "or by a person"),
    SAYS(find_sender_of_sigkill,
         "Find the sender of SIGKILL: dmesg -T | grep -i 'out of memory', the cgroup's "
         "memory.events, sacct -j JOBID --format=State,ExitCode,MaxRSS, kubectl describe pod."),
    SAYS(aborted_itself, "it aborted; its own last lines show why"),
    SAYS(read_stderr_before_abort,
         "Read that process's stderr just before the abort: an assertion, a C++ exception or a "
         "watchdog."),
    SAYS(mapped_file_without_room, "a mapped file or shared memory had no space left"),
    SAYS(look_at_shm, "Check the size of /dev/shm and of the file system that holds mapped files."),
    SAYS(touched_unmapped_memory, "it accessed unmapped memory"),
    SAYS(illegal_instruction, "its binary has instructions that this processor does not support"),
    SAYS(rebuild_for_processor,
         "Rebuild for the processor of that host, or take hosts of one generation."),
    SAYS(asked_to_stop, "it was asked to stop"),
    SAYS(ask_who_ended_it, "Ask the scheduler or the owner of the job who stopped it."),
    SAYS(own_output_says_why, "its own output shows why"),
    SAYS(collect_stderr_of_process,
         "Collect stderr of that process: torchrun --log-dir DIR -r 3 -t 3 keeps a file for every "
         "rank."),
    SAYS(nothing_was_missing, "no address, library, device, file or permission was missing"),
    SAYS(name_not_found,
         "Start-up failed, not a hardware fault: a host name could not be resolved{}. \"{}\""),
    SAYS(class_and_no_step, "{}, and the job never completed a step"),
    SAYS(setup_failed, "{}: {}{}{}.{}"),
    SAYS(failed_in_setup, "Start-up failed, not a hardware fault"),
    SAYS(environment_failed, "The job's environment failed, not a hardware fault"),
    SAYS(quotation_after, " \"{}\""),
    SAYS(compare_environment,
         "Only {} reports this: compare its environment with another host (`culprit drift -d "
         "incident.db`)."),
    SAYS(nobody_asked_to_stop, "nobody asked the job to stop"),
    SAYS(ended_from_outside,
         "The job was stopped from outside; nothing in its logs had failed before: {}{}. \"{}\""),
    SAYS(collect_record_of_end,
         "the scheduler's or the platform's own record of that time: who stopped the job, and "
         "why"),
    SAYS(timed_out_ends_follow, "ranks timed out: how their processes ended is a consequence"),
    SAYS(no_bad_end, "no process is known to have failed"),
    SAYS(lines_say_more, "the lines printed before the exit code say more than the code"),
    SAYS(rank_and_place, "rank {}{}"),
    SAYS(process_on_host, "a process on {}"),
    SAYS(process_of_job, "a process of the job"),
    SAYS(ended_by_signal, "was ended by {} (exit code {})"),
    SAYS(ended_with_code, "ended with exit code {} and left no traceback"),
    SAYS(process_ended, "{} {}{}: {}."),
    SAYS(collect_stderr_of, "stderr of {}: torchrun --log-dir DIR -r 3 -t 3"),
    SAYS(no_alert_lasted, "no alert that was cleared was active while something failed"),
    SAYS(no_failed_communication, "no rank reports failed communication"),
    SAYS(transient_fault,
         "A transient fault ended the job: {} on {}{}, and it recovered. One alert is below the "
         "tolerance: restart, isolate nothing."),
    SAYS(if_it_comes_back, "If it recurs on {}, that link or part is at fault: {}"),
    SAYS(alert_taken_back, "{} was cleared, and connections failed while it was active"),

    // Slow jobs.
    SAYS(from_iteration_to, "from iteration {} to {}"),
    SAYS(since_iteration, "since iteration {}"),
    SAYS(since_utc, " ({} UTC)"),
    SAYS(between_utc, " ({} to {} UTC)"),
    SAYS(seconds, "{:.3g} s"),
    SAYS(minutes, "{:.0f} min"),
    SAYS(hours, "{:.1f} h"),
    SAYS(gpu_hours, " ({:.3g} GPU-hours)"),
    SAYS(besides_slow, " In addition, steps took {:.2f} times as long {}, {}; that cost {}."),
    SAYS(nobody_stands_out, "without an outlier"),
    SAYS(because_of, "because of {}"),
    SAYS(more_slow_stretches, " {} more: `culprit changepoints`."),
    SAYS(no_step_times, "no log has step times"),
    SAYS(slow_before_failure,
         "Before that the job was slow: steps took {:.2f} times as long {}{}. See `culprit "
         "changepoints -d incident.db`."),
    SAYS(by_place, ", by {}"),
    SAYS(slow_and_over,
         "No failure. Steps took {:.2f} times as long {}, which cost {}; it is over, and "
         "nothing is accused."),
    SAYS(slow_over_nobody,
         "No failure, but the job was slow: steps took {:.2f} times as long {}, which cost {}. "
         "It is over, and no rank is an outlier."),
    SAYS(slow_nobody,
         "The job is slow {}: steps take {:.2f} times as long, which has cost {} so far. No "
         "rank is an outlier: {}."),
    SAYS(collect_stacks_while_slow,
         "py-spy dump of all ranks every 10 s, five times, while it is slow: the rank that is "
         "never in a collective is the slow one"),
    SAYS(collect_step_parts,
         "per-rank step parts (compute, data, communication) as JSON lines, or Megatron's "
         "--log-straggler; GPU clocks and throttle reasons: dcgm-exporter or nvidia-smi dmon -s "
         "pucvmet -o DT on every host"),
    SAYS(slow_settled,
         "No failure. The job was slow {} because of {}, which {}; steps took {:.2f} times as "
         "long, which cost {}. It is over, and the job continued for at least as long and ended "
         "well."),
    SAYS(look_before_next_long_job, "Check {} before the next long job: it slowed this one."),
    SAYS(went_away, "It ended by itself: check {} before the next long job, not now."),
    SAYS(fewer_micro_batches,
         "Until it is repaired, assign less work to the slow worker (--micro-batches: those of "
         "a step):"),
    SAYS(cost_of_waiting, "Cost of waiting compared with acting:"),
    SAYS(was_slow_because_of,
         "The job was slow {} because of {}, which {}. Steps took {:.2f} times as long; that cost "
         "{}. It is over."),
    SAYS(is_slow_because_of,
         "The job is slow {} because of {}, which {}. Steps take {:.2f} times as long; that has "
         "cost {}."),

    // Who waits for whom.
    SAYS(trainer_on_host, "a trainer on {}"),
    SAYS(one_process, "one process"),
    SAYS(operation_of_group, "{}{}"),
    SAYS(a_collective, "a collective"),
    SAYS(of_group, " of {}"),
    SAYS(last_step_told, " The last step in the logs is {}{}."),
    SAYS(is_in, "is in {}"),
    SAYS(one_rank_waits, "one rank waits"),
    SAYS(ranks_wait, "{} ranks wait"),
    SAYS(look_at_hosts,
         "Check {} before the next start: kernel log, free memory, the mounts that its job "
         "reads from, nvidia-smi -q."),
    SAYS(state_t,
         "A process in state T continues only after SIGCONT: find out who stopped it (a "
         "debugger, kill -STOP, job control); kill -CONT PID continues it."),
    SAYS(state_z,
         "A trainer that is dead and not reaped left the reason in its own stderr or in the "
         "kernel log (killed process, segfault); its launcher should have ended the job."),
    SAYS(state_d,
         "A process in state D waits inside the kernel, usually for storage or a driver: "
         "/proc/PID/stack and the kernel log (hung task) of that machine show for what."),
    SAYS(next_time_stacks, "next time, stacks of all ranks while it hangs: {}"),
    SAYS(next_time_recorder,
         "next time, TORCH_FR_BUFFER_SIZE=2000 TORCH_NCCL_DUMP_ON_TIMEOUT=1: the flight "
         "recorder shows which collective a rank never entered"),
    SAYS(next_time_ncclras,
         "next time, ncclras -v while it hangs (NCCL 2.24 and later): which rank launched what, "
         "at once for the whole job"),
    SAYS(no_wait_evidence,
         "no stack, no flight recorder and no counters of collectives in the bundle"),
    SAYS(hung_on_storage, "The job hung on storage, not on a machine: {} hosts wait in {}."),
    SAYS(look_at_storage,
         "Check the file system and its servers first (client log: dmesg | grep -i -e lustre -e "
         "nfs -e ceph; lfs check servers; nfsiostat), then restart from the last checkpoint."),
    SAYS(left_early, "User code, not a machine: {} left while the others still wait for it in {}."),
    SAYS(program_no_machine, "User code, not a machine: {}{}."),
    SAYS(look_at_step_counts,
         "Check what decides how many steps a rank makes: uneven data, a condition on the rank, "
         "an early exit. A restart without a fix will fail again."),
    SAYS(find_the_branch,
         "Find the branch that some ranks take and others do not (a condition on rank, data or "
         "step around a collective), or go back to the last code that ran past this point. A "
         "restart without a fix will fail again."),
    SAYS(collect_distributed_debug,
         "TORCH_DISTRIBUTED_DEBUG=DETAIL for one run: torch then compares every collective before "
         "it starts"),
    SAYS(which_does, ", which {}"),
    SAYS(waited_if_stood_still,
         "If the job hung, it waited for {}{}; nothing else in the bundle confirms it."),
    SAYS(hung_probably_because, "The job hung, probably because of {}: {}{}"),
    SAYS(hung_probably_waited, "The job hung, and the others probably waited for {}{}: {}.{}"),
    SAYS(it_waits_for_nobody, "it waits for no other rank"),
    SAYS(its_data_loader, "its data loader {}"),
    SAYS(it_does, "it {}"),
    SAYS(its_peers_finished, "its peers finished {}"),
    SAYS(it_never_entered, "it never entered {}"),
    SAYS(hung_because_stopped, "The job hung because {} stopped{}: {}{}."),
    SAYS(inside_a_collective, " inside a collective"),
    SAYS(collect_job_json_for_rank,
         "a job.json with hosts in node-rank order, or NCCL_DEBUG=INFO: nothing in the bundle "
         "maps this rank to a host name"),
    SAYS(checks_of_device,
         "dcgmi diag -r 3 and nvidia-smi -q on that machine, and its kernel log from the moment "
         "of the hang: the GPU or its link stopped inside a collective."),
    SAYS(gpu_does_not_finish,
         "Its GPU does not complete what was launched on it: nvidia-smi -q, dcgmi diag -r 3 and "
         "the kernel log (Xid) of that machine; if the same kernel hangs elsewhere too, the "
         "program is at fault."),
    SAYS(stack_says_what,
         "The stack shows what it waited in: if that is a file, check this machine's mount and "
         "the file before it returns to service; if it is user code, a restart elsewhere may "
         "hang again."),
    SAYS(process_stopped_between,
         "Its host process stopped between collectives: a lock, the data, a checkpoint, or the "
         "machine. Its stack would show which."),
    SAYS(group_and_ranks, "{} (ranks {})"),
    SAYS(same_is_true_of, " The same is true of {}."),
    SAYS(hung_on_network_of,
         "The job hung on the network of {}: all {} ranks of {} have entered it and none "
         "completes, and of their machines only {} is an outlier: {}.{}"),
    SAYS(collect_network_state,
         "kernel log, ibstat and ethtool -S of {}: they say which part broke"),
    SAYS(two_reasons, "; "),
    SAYS(one_operation, "one operation"),
    SAYS(hung_inside_machine,
         "{} {} on {}: ranks {} have all entered {} and none completes, and all of them run on "
         "{}.{}"),
    SAYS(it_hung, "The job hung"),
    SAYS(if_it_hung, "If the job hung, it hung"),
    SAYS(inside_one_machine, "inside one machine,"),
    SAYS(inside_single_machines, "inside single machines,"),
    SAYS(hung_on_network, "{} on the network of {}: {}.{}"),
    SAYS(checks_within_machine,
         "On {}: dcgmi diag -r 3, nvidia-smi nvlink -s and -e, nvidia-smi -q, and the kernel log "
         "(Xid, SXid, NVSwitch, PCIe). The group talks over NVLink, NVSwitch or PCIe, so its "
         "network cards are not involved."),
    SAYS(nobody_waits, "no rank is known to wait"),
    SAYS(nothing_collected_of, "{} for {}, of which nothing was collected."),
    SAYS(hung_others_wait, "The job hung; the others wait"),
    SAYS(if_it_waited, "If the job hung, it waited"),
    SAYS(is_machine_alive,
         "Is the machine of {} alive? Its kernel log, stacks and dump decide whether it is the "
         "cause or only its files are missing."),
    SAYS(hung_in_group,
         "The job hung in {}: all {} ranks have entered it and none completes, so one of their "
         "GPUs or links is at fault and nothing shows which.{}{}"),
    SAYS(all_gather_between,
         "Run an all-gather between neighbours of {}, then within each machine; evict what "
         "fails."),
    SAYS(these_ranks, "these ranks"),
    SAYS(waiting_for_it, "; {} for it"),
    SAYS(waiting_for_them, "; {} for them"),
    SAYS(peers_finished, "peers of rank {} finished {}"),
    SAYS(peers_wait_in, "peers of rank {} wait for it in {}"),
};
#undef SAYS
// clang-format on

constexpr bool in_order() {
  for (std::size_t i = 0; i < std::size(kWords); ++i)
    if (static_cast<std::size_t>(kWords[i].phrase) != i) return false;
  return true;
}
static_assert(in_order(), "one line for each phrase, in the order of model/phrases.hpp");

const Words& words_of(Phrase phrase) {
  const auto index = static_cast<std::size_t>(phrase);
  return kWords[index < std::size(kWords) ? index : 0];
}

// "Out of memory" -> "out of memory"; "GPU fell off" and "InfiniBand" keep their capitals.
std::string lower_first(std::string text) {
  static const std::set<std::string> kProperNames{
      "Ceph", "Ethernet", "Gloo", "Horovod", "Kubernetes", "Lustre", "Python", "Ray", "Slurm"};
  const std::string first = text.substr(0, text.find(' '));
  const auto capitals =
      std::count_if(first.begin(), first.end(), [](unsigned char c) { return isupper(c); });
  if (capitals == 1 && isupper(static_cast<unsigned char>(first[0])) && first.size() > 1 &&
      kProperNames.count(first) == 0)
    text[0] = static_cast<char>(tolower(text[0]));
  return text;
}

// "nobody"; "a"; "a, b and c"; "a, b and 4 more".
std::string enumeration(std::vector<std::string> items, std::size_t most) {
  if (items.empty()) return "nobody";
  const std::size_t n = items.size();
  if (n > most) {
    items.resize(most);
    return fmt::format("{} and {} more", fmt::join(items, ", "), n - most);
  }
  if (n == 1) return items[0];
  const std::string last = items.back();
  items.pop_back();
  return fmt::format("{} and {}", fmt::join(items, ", "), last);
}

std::string filled(const Argument& argument) {
  if (const auto* text = std::get_if<Text>(&argument)) return words(*text);
  if (const auto* number = std::get_if<std::int64_t>(&argument)) return std::to_string(*number);
  if (const auto* real = std::get_if<double>(&argument)) return fmt::format("{}", *real);
  return std::get<std::string>(argument);
}

std::string filled(const Clause& clause) {
  const auto& parts = clause.arguments;
  switch (clause.phrase) {
    case Phrase::verbatim: return parts.empty() ? std::string() : filled(parts[0]);
    case Phrase::inside: return parts.empty() ? std::string() : lower_first(filled(parts[0]));
    case Phrase::capital: {
      std::string out = parts.empty() ? std::string() : filled(parts[0]);
      if (!out.empty())
        out[0] = static_cast<char>(std::toupper(static_cast<unsigned char>(out[0])));
      return out;
    }
    case Phrase::list: {
      std::vector<std::string> items;
      for (std::size_t i = 1; i < parts.size(); ++i) items.push_back(filled(parts[i]));
      const auto* most = parts.empty() ? nullptr : std::get_if<std::int64_t>(&parts[0]);
      return enumeration(std::move(items), most == nullptr ? 4 : static_cast<std::size_t>(*most));
    }
    default: break;
  }
  fmt::dynamic_format_arg_store<fmt::format_context> store;
  for (const Argument& part : parts)
    if (const auto* real = std::get_if<double>(&part))
      store.push_back(*real);
    else if (const auto* number = std::get_if<std::int64_t>(&part))
      store.push_back(*number);
    else
      store.push_back(filled(part));
  try {
    return fmt::vformat(words_of(clause.phrase).words, store);
  } catch (const fmt::format_error&) {  // fewer parts than places: the name still says which
    return words_of(clause.phrase).id;
  }
}

}  // namespace

std::string words(const Text& text) {
  std::string out;
  for (const Clause& clause : text.clauses()) out += filled(clause);
  return out;
}

std::string_view id(Phrase phrase) { return words_of(phrase).id; }

std::string_view reason(const Text& text) {
  return text.empty() ? std::string_view() : id(text.clauses().front().phrase);
}

std::size_t phrases() { return std::size(kWords); }

std::size_t places(Phrase phrase) {
  const std::string_view words = words_of(phrase).words;
  return static_cast<std::size_t>(std::count(words.begin(), words.end(), '{'));
}

}  // namespace culprit::report
