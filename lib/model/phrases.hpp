// Everything that a verdict can say, by name. report/phrases.cpp has the words, and says what fills
// the places.
#pragma once

#include "model/text.hpp"

namespace culprit {

// clang-format off
enum class Phrase : std::uint16_t {
  // Forms: text as it is; a list; a title within a sentence; with a capital letter.
  verbatim, list, inside, capital,
  // Shared.
  at_time,
  // The walk.
  ranks_counted, rank_named, hosts_counted, the_job, excluded_candidate, also_showed,
  // Why a candidate cannot have come first.
  job_went_on, few_and_only_warning, no_process_on_host, peers_were_reachable,
  undated_unconfirmed, vague_time_unconfirmed, xid_without_cuda_error, known_consequence,
  after_failed_communication, after_first_failure, over_before_connections_broke,
  after_first_sign,
  // Who cannot talk to whom.
  no_peer_named, first_connection_between, all_gather_with_good_machine, kernel_log_of_both,
  connections_cross_switch, connections_of_host_first, kernel_log_which_part, broke_first_unseen,
  collect_logs_of_host, no_rank_timed_out, rank_in_brackets_on, hung_nothing_collected_of,
  hung_others_timed_out, stacks_of_that_rank, recorder_never_entered, no_distributed_error,
  reports_without_hosts, hosts_report_distributed, nobody_to_compare, few_hosts_report,
  few_reporters,
  // Ends without a fault to name.
  bundle_has_logs, bundle_says_nothing, collect_output_of_ranks, collect_kernel_logs,
  no_line_of_a_job, ranks_were_waiting, process_ended_with, logs_tell_of_failure,
  collectives_unfinished, machine_reports_critical, loss_not_a_number, service_stopped_answering,
  machine_log_reports_fault, failed_communication_exit_0, earlier_run_ended, and_got_to_iteration,
  when_idle, look_first_at, stacks_twice, logs_end_after_iteration, of_planned, logs_end_here,
  dumps_of_one_moment, collect_end_of_output, no_sign_no_proof, no_proof_of_success,
  finished_exit_0, ran_to_its_end, completed_planned_steps, ended_well, no_open_dumps,
  steps_and_no_failure, scheduler_says, dumps_undecided, collect_output_after_dumps,
  scheduler_ended_this_run, no_failure_shown, unfinished_unexplained, no_sign_of_failure,
  no_gpu_throttled, something_ended_job, throttling_explains_no_failure, many_hosts_report,
  gpus_throttled, collect_gpu_state, class_on_place, earlier_run_ended_by_scheduler,
  no_scheduler_word, error_before_scheduler, rank_reports_cuda_error, aborted_undated,
  communication_failed_before_scheduler, aborted_with_scheduler, timed_out_scheduler_undated,
  process_failed_scheduler_undated, time_limit, scheduler_ended_job, no_error_before,
  settings_of_one_host, settings_equal, settings_differ_harmlessly, settings_differ_nothing_broke,
  make_settings_equal, setting_differs_job_ran, reporters_have_majority_settings,
  setting_explains_connections, collect_drift, setting_differs, hung_nobody_named,
  stacks_of_all_while_hanging, recorder_and_ncclras, crashed_no_cause, crashed_nothing_proven,
  request_stop_time_checks, stop_time_checks, trouble_without_cause, collect_host_state,
  collect_kernel_logs_short, collect_nccl_debug, collect_job_json, nothing_else_applies,
  setting_differs_harmlessly,
  // Faults that say so.
  critical_errors_not_first, no_critical_error, all_hosts_of_switch, shared_by_many_hosts,
  fault_of_unnamed_machine, collect_file_with_host, class_without_host, collect_job_json_for_host,
  machines_broke_job, one_machine, several_machines, rest_are_consequences, class_first,
  undated_on_several, undated_faults, no_shared_error_first, same_fault_same_moment,
  a_switch_first, power_cooling_driver, look_at_switch, shared_switch,
  class_on_hosts_within_minutes, service_seen_by_one_host, check_mount_of_host,
  shared_service_failed, seen_by_hosts, class_on_hosts_first, no_resource_ran_out_first,
  shared_file_system_full, of_the_job, ran_out, on_place, two_joined, no_exception_first,
  rank_out_of_gpu_memory, cuda_oom_on_one_rank, at_place, in_brackets, program_failed_on_rank,
  program_failed, program_failed_on_ranks, only_rank_failed_this_way, reduce_memory,
  go_back_or_fix, exception_at_on, unnamed_ranks, no_illegal_access_first,
  illegal_access_everywhere, gpus_counted, find_the_kernel, fault_on_several_gpus,
  one_gpu_again_and_again, field_diagnostic_of_gpu, fault_on_one_gpu_repeated,
  illegal_access_once, checks_of_gpu, one_occurrence, no_crash_first, process_crashed,
  keep_core_dump, class_once, same_crash_on_hosts, debug_the_crash, class_on_hosts,
  no_network_alert, network_alert_without_effect, connections_point_elsewhere,
  links_failed_together, look_at_switch_at, that_moment, many_link_alerts, link_failed,
  link_went_down, link_failed_repeatedly, link_alerts_before, loss_is_a_number,
  gradients_not_numbers, nan_on_all_ranks, first_on_rank, loss_not_a_number_anywhere,
  collect_nan_rank, bitwise_alignment, no_machine_explains, the_program,
  // What was tried before.
  a_closer_look, a_measure, ledger_exhausted, no_attempt_answered_by, got_no_further,
  tried_before, lead_and, machines_were_changed, nothing_left_to_try, hand_over_record,
  collect_before_restart, stop_time_checks_nan, restart_if_checked_nan, restart_if_checked,
  rollback_nan, rollback_code, dual_phase_replay, replay_command_without_hosts,
  pipeline_stages_unknown, next_is, title_on_place, what_shows_now, evicted_one_after_another,
  but_what_they_share, test_what_they_share, test_common_settings, isolating_that_not_tried,
  rebooted_before, take_out_for_repair, evicting_not_tried, after_attempts, did_not_leave_with_it,
  repaired_before, keep_out_test_offline, came_back_without_cure, evicted_and_in_job_again,
  evicted_and_fails_again, evicted_same_answer, evicted_not_the_others, no_rollback_tried,
  rollback_unknown_progress, rolled_back_before, at_the_same_place, fix_before_start,
  failure_unknown, names_a_machine, not_slow_before, slow_before_nothing_found, relieved_before,
  next_checks_of_it, take_out_and_check, next_restart_elsewhere, restart_in_other_place,
  repair_before_return, take_out_and_repair, next_checkpoint_restart, checkpoint_restart,
  no_repair_tried, repair_again, test_before_start, earlier_attempts, no_retry, tried_after,
  before_this_run, was, were, two_sentences, next_are_rungs, next_is_rung, so_next_are_rungs,
  so_next_is_rung, because_next_is, lead_next_is, evicted_hardly_the_machine, was_evicted_then,
  were_evicted_then, was_to_be_evicted, were_to_be_evicted, kind_and_id, it,
  // Leads.
  rank_on_host, quotation, title_and_quotation, first_known_trouble, also_look_at,
  // The record of attempts.
  attempt_got_further, this_run, advice_to, to_run_checks, to_roll_back, to_collect_more,
  an_eviction, left_the_job, was_evicted, a_reboot, was_rebooted, a_repair, was_repaired,
  more_was_collected, slow_worker_relieved, was_relieved, checks_all_passed,
  checks_not_all_passed, started_again, another_version, a_rollback, a_replay, something_else,
  past_failure, to_iteration, run_ended_by_scheduler, run_ended_well, then_tried, after_space,
  after_comma, to_version, checks_done, stopped,
  // Set-up and how processes ended.
  signal_numbered, killed_by_somebody, find_sender_of_sigkill, aborted_itself,
  read_stderr_before_abort, mapped_file_without_room, look_at_shm, touched_unmapped_memory,
  illegal_instruction, rebuild_for_processor, asked_to_stop, ask_who_ended_it,
  own_output_says_why, collect_stderr_of_process, nothing_was_missing, name_not_found,
  class_and_no_step, setup_failed, failed_in_setup, environment_failed, quotation_after,
  compare_environment, nobody_asked_to_stop, ended_from_outside, collect_record_of_end,
  timed_out_ends_follow, no_bad_end, lines_say_more, rank_and_place, process_on_host,
  process_of_job, ended_by_signal, ended_with_code, process_ended, collect_stderr_of,
  no_alert_lasted, no_failed_communication, transient_fault, if_it_comes_back, alert_taken_back,
  // Slow jobs.
  from_iteration_to, since_iteration, since_utc, between_utc, seconds, minutes, hours, gpu_hours,
  besides_slow, nobody_stands_out, because_of, more_slow_stretches, no_step_times,
  slow_before_failure, by_place, slow_and_over, slow_over_nobody, slow_nobody,
  collect_stacks_while_slow, collect_step_parts, slow_settled, look_before_next_long_job,
  went_away, fewer_micro_batches, cost_of_waiting, was_slow_because_of, is_slow_because_of,
  // Who waits for whom.
  trainer_on_host, one_process, operation_of_group, a_collective, of_group, last_step_told, is_in,
  one_rank_waits, ranks_wait, look_at_hosts, state_t, state_z, state_d, next_time_stacks,
  next_time_recorder, next_time_ncclras, no_wait_evidence, hung_on_storage, look_at_storage,
  left_early, program_no_machine, look_at_step_counts, find_the_branch, collect_distributed_debug,
  which_does, waited_if_stood_still, hung_probably_because, hung_probably_waited,
  it_waits_for_nobody, its_data_loader, it_does, its_peers_finished, it_never_entered,
  hung_because_stopped, inside_a_collective, collect_job_json_for_rank, checks_of_device,
  gpu_does_not_finish, stack_says_what, process_stopped_between, group_and_ranks, same_is_true_of,
  hung_on_network_of, collect_network_state, two_reasons, one_operation, hung_inside_machine,
  it_hung, if_it_hung, inside_one_machine, inside_single_machines, hung_on_network,
  checks_within_machine, nobody_waits, nothing_collected_of, hung_others_wait, if_it_waited,
  is_machine_alive, hung_in_group, all_gather_between, these_ranks, waiting_for_it,
  waiting_for_them, peers_finished, peers_wait_in,
};
// clang-format on

}  // namespace culprit
