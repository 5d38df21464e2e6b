// A job that did not fail but was slow: whom to relieve, or that it is over.
#include <algorithm>
#include <cmath>
#include <set>

#include "decide/slow_part.hpp"
#include "model/ascii.hpp"
#include "model/confidence.hpp"
#include "model/contains.hpp"
#include "model/number.hpp"
#include "model/phrases.hpp"
#include "model/sort.hpp"
#include "rules/step_parts.hpp"

namespace culprit::decide {

namespace {

// "2026-11-21 03:19:38": a person reads whole seconds.
std::string clock_text(Nanoseconds time) {
  std::string out = iso_utc(time - ((time % kSecond) + kSecond) % kSecond);
  out[10] = ' ';
  return out.substr(0, 19);
}

Text lasted(const Finding& f) {
  const SlowFacts& slow = slow_of(f);
  Text out = slow.over ? say(Phrase::from_iteration_to, slow.first, slow.last)
                       : say(Phrase::since_iteration, slow.first);
  if (!f.start) return out;
  const std::string begin = clock_text(*f.start), end = f.end ? clock_text(*f.end) : std::string();
  if (!slow.over || !f.end) return out + say(Phrase::since_utc, begin);
  return out + say(Phrase::between_utc, begin,
                   begin.substr(0, 10) == end.substr(0, 10) ? end.substr(11) : end);
}

Text price(const Finding& f) {
  const double seconds = slow_of(f).cost_s, hours = slow_of(f).gpu_hours.value_or(0);
  Text out = seconds < 120    ? say(Phrase::seconds, seconds)
             : seconds < 7200 ? say(Phrase::minutes, seconds / 60)
                              : say(Phrase::hours, seconds / 3600);
  if (hours >= 0.05) out += say(Phrase::gpu_hours, hours);
  return out;
}

Text outlier_name(const Finding& f) {
  if (f.subject.kind == SubjectKind::rank)
    return say(Phrase::rank_and_place, f.subject.id,
               f.host ? say(Phrase::on_place, *f.host) : Text());
  return f.subject.id;
}

// The slow stretches that the verdict is not about, the dearest first: a second cause is not to be
// lost behind the first.
Text besides(std::span<const Finding* const> slow) {
  constexpr std::size_t most = 2;
  Text out;
  for (std::size_t i = 1; i < std::min(slow.size(), most + 1); ++i) {
    const Finding& f = *slow[i];
    out += say(Phrase::besides_slow, slow_of(f).factor, lasted(f),
               f.subject.kind == SubjectKind::job ? say(Phrase::nobody_stands_out)
                                                  : say(Phrase::because_of, outlier_name(f)),
               price(f));
  }
  if (slow.size() > most + 1) out += say(Phrase::more_slow_stretches, slow.size() - most - 1);
  return out;
}

// The job ended well and ran on after the slow stretch for at least as long as that lasted: there
// is nothing to relieve.
bool settled(const Walk& w, const Finding& f) {
  const SlowFacts& slow = slow_of(f);
  return ended_well(w) && w.incident.last_iteration &&
         *w.incident.last_iteration - slow.last >= slow.last - slow.first;
}

// Stretches of the whole job that ended, one after the other: there will be more.
bool comes_again(const Walk& w) {
  constexpr std::ptrdiff_t kHabit = 3;
  return std::ranges::count_if(w.incident.findings, [](const Finding& f) {
           return f.fired(Analysis::slow) && f.subject.kind == SubjectKind::job && slow_of(f).over;
         }) >= kHabit;
}

// A machine whose own hardware holds it down is exchanged; for another the job goes on meanwhile,
// and what to do has a price.
Action relief(const Finding& f) {
  const SlowFacts& slow = slow_of(f);
  return slow.of_part && !slow.over && f.host && f.confidence >= confidence::kLeastToIsolate
             ? Action::isolate
             : Action::mitigate;
}

// What somebody runs beside the job on the machine that is late; null: nothing is known.
const Finding* beside_job_on(const Walk& w, const Finding& slow) {
  if (!slow.host || slow_of(slow).over) return nullptr;
  for (const Finding& f : w.incident.findings) {
    const auto* setting = std::get_if<SettingFacts>(&f.facts);
    if (f.fired(Analysis::drift) && setting != nullptr &&
        f.hosts == std::vector<Host>{*slow.host} && setting->beside_job)
      return &f;
  }
  return nullptr;
}

// Other programs than on the other machines run there, and fill its processors: it is taken from
// them, or from the job.
bool crowded(const Walk& w, const Finding& slow) {
  if (!slow.host || slow_of(slow).over) return false;
  const auto on_it = [&](const Finding& f) {
    return f.hosts == std::vector<Host>{*slow.host} || f.host == slow.host;
  };
  bool programs = false, load = false;
  for (const Finding& f : w.incident.findings) {
    if (!f.fired() || !on_it(f)) continue;
    const auto* setting = std::get_if<SettingFacts>(&f.facts);
    programs =
        programs || f.traits.has(Trait::beside_job) || (setting != nullptr && setting->programs);
    load = load || (f.analysis == Analysis::outliers && f.symptom == Symptom::cpu_overload);
  }
  return programs && load;
}

// Somebody keeps the job slow, or did: what relieves it.
Answer slow_because_of(Walk& w, const Finding& f, std::span<const Finding* const> slow) {
  Verdict& v = w.verdict;
  const double factor = slow_of(f).factor;
  const bool over = slow_of(f).over;
  const bool hardware = slow_of(f).hardware.value_or(false);
  const Finding* beside = beside_job_on(w, f);
  // On several machines it is the site's, and set back there.
  v.action = slow_of(f).by_limit && !f.host ? Action::repair : relief(f);
  if (v.action == Action::mitigate && beside != nullptr) v.action = Action::repair;
  if (v.action == Action::mitigate && crowded(w, f)) v.action = Action::isolate;
  v.precision = f.ranks.size() > 1 && f.subject.kind != SubjectKind::host ? Precision::group
                                                                          : Precision::exact;
  std::vector<std::string> because{f.id};
  for (const std::string& id : f.leads_to)
    if (because.size() < 5) because.push_back(id);
  if (f.host && f.subject.kind == SubjectKind::host)
    target(v, {SubjectKind::host, *f.host}, f.confidence, because);
  const bool machines = !f.host && f.hosts.size() > 1 && hardware;
  for (const Host& host : f.hosts)
    if (machines) target(v, {SubjectKind::host, host}, f.confidence, because);
  if (!machines) target(v, f.subject, f.confidence, because);
  if (f.host) target(v, {SubjectKind::host, *f.host}, f.confidence, because);
  v.summary = say(over ? Phrase::was_slow_because_of : Phrase::is_slow_because_of, lasted(f),
                  outlier_name(f), say(machines ? Phrase::each_of_which : Phrase::which),
                  slow_of(f).reason, factor, price(f));
  v.summary += besides(slow);
  if (!f.advice.empty()) next(v, NextKind::plan, f.advice);
  if (v.action == Action::isolate) drain(w, *f.host, kSlowsJob);
  if (over)
    next(v, NextKind::plan, say(Phrase::went_away, f.host ? Text(*f.host) : outlier_name(f)));
  else {
    // Less work for one replica means more for another: it takes two.
    if (w.incident.dp.value_or(1) > 1) {
      next(v, NextKind::plan, say(Phrase::fewer_micro_batches));
      next(v, NextKind::command, std::string("culprit plan microbatch -d incident.db"));
    }
    next(v, NextKind::plan, say(Phrase::cost_of_waiting));
    next(v, NextKind::command, std::string("culprit plan mitigate -d incident.db"));
  }
  return taken(f.why);
}

// Settings that one host alone has, and that make a job slower, and what its kernel says of such a
// device; all of the same host. What was compared on all hosts and is far below says more than a
// line of another's kernel, which has no device of others beside it.
std::vector<const Finding*> slower_settings(const Walk& w) {
  std::vector<const Finding*> out, said;
  for (const Finding& f : w.incident.findings) {
    if (!f.fired() || f.hosts.empty()) continue;
    if (const auto* setting = std::get_if<SettingFacts>(&f.facts); setting != nullptr)
      if (setting->slows) out.push_back(&f);
    if (f.analysis == Analysis::classify && f.traits.has(Trait::below_rate) && f.hosts.size() == 1)
      said.push_back(&f);
  }
  // Of a device before one of the software that drives it.
  std::ranges::stable_sort(out, [](const Finding* a, const Finding* b) {
    return std::get<SettingFacts>(a->facts).device > std::get<SettingFacts>(b->facts).device;
  });
  const bool measured = !out.empty() && std::get<SettingFacts>(out.front()->facts).device &&
                        std::get<SettingFacts>(out.front()->facts).far_below;
  for (const Finding* f : said)
    if (!measured || f->hosts.front() == out.front()->hosts.front()) out.push_back(f);
  for (const Finding* f : out)
    if (f->hosts.front() != out.front()->hosts.front()) return {};
  return out;
}

// A slow link makes it longer, or what stands for all of a step.
bool uses_links(const std::string& grown) {
  const rules::StepPart part = rules::part_named(grown);
  return part == rules::StepPart::none || part == rules::StepPart::communication ||
         part == rules::StepPart::compute;
}

// What else says that this host is slow, or that the job is: its metrics, its steps. A stretch that
// began in mid-run or is over has another reason than a setting; a link may train down at any time,
// and its kernel says so without a date.
struct Agreement {
  std::vector<std::string> because;
  const Finding* steps = nullptr;  // what the steps say of this host
  bool contradicted = false;
};
Agreement agreement(const Walk& w, const Host& host, bool trains_down) {
  Agreement out;
  for (const Finding& f : w.incident.findings) {
    if (!f.fired()) continue;
    const bool own =
        f.host == host || contains(f.hosts, host) || f.subject.id.rfind(host + "/", 0) == 0;
    if (f.analysis == Analysis::outliers && own && out.because.size() < 4)
      out.because.push_back(f.id);
    if (f.analysis != Analysis::slow || slow_of(f).transient) continue;
    const bool named = f.subject.kind != SubjectKind::job && !slow_of(f).event_only;
    const bool later = !named && !slow_of(f).from_start;
    // Else it may be here; of several machines this is no more than one.
    const bool elsewhere = named && ((!own && (f.host || !f.hosts.empty())) || f.hosts.size() > 1);
    if (elsewhere || (!named && slow_of(f).over) ||
        (later && !(trains_down && uses_links(slow_of(f).grown)))) {
      out.contradicted = true;
    } else {
      out.because.push_back(f.id);
      if (named && own && out.steps == nullptr) out.steps = &f;
    }
  }
  return out;
}

// Links train down at any time, to a half and less, and boards lower their clocks. Another
// machine's kernel would say the same of its own devices, and so would its tools; a setting is
// compared with those of other hosts. A line that only bears out another takes nothing from it.
bool trained_down_alone(const Walk& w, std::span<const Finding* const> odd) {
  const auto borne_out = [](const Finding* one) {
    return !std::holds_alternative<SettingFacts>(one->facts) && one->role == Role::confirmation;
  };
  return !std::ranges::all_of(odd, borne_out) && std::ranges::all_of(odd, [&](const Finding* one) {
    const auto* setting = std::get_if<SettingFacts>(&one->facts);
    if (setting != nullptr) return setting->device && setting->far_below;
    const Holdings& holds = w.incident.holds;
    const auto& asked = one->origin == Origin::kernel ? holds.kernel_logs : holds.device_readings;
    // Tools of the network list the links of all machines.
    if (one->traits.has(Trait::below_rate) && one->traits.has(Trait::of_network)) return true;
    return borne_out(one) || (one->traits.has(Trait::below_rate) && one->role == Role::root &&
                              !one->start && asked.size() > 1);
  });
}

// A part that came up below its rate is exchanged, whether or not steps tell of it; a setting is
// set back, and what somebody runs on the job's GPUs is stopped; where nothing else tells of that,
// the job goes on meanwhile.
Action relief_of_setting(const Finding& f, bool proven) {
  const auto* setting = std::get_if<SettingFacts>(&f.facts);  // null: what the machine says of it
  if (setting != nullptr && setting->beside_job)
    return setting->device && proven ? Action::repair : Action::mitigate;
  const bool part = setting == nullptr || setting->of_part();
  if (part) return proven ? Action::isolate : Action::checks;
  return Action::repair;
}

// One host alone has a slower setting.
std::optional<Answer> slow_setting(Walk& w) {
  const std::vector<const Finding*> odd = slower_settings(w);
  if (odd.empty()) return std::nullopt;
  const Finding& f = *odd.front();
  const Host& host = f.hosts.front();
  const auto* setting = std::get_if<SettingFacts>(&f.facts);  // null: its kernel's word
  if (!std::ranges::all_of(f.hosts, [&](const Host& one) { return w.incident.of_job(one); }))
    return std::nullopt;
  const bool trained_down = trained_down_alone(w, odd);
  const Agreement others = agreement(w, host, trained_down);
  if (ended_well(w) || others.contradicted) {
    next(w.verdict, NextKind::plan, f.advice);
    return std::nullopt;
  }
  std::vector<std::string> because = ids(odd);
  for (const std::string& id : others.because)
    if (because.size() < 6) because.push_back(id);
  Verdict& v = w.verdict;
  // Two settings agree; two lines of one kernel are one witness.
  const auto settings = std::ranges::count_if(
      odd, [](const Finding* one) { return std::holds_alternative<SettingFacts>(one->facts); });
  const bool sure = !others.because.empty() || settings > 1;
  const double confidence = sure           ? confidence::kSettingSlows
                            : trained_down ? confidence::kTrainedDown
                                           : confidence::kSettingMaySlow;
  act(v, relief_of_setting(f, sure || trained_down),
      sure || trained_down ? Precision::exact : Precision::candidates, Symptom::mfu_decline);
  for (const Host& one : f.hosts) target(v, {SubjectKind::host, one}, confidence, because);
  target(v, f.subject, confidence, {f.id});
  v.summary = setting == nullptr
                  ? say(sure ? Phrase::host_has_slower_device : Phrase::host_may_have_slower_device,
                        host, inside(f.title))
                  : say(f.hosts.size() > 1 ? (sure ? Phrase::hosts_have_slower_setting
                                                   : Phrase::hosts_may_have_slower_setting)
                        : sure             ? Phrase::host_has_slower_setting
                                           : Phrase::host_may_have_slower_setting,
                        list(f.hosts), setting->label, setting->value);
  if (others.steps != nullptr)
    v.summary += say(Phrase::and_its_steps, outlier_name(*others.steps),
                     slow_of(*others.steps).reason, slow_of(*others.steps).factor);
  if (v.action == Action::isolate) drain(w, host, kSlowsJob);
  if (!sure && !trained_down) check(v, {host});
  for (const Finding* one : odd)
    if (!one->advice.empty()) next(v, NextKind::plan, one->advice);
  return taken(f.why);
}

// Of work requests that take longer, and their ends: machines that are an end of each, when there
// is one, else all of them (Aegis section 5.2: as RootDiag of algorithm 1).
std::optional<Answer> slow_requests(Walk& w) {
  std::vector<const Finding*> slow;
  for (const Finding& f : w.incident.findings) {
    if (f.fired(Analysis::slow) && !slow_of(f).transient &&
        (f.subject.kind != SubjectKind::job || slow_of(f).over))
      return std::nullopt;
    if (f.event_class == "slow_requests" && f.fired()) slow.push_back(&f);
  }
  if (slow.empty() || ended_well(w)) return std::nullopt;
  std::set<Host> all, common(slow.front()->hosts.begin(), slow.front()->hosts.end());
  std::vector<std::string> sources;
  for (const Finding* f : slow) {
    all.insert(f->hosts.begin(), f->hosts.end());
    std::erase_if(common, [&](const Host& host) { return !contains(f->hosts, host); });
    sources.push_back("rank " + f->subject.id);
  }
  Verdict& v = w.verdict;
  const bool one = common.size() == 1 && slow.size() > 1 && all.size() > 2;
  const std::set<Host>& ends = one ? common : all;
  act(v, Action::checks, Precision::candidates, Symptom::mfu_decline);
  const double confidence = slow.front()->confidence;
  for (const Host& host : ends)
    if (v.targets.size() < 8)
      target(v, {SubjectKind::host, host}, confidence / static_cast<double>(ends.size()),
             ids(slow));
  for (const Finding* f : slow)
    if (v.targets.size() < 8)
      target(v, f->subject, confidence / static_cast<double>(slow.size()), {f->id});
  v.summary = say(Phrase::slow_on_requests, list(sources), slow.front()->why,
                  one ? std::string(*common.begin()) : std::string());
  check(v, {ends.begin(), ends.end()});
  next(v, NextKind::plan,
       say(Phrase::test_network_of, ends.empty() ? say(Phrase::these_ranks) : list(ends)));
  return taken(slow.front()->why);
}

// What the job says again and again of what it writes to, while its saves are long.
const Finding* trouble_with_saves(const Walk& w, const Finding& saves) {
  constexpr std::uint64_t kOften = 3;
  const Finding* out = nullptr;
  for (const Finding& f : w.incident.findings) {
    if (f.analysis != Analysis::classify || f.hearsay || f.count < kOften || !f.start ||
        !rules::made_longer_by(rules::StepPart::checkpoint, f.symptom) ||
        (f.outcome != Outcome::fired && !line_of(f).steps_after))
      continue;
    if ((saves.start && f.end.value_or(*f.start) < *saves.start) ||
        (saves.end && *f.start > *saves.end))
      continue;
    if (out == nullptr || f.count > out->count) out = &f;
  }
  return out;
}

// Only the saves of checkpoints became longer: what they are written to is slow.
std::optional<Answer> slow_saves(Walk& w) {
  const auto saves = std::ranges::find_if(
      w.incident.findings, [](const Finding& f) { return f.fired(Analysis::saves); });
  if (saves == w.incident.findings.end() || ended_well(w)) return std::nullopt;
  Verdict& v = w.verdict;
  if (slow_of(*saves).grown.empty()) {
    // Evaluation, a suspension, an operator: nothing tells what it waited for.
    act(v, Action::investigate, Precision::candidates, saves->symptom);
    v.summary = say(Phrase::stands_between_steps, saves->why, price(*saves));
    next(v, NextKind::collect, say(Phrase::collect_stacks_in_pause));
    return taken(saves->why);
  }
  const std::vector<Host>& servers = w.incident.storage_servers;
  // That a job saves often is no fault of the server, unless it tells of one.
  const bool often = slow_of(*saves).share > 0;
  const auto tells_of_trouble = [&](const Finding& f) {
    return f.fired(Analysis::classify) && f.severity >= Severity::warning &&
           f.host == servers.front();
  };
  const bool named =
      servers.size() == 1 && (!often || std::ranges::any_of(w.incident.findings, tells_of_trouble));
  const Finding* trouble = trouble_with_saves(w, *saves);
  act(v, named || trouble != nullptr ? Action::repair : Action::mitigate,
      named ? Precision::exact : Precision::candidates, saves->symptom);
  if (named) target(v, {SubjectKind::host, servers.front()}, saves->confidence, {saves->id});
  target(v, {SubjectKind::storage, "checkpoints"}, saves->confidence, {saves->id});
  v.summary = say(Phrase::slow_by_saves, saves->why, price(*saves),
                  named ? std::string(servers.front()) : std::string());
  if (trouble != nullptr) {
    v.targets.back().because.push_back(trouble->id);
    v.summary += say(Phrase::in_the_same_time, inside(trouble->title)) + in_its_words(*trouble);
    if (!trouble->advice.empty()) next(v, NextKind::plan, trouble->advice);
  }
  next(v, NextKind::plan, rules::relief(rules::StepPart::checkpoint));
  return taken(saves->why);
}

// Of a pipeline, where embedding and head stand: ranks between its ends have what others have.
bool at_an_end(const Walk& w, const Finding& f) {
  const std::size_t ranks = std::max(w.incident.ranks, slow_of(f).compared);
  return f.ranks.empty() || number_of(f.ranks.front()) == 0 ||
         static_cast<std::size_t>(number_of(f.ranks.back())) + 1 >= ranks;
}

// What makes the job faster where no machine is in its way; empty where nothing but one may be.
Text relief_of(const std::string& grown) {
  if (grown == kUnequalLoad) return say(Phrase::even_out_load);
  return rules::relief(rules::part_named(grown));
}

// Work that is unequal all the time may be unequal by design (a stage of a pipeline, the first
// rank, other jobs): without a second witness it is where to look, and accuses nobody. No design
// gives all ranks of one machine twice as much to do as all others have, none half as much more
// where there are no stages, and none any more to a machine in the middle.
std::optional<Answer> unequal_by_design(Walk& w, const Finding& f) {
  constexpr double kMore = 1.15, kOneOfMany = 1.5;
  constexpr std::size_t kMany = 8;
  // A design gives the same to several of many, but for the first and the last.
  const bool one_of_many =
      slow_of(f).compared >= kMany && slow_of(f).work_ratio >= kOneOfMany &&
      (f.subject.kind == SubjectKind::host || (f.ranks.size() == 1 && !at_an_end(w, f)));
  if (one_of_many) return std::nullopt;
  const double by_no_design = w.incident.pp == 1 ? 1.5 : 2.0;
  if (!slow_of(f).against_peers || slow_of(f).hardware.value_or(false) ||
      f.subject.kind == SubjectKind::job)
    return std::nullopt;
  if (f.subject.kind == SubjectKind::host &&
      ((slow_of(f).factor >= by_no_design && w.incident.pp.value_or(1) == 1) ||
       (slow_of(f).factor >= kMore && !at_an_end(w, f))))
    return std::nullopt;
  next(w.verdict, NextKind::plan,
       say(Phrase::works_while_others_wait, outlier_name(f), slow_of(f).reason));
  return not_enough(f.why);
}

// Its steps are as they should be, and its start took long.
std::optional<Answer> slow_start(Walk& w) {
  const auto start = std::ranges::find_if(
      w.incident.findings, [](const Finding& f) { return f.fired(Analysis::slow_start); });
  if (start == w.incident.findings.end() || ended_well(w)) return std::nullopt;
  const auto reason = std::ranges::find_if(w.incident.findings, [](const Finding& f) {
    return f.fired() && !f.hearsay && f.traits.has(Trait::delays_start);
  });
  const bool known = reason != w.incident.findings.end();
  Verdict& v = w.verdict;
  act(v, known ? Action::repair : Action::mitigate, Precision::exact, start->symptom);
  v.start = start->start;
  target(v, start->subject, start->confidence, {start->id});
  v.summary = say(Phrase::start_was_slow, inside(start->title), start->why);
  if (known) {
    target(v, {SubjectKind::config, reason->event_class}, start->confidence, {reason->id});
    v.summary += say(Phrase::start_waited_for, inside(reason->title), in_its_words(*reason));
    if (!reason->advice.empty()) next(v, NextKind::plan, reason->advice);
  }
  next(v, NextKind::plan, start->advice);
  return taken(start->title);
}

// What makes a job slow that did not fail, where more than its steps tell of it.
std::optional<Answer> slow_for_a_cause(Walk& w, std::span<const Finding* const> slow) {
  if (auto answer = slow_in_tests(w)) return answer;
  if (auto answer = slow_setting(w)) return answer;
  if (auto answer = slow_requests(w)) return answer;
  if (auto answer = slow_by_neighbour(w)) return answer;
  if (auto answer = slow_for_known_reason(w, slow)) return answer;
  if (!slow.empty()) return std::nullopt;
  if (auto answer = slow_saves(w)) return answer;
  return slow_start(w);
}

// It was somebody, and is over for as long as it lasted.
Answer slow_and_settled(Walk& w, const Finding& f, std::span<const Finding* const> slow) {
  Verdict& v = w.verdict;
  v.action = Action::none;
  v.precision = f.ranks.size() > 1 && f.subject.kind != SubjectKind::host ? Precision::group
                                                                          : Precision::exact;
  v.summary = say(Phrase::slow_settled, lasted(f), outlier_name(f), slow_of(f).reason,
                  slow_of(f).factor, price(f));
  v.summary += besides(slow);
  target(v, f.subject, f.confidence, {f.id});
  next(v, NextKind::plan,
       say(Phrase::look_before_next_long_job, f.host ? Text(*f.host) : outlier_name(f)));
  return taken(f.why);
}

// A setting that was changed to that distance: "600" of ten minutes, "50" of as many steps.
const Finding* set_to_period(const Walk& w, double period, bool clock) {
  constexpr double kNear = 0.08;
  static constexpr std::string_view kDistances[] = {"interval", "period", "every", "freq", "cron"};
  for (const Finding& f : w.incident.findings) {
    const auto* change = std::get_if<ChangeFacts>(&f.facts);
    double value = 0;
    if (change == nullptr || !parse_whole(change->after, value)) continue;
    const std::string name = lower(change->name);
    if (std::ranges::none_of(kDistances,
                             [&](std::string_view word) { return contains(name, word); }))
      continue;
    // A count of steps is no time.
    if (clock && (contains(name, "step") || contains(name, "iter") || contains(name, "log") ||
                  contains(name, "save")))
      continue;
    for (const double unit : {1.0, 60.0})
      if ((unit == 1 || (clock && contains(name, "min"))) &&
          std::abs(value * unit - period) <= kNear * period)
        return &f;
  }
  return nullptr;
}

// What is said to slow jobs down on a machine of the job, each time that the steps are slow:
// shortly before, and at no other time while they are.
const Finding* comes_each_time(const Walk& w, const Finding& slow) {
  constexpr double kBefore = 0.15, kBehind = 0.1, kMost = 0.8, kOnce = 0.2;
  constexpr std::size_t kFewest = 3;
  const double period = slow_of(slow).period;
  if (!slow.start || !slow.end) return nullptr;
  const auto seconds = [&](Nanoseconds t) {
    return static_cast<double>(t - *slow.start) / static_cast<double>(kSecond);
  };
  for (const Finding& f : w.incident.findings) {
    if (!f.traits.has(Trait::may_slow) || f.analysis != Analysis::classify || f.hearsay ||
        (!f.hosts.empty() &&
         std::ranges::none_of(f.hosts, [&](const Host& host) { return w.incident.of_job(host); })))
      continue;
    std::size_t times = 0, met = 0;
    std::optional<double> last;
    for (const Nanoseconds t : line_of(f).times) {
      const double at = seconds(t);
      if (at < -kBefore * period || t > *slow.end + static_cast<Nanoseconds>(period * 1e9))
        continue;
      if (last && at - *last < kOnce * period) continue;
      last = at;
      ++times;
      const double off = at - std::round(at / period) * period;
      met += off >= -kBefore * period && off <= kBehind * period;
    }
    if (times >= kFewest && static_cast<double>(met) >= kMost * static_cast<double>(times))
      return &f;
  }
  return nullptr;
}

// Slow now and again, at equal distances.
Answer slow_in_rhythm(Walk& w, const Finding& f) {
  Verdict& v = w.verdict;
  if (ended_well(w)) return ruled_out(f.why);
  const bool clock = slow_of(f).rhythm == SlowRhythm::clock;
  v.action = Action::mitigate;
  v.precision = Precision::candidates;
  v.summary =
      say(Phrase::slow_in_rhythm, f.why, price(f), clock ? std::string("timer") : std::string());
  if (const Finding* change = set_to_period(w, slow_of(f).period, clock)) {
    // What runs beside the job is the site's, what the program does itself its configuration's.
    v.action = clock ? Action::repair : Action::rollback;
    target(v, change->subject, confidence::kSettingChanged, {change->id, f.id});
    v.summary += say(Phrase::set_to_that_distance, change->why);
    next(v, NextKind::plan, say(Phrase::take_change_back, change->subject.id));
    return taken(f.why);
  }
  if (const Finding* what = clock ? comes_each_time(w, f) : nullptr) {
    v.action = Action::repair;
    target(v, {SubjectKind::config, what->event_class}, what->confidence, {what->id, f.id});
    v.summary += say(Phrase::in_the_same_time, inside(what->title)) + in_its_words(*what);
    next(v, NextKind::plan, what->advice);
    return taken(f.why);
  }
  target(v, {SubjectKind::job, "job"}, f.confidence, {f.id});
  next(v, NextKind::plan, say(clock ? Phrase::find_the_timer : Phrase::find_the_interval));
  return taken(f.why);
}

// Slower with every step since its start.
Answer slow_and_growing(Walk& w, const Finding& f) {
  Verdict& v = w.verdict;
  if (slow_of(f).grows == 1 && ended_well(w)) return ruled_out(f.why);
  const bool again = slow_of(f).grows > 1;
  act(v, again ? Action::rollback : Action::mitigate, Precision::candidates, Symptom::mfu_decline);
  v.summary = say(Phrase::slow_and_growing, f.why, price(f), again ? 1 : 2);
  target(v, {SubjectKind::code, "the program"}, f.confidence, {f.id});
  next(v, NextKind::plan, say(Phrase::find_what_is_kept));
  next(v, NextKind::plan, say(Phrase::restart_meanwhile));
  return taken(f.why);
}

// Of a spell that is over and left no trace: it may come again.
constexpr double kMuchLostS = 15 * 60;

// What each step was given to do, a stretch that is over, or a pause: nothing is to be relieved,
// but what was at fault for all.
std::optional<Answer> planned_or_over(Walk& w, const Finding& f) {
  Verdict& v = w.verdict;
  if (slow_of(f).more_work) {
    v.action = Action::none;
    v.symptom = Symptom::none;
    v.summary = say(Phrase::steps_do_more, lasted(f), slow_of(f).factor);
    return taken(f.why);
  }
  if (slow_of(f).over && f.subject.kind == SubjectKind::job &&
      (measured_around(w, f) || !ended_well(w)))
    if (auto answer = slow_for_all(w, f, lasted(f), price(f))) return answer;
  if (slow_of(f).stall) {
    v.action = Action::none;
    v.symptom = Symptom::none;
    v.summary = say(Phrase::stood_and_went_on, f.why);
    next(v, NextKind::collect, say(Phrase::collect_of_stall));
    return taken(f.why);
  }
  if (slow_of(f).transient &&
      ((slow_of(f).cost_s < kMuchLostS && !comes_again(w)) || ended_well(w))) {
    v.action = Action::none;
    v.symptom = Symptom::none;
    v.summary = say(Phrase::slow_and_over, slow_of(f).factor, lasted(f), price(f));
    return taken(f.why);
  }
  return std::nullopt;
}

}  // namespace

std::vector<const Finding*> slow_stretches(const Walk& w) {
  constexpr double kComparable = 0.3;  // of the dearest
  std::vector<const Finding*> out;
  for (const Finding& f : w.incident.findings)
    if (f.fired(Analysis::slow)) out.push_back(&f);
  sort_by(out, [](const Finding* f) { return -slow_of(*f).cost_s; });
  // Nobody measured around the dearest, but around one that is nearly as dear.
  const auto told = std::ranges::find_if(out, [&](const Finding* f) {
    return f->subject.kind == SubjectKind::job && measured_around(w, *f) &&
           slow_of(*f).cost_s >= kComparable * slow_of(*out.front()).cost_s;
  });
  if (told != out.end() && out.front()->subject.kind == SubjectKind::job)
    std::rotate(out.begin(), told, told + 1);
  return out;
}

// Whoever ends a job that is slow answers that, as with one that stands.
const Finding* slow_until_word(const Walk& w, const Finding& word) {
  constexpr Nanoseconds kBefore = kMinute, kAfter = 15 * kMinute;
  if (!word.start || !word.traits.has(Trait::scheduler_ended) ||
      word.traits.has_any({Trait::time_limit, Trait::preempted}) ||
      (w.best() != nullptr && w.best()->kind != CauseKind::outside))
    return nullptr;
  for (const Finding& f : w.incident.findings)
    if (f.fired() && f.role == Role::cascade && f.start && *f.start < *word.start - kBefore)
      return nullptr;
  // Steps without times are slow to the end of their log, which is when it was ended.
  const auto ended = [&](const Finding& f) {
    return f.end ? *word.start > *f.end - kBefore && *word.start < *f.end + kAfter : !f.start;
  };
  for (const Finding& f : w.incident.findings)
    if (f.fired(Analysis::slow) && !slow_of(f).over && !slow_of(f).transient && ended(f)) return &f;
  return nullptr;
}

Answer slow_job(Walk& w) {
  const std::vector<const Finding*> slow = slow_stretches(w);
  const Text failed = failure(w, Unplaced::left_out);
  // A pause hides nothing of what else is slow.
  std::vector<const Finding*> longer = slow;
  std::erase_if(longer, [](const Finding* f) { return slow_of(*f).stall; });
  // Nothing failed but for whoever ended it because it was slow.
  const bool only_slow =
      failed.empty() || std::ranges::any_of(w.incident.findings, [&](const Finding& word) {
        return scheduler_word(word) && slow_until_word(w, word) != nullptr;
      });
  if (only_slow)
    if (auto answer = slow_for_a_cause(w, longer)) return *std::move(answer);
  if (slow.empty()) {
    const auto other = std::ranges::find(w.incident.findings, Analysis::slow, &Finding::analysis);
    if (other == w.incident.findings.end()) return not_enough(say(Phrase::no_step_times));
    return {other->outcome == Outcome::ruled_out ? StepOutcome::ruled_out
                                                 : StepOutcome::not_enough_evidence,
            other->why};
  }
  const Finding& f = *slow.front();
  const double factor = slow_of(f).factor;
  Verdict& v = w.verdict;
  if (!only_slow) {
    if (!slow_of(f).stall)
      next(v, NextKind::plan,
           say(Phrase::slow_before_failure, factor, lasted(f),
               f.subject.kind == SubjectKind::job ? Text()
                                                  : say(Phrase::by_place, outlier_name(f))));
    return ruled_out(failed);
  }
  if (const auto answer = unequal_by_design(w, f)) return *answer;
  v.start = f.start;
  v.end = f.end;
  v.symptom = f.symptom;
  const bool over = slow_of(f).over;
  if (auto answer = planned_or_over(w, f)) return *std::move(answer);
  if (slow_of(f).rhythm != SlowRhythm::none) return slow_in_rhythm(w, f);
  if (slow_of(f).grows > 0) return slow_and_growing(w, f);
  if (f.subject.kind == SubjectKind::job) {
    if (!over)
      if (auto answer = slow_for_all(w, f, lasted(f), price(f))) return *std::move(answer);
    const Text relief = relief_of(slow_of(f).grown);
    // What made a part of the step longer for all, for so long, comes again: backups, scrubs.
    // A good part of the time that nobody explains is not done with, unless the job ended well.
    constexpr double kMuch = 0.2;
    const bool little =
        slow_of(f).share < kMuch && slow_of(f).cost_s < kMuchLostS && !comes_again(w);
    const Text bubble = bubble_of(w);
    const bool done =
        over && (relief.empty() || settled(w, f)) && (little || ended_well(w) || !bubble.empty());
    act(v,
        done             ? Action::none
        : relief.empty() ? Action::investigate
                         : Action::mitigate,
        Precision::candidates);
    v.summary = done ? say(Phrase::slow_over_nobody, factor, lasted(f), price(f))
                     : say(relief.empty() ? Phrase::slow_not_enough : Phrase::slow_nobody,
                           lasted(f), factor, price(f), f.why);
    v.summary += besides(slow) + bubble;
    if (v.action == Action::mitigate) {
      next(v, NextKind::plan, relief);
      return taken(f.why);
    }
    if (!w.incident.has_stacks) next(v, NextKind::collect, say(Phrase::collect_stacks_while_slow));
    next(v, NextKind::collect, say(Phrase::collect_step_parts));
    return taken(f.why);
  }
  if (over && settled(w, f)) return slow_and_settled(w, f, slow);
  return slow_because_of(w, f, slow);
}

}  // namespace culprit::decide
