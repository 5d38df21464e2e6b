// The one table of reasons why a candidate cannot have caused the failure.
#include "decide/admission.hpp"

#include <algorithm>
#include <cstdlib>
#include <map>

#include "decide/candidate.hpp"
#include "model/phrases.hpp"

namespace culprit::decide {

namespace {

using Why = std::optional<Text>;

bool corroborated(const Setting& s, const Finding& f, CauseKind kind) {
  return s.witnesses.corroborate(f, kind);
}

// ---- What the job lived with

// What the job prints from its beginning on, for hours, is how it runs and not what ended it.
Why lived_with(const Setting& s, const Finding& f, CauseKind) {
  const auto& consequence = s.moments.first_consequence;
  if (f.origin != Origin::any || !f.start || !s.incident.job_start || !consequence)
    return std::nullopt;
  const auto* line = std::get_if<LineFacts>(&f.facts);
  if (line == nullptr || line->speaker != Speaker::job) return std::nullopt;
  // Which it did where it made steps, or printed it again: waiting for an hour is no life.
  const Nanoseconds printed = std::min(f.end.value_or(*f.start), *consequence);
  const Nanoseconds alive = s.incident.last_progress ? std::max(*s.incident.last_progress, printed)
                            : s.incident.last_iteration > 0 ? *consequence
                                                            : printed;
  const Nanoseconds before = *f.start - *s.incident.job_start;
  const Nanoseconds after = alive - *f.start - f.uncertainty;
  if (after < s.params.lived_with || before > (before + after) / 10) return std::nullopt;
  return say(Phrase::job_lived_with_it, human_duration(after));
}

Why few_warn(const Setting& s, const Finding& f, CauseKind) {
  // A switch is asked alone how it is set up.
  if (f.severity != Severity::warning ||
      (f.subject.kind == SubjectKind::network_switch && f.traits.has(Trait::lasting)) ||
      (f.hosts.size() >= 2 && static_cast<double>(f.hosts.size()) >=
                                  s.params.shared_hosts * static_cast<double>(s.incident.hosts)))
    return std::nullopt;
  return say(Phrase::few_and_only_warning, std::max<std::size_t>(1, f.hosts.size()),
             s.incident.hosts);
}

// What it leads to was met by another machine that turned to this one.
bool met_by_others(const Setting& s, const Finding& f) {
  return f.hosts.size() == 1 && std::ranges::any_of(s.incident.findings, [&](const Finding& g) {
           return g.fired(Analysis::classify) && leads_to(f, g.event_class) && g.host &&
                  *g.host != f.hosts.front() && line_of(g).peer.value_or("") == f.hosts.front();
         });
}

// The bridge of a container engine has the same address on every machine: one alone may use it.
Why on_one_only(const Setting& s, const Finding& f, CauseKind) {
  if (!f.traits.has(Trait::of_several) || f.hosts.size() >= 2 || met_by_others(s, f))
    return std::nullopt;
  return say(Phrase::fault_of_several_only);
}

// ---- Whose it is

// It may be the node of a pod that itself reports a fault of its machine.
bool ran_a_pod(const Setting& s, const Host& host) {
  return std::ranges::binary_search(s.incident.nodes_of_pods, host) &&
         std::ranges::any_of(s.incident.findings, [&](const Finding& f) {
           return f.fired(Analysis::classify) && f.severity == Severity::critical && f.host &&
                  kind_of(f) == CauseKind::machine &&
                  std::ranges::binary_search(s.incident.pods, *f.host);
         });
}

// Nobody gives a job a node that was drained a day before anything else failed, on any node: where
// it is not known on which nodes the job ran, that one is none of them.
bool drained_long_before(const Setting& s, const Finding& f) {
  if (!s.incident.job_hosts.empty() || !f.start || s.incident.last_progress) return false;
  bool others = false;
  for (const Finding& g : s.incident.findings) {
    if (!g.fired(Analysis::classify) || g.severity != Severity::critical || !g.start) continue;
    if (*g.start < *f.start + kDay) return false;
    others = true;
  }
  return others;
}

// What machines report on which no process of the job ran has no part in it.
Why of_no_process(const Setting& s, const Finding& f, CauseKind kind) {
  if (of_machine(f, kind) && f.host && !s.incident.of_job(*f.host) && !ran_a_pod(s, *f.host))
    return say(Phrase::no_process_on_host, *f.host);
  if (f.traits.has(Trait::node_drained) && !f.hosts.empty() &&
      (drained_long_before(s, f) ||
       std::ranges::none_of(f.hosts, [&](const Host& host) { return s.incident.of_job(host); })))
    return say(Phrase::no_process_on_host, list(f.hosts));
  return std::nullopt;
}

Why of_storage_server(const Setting& s, const Finding& f, CauseKind kind) {
  if (!of_machine(f, kind) || !f.host || !s.machines.serves_storage(*f.host)) return std::nullopt;
  return say(Phrase::serves_storage, *f.host);
}

Why of_other_gpu(const Setting& s, const Finding& f, CauseKind) {
  if (!s.machines.of_other_gpu(f)) return std::nullopt;
  return say(Phrase::gpu_of_no_rank);
}

Why from_elsewhere(const Setting& s, const Finding& f, CauseKind kind) {
  if (!of_machine(f, kind) || !s.machines.named_from_elsewhere_only(f)) return std::nullopt;
  return say(Phrase::named_from_elsewhere_only, *f.host);
}

// A switch is set up in a way that may hurt, and the job tells of nothing that this leads to.
Why setting_unfelt(const Setting& s, const Finding& f, CauseKind) {
  if (f.start || !f.traits.has(Trait::lasting) || f.subject.kind != SubjectKind::network_switch ||
      std::ranges::any_of(s.incident.findings, [&](const Finding& g) {
        return g.fired(Analysis::classify) && leads_to(f, g.event_class);
      }))
    return std::nullopt;
  return say(Phrase::undated_unconfirmed);
}

// ---- What belongs to a beginning

// To its peers a host that died looks like one that was never reached, and what is asked for when a
// job begins was there in one that made steps: here it is a consequence.
Why of_a_beginning(const Setting& s, const Finding& f, CauseKind) {
  if (!f.traits.has(Trait::setup_only) || s.moments.fails_new_start(f) ||
      (s.incident.last_iteration.value_or(0) <= 0 && !s.incident.last_progress))
    return std::nullopt;
  return say(Phrase::peers_were_reachable);
}

// Clocks are set when a machine starts; a job that begins later never sees it.
Why of_a_boot(const Setting& s, const Finding& f, CauseKind) {
  if (!f.traits.has(Trait::clock_set) ||
      (f.start && s.incident.job_start && *f.start + f.uncertainty > *s.incident.job_start))
    return std::nullopt;
  return say(Phrase::before_job_began);
}

// ---- What nothing places

Why memory_elsewhere(const Setting& s, const Finding& f, CauseKind) {
  const auto at_the_end = [&] {  // the machine itself reports it when others began to notice
    const auto& consequence = s.moments.first_consequence;
    return f.origin == Origin::kernel && f.start && consequence &&
           std::abs(*consequence - *f.start) <= s.params.same_moment;
  };
  if (s.memory == nullptr || (!s.memory->start && at_the_end()) ||
      f.hosts.size() >= s.memory->hosts.size() || came_before(f, *s.memory))
    return std::nullopt;
  return say(Phrase::ranks_elsewhere_out_of_memory, s.memory->hosts.size());
}

Why undated(const Setting& s, const Finding& f, CauseKind kind) {
  if (f.start || corroborated(s, f, kind)) return std::nullopt;
  return say(Phrase::undated_unconfirmed);
}

// Its clock is so uncertain that it may stand on either side of the first failure.
Why vague(const Setting& s, const Finding& f, CauseKind kind) {
  const auto& consequence = s.moments.first_consequence;
  if (!f.start || f.uncertainty <= s.params.order_slack || !consequence ||
      *f.start + f.uncertainty <= *consequence || *f.start - f.uncertainty > *consequence ||
      corroborated(s, f, kind))
    return std::nullopt;
  return say(Phrase::vague_time_unconfirmed, human_duration(f.uncertainty));
}

// A machine that restarted without a word went at some time between two of its lines: a failure
// elsewhere that has its moment within them, while steps still came, may have been the first. What
// others print once the steps have stopped may be about that machine.
Why gone_unseen(const Setting& s, const Finding& f, CauseKind kind) {
  const auto& last = s.incident.last_progress;
  if (!f.traits.has(Trait::restarted) || !f.start || !f.end || !last || corroborated(s, f, kind))
    return std::nullopt;
  const bool other = std::ranges::any_of(s.incident.findings, [&](const Finding& o) {
    const auto would_be = kind_of(o);
    return o.fired() && o.role == Role::root && o.origin == Origin::any && would_be &&
           *would_be != CauseKind::network && o.start && *o.start >= *f.start &&
           *o.start <= std::min(*f.end, *last) && o.host != f.host;
  });
  if (!other) return std::nullopt;
  return say(Phrase::vague_time_unconfirmed, human_duration(*f.end - *f.start));
}

// The kernel ended a process, and no moment of the job is known in which it can have been missed.
Why foreign_unplaced(const Setting& s, const Finding& f, CauseKind kind) {
  if (!of_foreign_process(f) || s.moments.first_consequence || corroborated(s, f, kind))
    return std::nullopt;
  return say(Phrase::undated_unconfirmed);
}

// Nor where the connections that broke first, some time after, are those of another machine.
Why foreign_elsewhere(const Setting& s, const Finding& f, CauseKind kind) {
  const auto& consequence = s.moments.first_consequence;
  if (!of_foreign_process(f) || !s.broken.name_another(f) || !consequence || !f.end ||
      *f.end + f.uncertainty + s.params.kill_noticed >= *consequence || corroborated(s, f, kind))
    return std::nullopt;
  return say(Phrase::foreign_process_elsewhere);
}

// A job counts steps and shows no failure, and the machines' logs go on for more than a day behind
// it.
bool over_for_days(const Setting& s, const Finding& f) {
  const Case& c = s.incident;
  const auto& end = f.end ? f.end : f.start;
  return c.last_iteration.value_or(0) > 0 && end && c.last_word && *end + kDay < *c.last_word &&
         s.all_left_with_0;
}

// A process that no rank is known to be crashed, days before the machine's log ends.
bool another_crash(const Setting& s, const Finding& f, CauseKind kind) {
  return kind == CauseKind::crash && f.ranks.empty() && f.host && over_for_days(s, f);
}

// The machine's own log has a time, and nothing that the job printed: before, during, after? What
// the job itself says of its end is then the better answer. Memory runs out for any program.
Why without_story(const Setting& s, const Finding& f, CauseKind kind) {
  const Case& c = s.incident;
  const bool of_a_machine =
      (of_machine(f, kind) && f.origin != Origin::any) || another_crash(s, f, kind);
  if (!of_a_machine || !f.start || s.moments.first_consequence || c.job_end || c.job_start ||
      c.last_progress)
    return std::nullopt;
  const bool no_part = over_for_days(s, f) || (kind == CauseKind::resource && s.broken.any) ||
                       s.broken.job_names_root || s.broken.name_another(f);
  const bool explained_elsewhere =
      std::ranges::any_of(s.explained, [&](const Host& host) { return host != f.host; });
  const bool outlived =
      over_for_days(s, f) && s.slow_to_the_end && !s.broken.any && !s.witnesses.cuda_error;
  if (!explained_elsewhere && !outlived && (corroborated(s, f, kind) || !no_part))
    return std::nullopt;
  return say(Phrase::job_without_times);
}

// Xid 13 and 31 are printed for any process that errs on the machine: they concern the job when it
// reports a CUDA error, or when they fall into its last moments.
Why xid_of_any_process(const Setting& s, const Finding& f, CauseKind) {
  const auto& consequence = s.moments.first_consequence;
  if (!f.traits.has(Trait::gpu_xid) || !s.incident.any_training_output || s.witnesses.cuda_error ||
      (f.start && consequence && std::abs(*consequence - *f.start) < s.params.same_moment))
    return std::nullopt;
  return say(Phrase::xid_without_cuda_error);
}

// ---- What was over

// How far a time of the scheduler may be from one of a machine for their zones alone.
Nanoseconds widest_zone(const Setting& s) {
  return s.incident.mixed_clocks ? s.params.farthest_zone : 0;
}

// The first sign of the failure; where nothing dates one, the next step line was due and never
// came.
std::optional<Nanoseconds> sign_of_failure(const Setting& s) {
  const auto& last = s.incident.last_progress;
  const auto sign = s.first_sign();
  return sign || !last ? sign : std::optional(*last + s.incident.step_line_interval);
}

// How far the clock of a machine's fault would be ahead of the job's for the fault to stand right
// before the failure, where nothing tells the zone of either and that is what zones differ by.
std::optional<Nanoseconds> in_another_zone(const Setting& s, const Finding& f) {
  constexpr Nanoseconds kStep = 30 * kMinute;
  const Nanoseconds lead = s.params.zone_lead;
  const auto sign = sign_of_failure(s);
  if (!s.incident.zone_guessed || f.origin == Origin::any || !f.start || !sign) return std::nullopt;
  const Nanoseconds apart = *f.start - *sign;
  const Nanoseconds whole =
      (apart + lead + (apart > 0 ? 0 : -kStep + 1)) / kStep * kStep;  // rounded down
  if (whole == 0 || std::abs(whole) > s.params.farthest_zone || apart - whole > 0)
    return std::nullopt;
  return whole;
}

// Over for so long before the job ended that it explains the end only if the job ran then, of which
// nothing tells.
std::optional<Nanoseconds> long_before(const Setting& s, const Finding& f) {
  const Case& c = s.incident;
  auto sign = s.moments.first_consequence ? s.moments.first_consequence : c.job_end;
  if (!sign && s.moments.scheduler_spoke) sign = *s.moments.scheduler_spoke - widest_zone(s);
  if (!f.end || !sign || c.last_progress ||
      *f.end + f.uncertainty + s.params.long_before >= *sign ||
      (c.job_start && *c.job_start <= *f.end + f.uncertainty))
    return std::nullopt;
  return *sign - *f.end;
}

// A setting stays, and the job lives with it for a while: until buffers are full or the first large
// packet is sent.
bool still_in_force(const Setting& s, const Finding& f) {
  constexpr Nanoseconds kLivedWith = 30 * kMinute;
  const Finding* consequence = s.moments.consequence;
  return f.traits.has(Trait::lasting) && f.end && consequence != nullptr &&
         leads_to(f, consequence->event_class) && *s.incident.last_progress - *f.end <= kLivedWith;
}

// Steps without a number are no sign that it passed.
Why ran_on(const Setting& s, const Finding& f, CauseKind kind) {
  if (!s.moments.went_on(f) || (kind == CauseKind::numerics && s.incident.ended_not_a_number))
    return std::nullopt;
  if (steps_after(f)) return say(Phrase::steps_after_it);
  if (in_another_zone(s, f) || still_in_force(s, f)) return std::nullopt;
  return say(Phrase::job_went_on, human_duration(*s.incident.last_progress - *f.end));
}

Why behind_in_another_zone(const Setting& s, const Finding& f, CauseKind kind) {
  if (!(long_before(s, f) || s.moments.went_on(f)) || corroborated(s, f, kind)) return std::nullopt;
  const auto ahead = in_another_zone(s, f);
  if (!ahead) return std::nullopt;
  return say(Phrase::before_failure_in_zone_behind,
             human_duration(*sign_of_failure(s) + *ahead - *f.start), human_duration(-*ahead));
}

Why over_long_before(const Setting& s, const Finding& f, CauseKind kind) {
  const auto before = long_before(s, f);
  if (!before || corroborated(s, f, kind) || in_another_zone(s, f)) return std::nullopt;
  return say(Phrase::long_before_the_end, human_duration(*before));
}

// The kernel ended a process at once; whoever waits for it notices within its time-out.
Why foreign_long_before(const Setting& s, const Finding& f, CauseKind kind) {
  const auto& consequence = s.moments.first_consequence;
  if (!of_foreign_process(f) || !consequence || !f.end ||
      *f.end + f.uncertainty + s.params.longest_timeout >= *consequence || corroborated(s, f, kind))
    return std::nullopt;
  return say(Phrase::long_before_the_end, human_duration(*consequence - *f.end));
}

// ---- What came later

// A decision without a time, and what it leads to has one: before anything failed.
bool asked_before(const Setting& s, const Finding& f) {
  const auto& cascade = s.moments.first_cascade;
  const auto& findings = s.incident.findings;
  return cascade && std::ranges::any_of(findings, [&](const Finding& other) {
           return kind_of(other) == CauseKind::outside && other.start &&
                  leads_to(f, other.event_class) && *other.start + other.uncertainty < *cascade;
         });
}

// Whoever is asked to stop after others broke down is being cleaned up.
Why asked_in_clean_up(const Setting& s, const Finding& f, CauseKind) {
  const auto& cascade = s.moments.first_cascade;
  if (f.start ? !cascade || *f.start + f.uncertainty < *cascade
              : !s.broken.any || asked_before(s, f))
    return std::nullopt;
  return say(Phrase::after_failed_communication);
}

// The first moment that the log of the job gives to a trouble behind its last step: it lived until
// then.
std::optional<Nanoseconds> first_word_behind_steps(const Setting& s) {
  const auto& last = s.incident.last_step;
  std::optional<Nanoseconds> out;
  for (const Finding& f : s.incident.findings)
    if (last && f.fired() && f.start && (!out || *f.start < *out) &&
        std::ranges::any_of(f.evidence, [&](const Evidence& e) {
          return e.member == last->member && e.line > last->line;
        }))
      out = *f.start - widest_zone(s);
  return out;
}

Why asked_long_before(const Setting& s, const Finding& f, CauseKind) {
  auto sign = s.moments.first_consequence;
  if (!sign) sign = first_word_behind_steps(s);
  if (!f.end || !sign || *f.end + f.uncertainty + kHour >= *sign) return std::nullopt;
  return say(Phrase::long_before_the_end, human_duration(*sign - *f.end));
}

// Behind the word in the log a job made steps, or it is of a job's beginning: of another start.
bool begins_anew(const Setting& s, const Finding& f, const Finding& word) {
  const auto& last = s.incident.last_step;
  return f.traits.has_any({Trait::setup_only, Trait::rendezvous}) ||
         (last && std::ranges::any_of(word.evidence, [&](const Evidence& e) {
            return e.member == last->member && e.line < last->line;
          }));
}

// All of it stands behind the word in the word's log.
bool behind_in_log(const Finding& word, const Finding& f) {
  return !f.evidence.empty() && std::ranges::all_of(f.evidence, [&](const Evidence& e) {
    return std::ranges::any_of(
        word.evidence, [&](const Evidence& w) { return w.member == e.member && w.line < e.line; });
  });
}

// A machine's undated word for a crash that the job itself prints behind the word.
bool crashed_behind(const Setting& s, const Finding& f, const Finding& word) {
  if (f.start || kind_of(f) != CauseKind::crash) return false;
  bool any = false;
  for (const Finding& other : s.incident.findings) {
    if (&other == &f || !other.fired() || kind_of(other) != CauseKind::crash) continue;
    const auto* line = std::get_if<LineFacts>(&other.facts);
    if (line == nullptr || line->speaker != Speaker::job) continue;
    if (!behind_in_log(word, other)) return false;
    any = true;
  }
  return any;
}

Why started_again(const Setting& s, const Finding& word, CauseKind) {
  const Finding* failed = s.moments.new_start_after(word);
  if (failed == nullptr) return std::nullopt;
  return say(Phrase::started_again_and_failed, human_duration(*failed->start - *word.start),
             failed->event_class);
}

// Somebody had asked the job to stop before this came up: as the log in which both stand has them
// in order, or by clocks that leave no doubt. What processes print while they are ended is no
// cause.
Why asked_to_stop_before(const Setting& s, const Finding& f, CauseKind kind) {
  constexpr Nanoseconds kClear = 2 * kSecond;
  // A machine breaks whenever it does; what its processes say of it is theirs.
  const auto* line = std::get_if<LineFacts>(&f.facts);
  if (kind == CauseKind::machine && (line == nullptr || line->speaker != Speaker::job))
    return std::nullopt;
  const auto said_before = [&](const Finding& asked) {
    // In another file the word must be that of whoever runs the job.
    const bool of_scheduler =
        asked.traits.has_any({Trait::scheduler_ended, Trait::preempted, Trait::time_limit});
    const bool crash = kind == CauseKind::crash;
    if (!f.start)
      return ((crash || of_scheduler) && behind_in_log(asked, f) && !begins_anew(s, f, asked)) ||
             (crash && crashed_behind(s, f, asked));
    if (s.moments.fails_new_start(f, asked)) return false;
    return (of_scheduler && *asked.start + asked.uncertainty + kClear < *f.start - f.uncertainty) ||
           (*asked.start <= *f.start && behind_in_log(asked, f));
  };
  for (const Finding& asked : s.incident.findings)
    if (&asked != &f && asked.fired() && !asked.hearsay && kind_of(asked) == CauseKind::outside &&
        asked.start && !asked_in_clean_up(s, asked, CauseKind::outside) &&
        !asked_long_before(s, asked, CauseKind::outside) && said_before(asked))
      return say(Phrase::after_it_was_asked_to_stop, asked.event_class);
  return std::nullopt;
}

// The scheduler had ended the job by then, and it did not go on.
Why behind_the_word(const Setting& s, const Finding& f, CauseKind kind) {
  const auto& word = s.moments.scheduler_spoke;
  const auto goes_on = [&](const std::optional<Nanoseconds>& sign) {
    return sign && *sign > *word + kMinute;
  };
  if (!f.start || f.origin == Origin::any || !word || corroborated(s, f, kind) ||
      *f.start - f.uncertainty - kMinute - widest_zone(s) <= *word ||
      zones_apart(*f.start, *word) || goes_on(s.moments.first_consequence) ||
      goes_on(s.incident.last_progress))
    return std::nullopt;
  return say(Phrase::after_the_scheduler, human_duration(*f.start - *word));
}

// Before the first step hosts wait for each other with retries of their own: who prints first says
// nothing of who lacks the setting that all of them then miss.
bool explains_set_up(const Setting& s, const Finding& f, CauseKind kind) {
  return kind == CauseKind::environment && !s.incident.last_progress && !s.first.is_cause &&
         s.moments.consequence != nullptr && leads_to(f, s.moments.consequence->event_class);
}

bool later(const Setting& s, const Finding& f, CauseKind kind) {
  const Nanoseconds slack = explains_set_up(s, f, kind) ? s.params.set_up_retries
                            : !s.first.is_cause && s.broken.noticed_late(f) ? s.params.polling
                                                                            : s.params.order_slack;
  return f.start && s.first.at &&
         *f.start - f.uncertainty - s.first.uncertainty - slack > *s.first.at;
}

Why after_first_sign(const Setting& s, const Finding& f, CauseKind kind) {
  if (!later(s, f, kind) || in_another_zone(s, f) || s.moments.fails_new_start(f))
    return std::nullopt;
  return say(s.first.is_cause ? Phrase::after_first_failure : Phrase::after_first_sign,
             human_duration(*f.start - *s.first.at));
}

Why ahead_in_another_zone(const Setting& s, const Finding& f, CauseKind kind) {
  if (!later(s, f, kind)) return std::nullopt;
  const auto ahead = in_another_zone(s, f);
  if (!ahead || corroborated(s, f, kind)) return std::nullopt;
  return say(Phrase::before_failure_in_zone, human_duration(*s.first.at + *ahead - *f.start),
             human_duration(*ahead));
}

// Who waits says so when its time-out ends: where the job stood until then, connections broke when
// it made its last step.
Why over_before_broken(const Setting& s, const Finding& f, CauseKind) {
  const auto& consequence = s.moments.first_consequence;
  const auto& last = s.incident.last_progress;
  if (!f.start || !consequence) return std::nullopt;
  const bool stood = last && *consequence - *last >= s.params.standstill;
  const Nanoseconds before = (stood ? *last : *consequence) - f.end.value_or(*f.start);
  if (before <= s.params.network_lead) return std::nullopt;
  return say(Phrase::over_before_connections_broke, human_duration(before));
}

Why unrelated(const Setting& s, const Finding& f, CauseKind) { return s.surroundings.unrelated(f); }

constexpr KindSet kAll = KindSet::all();
constexpr KindSet kOfMachines{CauseKind::machine, CauseKind::network, CauseKind::resource,
                              CauseKind::environment};

constexpr Objection kToOne[] = {
    {"is what machines print all day, or what the job does not speak of", Exclusion::surroundings,
     kAll, unrelated},
    {"was followed by completed steps", Exclusion::ran_on, kAll, ran_on},
    {"was printed from the job's beginning on, for an hour and more",
     Exclusion::ran_on,
     {CauseKind::shared, CauseKind::resource, CauseKind::environment},
     lived_with},
    {"is a warning, and few hosts report it", Exclusion::too_few, {CauseKind::shared}, few_warn},
    {"is a fault only where several machines have it, and one has",
     Exclusion::too_few,
     {CauseKind::environment},
     on_one_only},
    {"is of a machine on which no process of the job ran", Exclusion::not_of_job, kAll,
     of_no_process},
    {"is a setting of a switch, and the job tells of nothing that it leads to",
     Exclusion::unplaced,
     {CauseKind::shared},
     setting_unfelt},
    {"is of a server of storage", Exclusion::not_of_job, kOfMachines, of_storage_server},
    {"is asked when a job begins, and this one made steps",
     Exclusion::after_failure,
     {CauseKind::environment},
     of_a_beginning},
    {"happens as machines start, before the job", Exclusion::over_before, kAll, of_a_boot},
    {"is of a GPU that no rank of the job had", Exclusion::not_of_job, kAll, of_other_gpu},
    {"came behind ranks that ran out of GPU memory elsewhere",
     Exclusion::unplaced,
     {CauseKind::machine},
     memory_elsewhere},
    {"is of a machine that only a book of the cluster names", Exclusion::unplaced, kOfMachines,
     from_elsewhere},
    {"has no time, and no second source", Exclusion::unplaced, kAll, undated},
    {"may stand on either side of the failure, and has no second source", Exclusion::unplaced, kAll,
     vague},
    {"went at a time that nobody saw, and a failure elsewhere has its moment",
     Exclusion::unplaced,
     {CauseKind::machine},
     gone_unseen},
    {"fits only if its clock is of another zone", Exclusion::unplaced, kAll,
     behind_in_another_zone},
    {"was over hours before the job ended", Exclusion::over_before, kAll, over_long_before},
    {"was over an hour before the failure",
     Exclusion::over_before,
     {CauseKind::outside},
     asked_long_before},
    {"ended a process that need not be of the job, at no known moment of it",
     Exclusion::unplaced,
     {CauseKind::resource},
     foreign_unplaced},
    {"ended a process that need not be of the job, and connections broke first elsewhere",
     Exclusion::unplaced,
     {CauseKind::resource},
     foreign_elsewhere},
    {"ended another process longer ago than any time-out",
     Exclusion::over_before,
     {CauseKind::resource},
     foreign_long_before},
    {"has a time, and nothing of the job has one",
     Exclusion::unplaced,
     {CauseKind::machine, CauseKind::network, CauseKind::resource, CauseKind::environment,
      CauseKind::crash},
     without_story},
    {"is printed for any process, and no rank reports a CUDA error",
     Exclusion::unplaced,
     {CauseKind::device_or_program},
     xid_of_any_process},
};

constexpr Objection kToOrder[] = {
    {"asked processes to stop after others had broken down",
     Exclusion::after_failure,
     {CauseKind::outside},
     asked_in_clean_up},
    {"ended a run, after which the job was started again and failed",
     Exclusion::over_before,
     {CauseKind::outside},
     started_again},
    {"came up while processes were being stopped from outside",
     Exclusion::after_failure,
     {CauseKind::program, CauseKind::device_or_program, CauseKind::crash, CauseKind::environment,
      CauseKind::network, CauseKind::machine},
     asked_to_stop_before},
    {"came after the scheduler had ended the job", Exclusion::after_failure, kAll, behind_the_word},
    {"came after the first failure", Exclusion::after_failure, kAll, after_first_sign},
    {"fits only if its clock is ahead by another zone", Exclusion::unplaced, kAll,
     ahead_in_another_zone},
    {"was over before connections broke",
     Exclusion::over_before,
     {CauseKind::network},
     over_before_broken},
};

// Its last steps are slow: it is looked at because it goes on.
bool slow_at_its_end(const Case& c) {
  return std::ranges::any_of(c.findings, [](const Finding& f) {
    const auto* slow = std::get_if<SlowFacts>(&f.facts);
    return f.fired(Analysis::slow) && slow != nullptr && !slow->over;
  });
}

}  // namespace

Setting::Setting(const Case& c, const DecideParams& p)
    : incident(c),
      params(p),
      moments(c, p),
      broken(c),
      witnesses(c, broken),
      machines(c, p),
      surroundings(c, p, moments.first_consequence),
      all_left_with_0(std::ranges::all_of(c.exits, [](const ExitFact& x) { return x.code == 0; })),
      slow_to_the_end(slow_at_its_end(c)) {
  for (const Finding& f : c.findings)
    if (f.fired() && out_of_gpu_memory(f) && f.hosts.size() > 1 && !moments.went_on(f) &&
        (memory == nullptr || came_before(f, *memory)))
      memory = &f;
  std::map<Host, std::vector<const Finding*>> of_one;
  for (const Finding& f : c.findings)
    if (f.fired() && f.hosts.size() == 1) of_one[f.hosts.front()].push_back(&f);
  for (const auto& [host, all] : of_one)
    for (const Finding* f : all)
      if (kind_of(*f) == CauseKind::environment && !f->leads_to.empty() &&
          std::ranges::any_of(all, [&](const Finding* effect) {
            return kind_of(*effect) == CauseKind::environment && leads_to(*f, effect->event_class);
          })) {
        explained.insert(host);
        break;
      }
}

std::vector<ReasonAgainst> reasons_against() {
  std::vector<ReasonAgainst> out;
  for (const std::span<const Objection> table : {objections_to_one(), objections_to_order()})
    for (const Objection& one : table) out.push_back({one.says, cost_of(one.reason), one.kinds});
  return out;
}

int cost_of(Exclusion reason) {
  switch (reason) {
    case Exclusion::unplaced: return 12;
    case Exclusion::too_few: return 14;
    case Exclusion::after_failure: return 20;
    case Exclusion::over_before: return 20;
    case Exclusion::led_to: return 16;
    case Exclusion::surroundings: return 24;
    case Exclusion::ran_on: return 30;
    case Exclusion::not_of_job: return 40;
  }
  return 40;
}

std::span<const Objection> objections_to_one() { return kToOne; }
std::span<const Objection> objections_to_order() { return kToOrder; }

std::vector<Against> against(const Setting& s, std::span<const Objection> table, const Finding& f,
                             CauseKind kind, bool all) {
  std::vector<Against> out;
  for (const Objection& one : table) {
    if (!all && !out.empty()) break;
    if (one.kinds.has(kind))
      if (auto why = one.fits(s, f, kind)) out.push_back({one.reason, std::move(*why)});
  }
  return out;
}

}  // namespace culprit::decide
