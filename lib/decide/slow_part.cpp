#include "decide/slow_part.hpp"

#include <algorithm>
#include <set>

#include "decide/candidate.hpp"
#include "decide/storage_servers.hpp"
#include "model/confidence.hpp"
#include "model/sort.hpp"
#include "rules/step_parts.hpp"

namespace culprit::decide {

namespace {

// Whether it came with the slow stretch: not less often than thrice as at other times.
bool came_with(const Walk& w, const Finding& f, const Finding& slow) {
  constexpr double kOften = 3;
  const Nanoseconds from = *slow.start - w.params.same_moment, to = *slow.end;
  const bool lasted = std::ranges::any_of(f.alerts, [&](const Alert& a) {
    return a.begin && *a.begin <= to && (!a.end || *a.end >= *slow.start);
  });
  if (lasted) return true;
  // Unequal work stays so; its lines are samples.
  if (f.traits.has(Trait::unequal_work))
    return f.start && *f.start <= to && f.end.value_or(*f.start) >= *slow.start;
  std::vector<Nanoseconds> times = line_of(f).times;
  if (times.empty() && f.start) times.push_back(*f.start);
  // What stays so until it is changed back began shortly before.
  constexpr Nanoseconds kShortly = 15 * kMinute;
  if (f.traits.has(Trait::lasting))
    return !times.empty() && times.front() >= *slow.start - kShortly && times.front() <= to;
  const auto inside =
      std::ranges::count_if(times, [&](Nanoseconds t) { return t >= from && t <= to; });
  // A burst before it was over when it began.
  if (inside == 0 || times.back() < *slow.start) return false;
  const auto outside = static_cast<double>(times.size()) - static_cast<double>(inside);
  const double all = static_cast<double>(times.back() - times.front());
  const double within = static_cast<double>(to - from);
  return outside == 0 || all <= within ||
         static_cast<double>(inside) * (all - within) > kOften * outside * within;
}

// What many machines report, or what is no machine: a switch, a file system, a service.
bool shared_by_all(const Walk& w, const std::vector<const Finding*>& same) {
  std::set<Host> hosts;
  for (const Finding* f : same) {
    if (f->cause == CauseKind::shared || f->scope == Scope::shared ||
        f->subject.kind == SubjectKind::network_switch || f->subject.kind == SubjectKind::storage)
      return true;
    hosts.insert(f->hosts.begin(), f->hosts.end());
  }
  return shared_by(w, hosts.size());
}

// A disk that is gone stays gone, and what is rebuilt keeps the server busy for hours: it may be so
// a while before the job reads from there.
bool lost_a_disk(const Finding& f, const Finding& slow, rules::StepPart part) {
  return f.start && slow.start && slow.end && *f.start >= *slow.start - kHour &&
         *f.start <= *slow.end && rules::made_longer_by(part, f.symptom);
}

}  // namespace

Text steps_longer(const Finding& slow) {
  return say(Phrase::steps_take_longer, slow_of(slow).factor, slow_of(slow).first);
}

Text bubble_of(const Walk& w) {
  constexpr double kMuch = 0.25, kMore = 0.1;
  const auto& bubble = w.incident.bubble;
  if (!bubble || bubble->share < kMuch ||
      (bubble->before && bubble->share < *bubble->before + kMore))
    return {};
  return say(Phrase::pipeline_bubble, bubble->stages, 100 * bubble->share, bubble->micro_batches,
             bubble->before ? say(Phrase::bubble_before, 100 * *bubble->before) : Text());
}

std::optional<Answer> slow_by_neighbour(Walk& w) {
  std::vector<const Finding*> busy;
  for (const Finding& f : w.incident.findings)
    if (f.fired() && f.traits.has(Trait::beside_job) && !f.hearsay && f.hosts.size() == 1)
      busy.push_back(&f);
  const auto same = [&](const Finding* f) { return f->hosts == busy.front()->hosts; };
  if (busy.empty() || !std::ranges::all_of(busy, same) || ended_well(w)) return std::nullopt;
  const Host host = busy.front()->hosts.front();
  if (!w.incident.of_job(host)) return std::nullopt;
  const Finding* steps = nullptr;
  for (const Finding& f : w.incident.findings) {
    if (!f.fired(Analysis::slow) || slow_of(f).transient) continue;
    if (f.subject.kind == SubjectKind::job || !f.host) continue;
    if (*f.host != host) return std::nullopt;
    if (steps == nullptr) steps = &f;
  }
  Verdict& v = w.verdict;
  // What takes the machine from the job is ended there.
  act(v, Action::repair, Precision::exact, busy.front()->symptom);
  std::vector<std::string> because = ids(busy);
  if (steps != nullptr) because.push_back(steps->id);
  target(v, {SubjectKind::host, host}, confidence::kSettingSlows, because);
  v.summary =
      say(Phrase::busy_beside_job, host, inside(busy.front()->title), in_its_words(*busy.front()));
  if (steps != nullptr) {
    v.start = steps->start;
    v.summary += steps_longer(*steps);
  }
  for (const Finding* f : busy)
    if (!f->advice.empty()) next(v, NextKind::plan, f->advice);
  return taken(busy.front()->title);
}

namespace {

// Steps that follow it show that it was over, not that it was not.
bool was_said(const Finding& f) { return f.fired() || steps_after(f); }

}  // namespace

bool held_up(const Finding& f) { return f.traits.has(Trait::held_up) && was_said(f); }

namespace {

// What may have made steps longer was said first when they became so: shortly before, or in the
// first fifth of the stretch; or it comes again and again, and with the stretch more than at other
// times. What stays until it is changed back is felt at once.
bool began_with(const Walk& w, const Finding& f, const Finding& slow) {
  constexpr Nanoseconds kBefore = 15 * kMinute, kAtOnce = 3 * kMinute, kBehind = 5 * kMinute;
  if (!f.start || !slow.start || !slow.end) return false;
  const Nanoseconds before = f.traits.has(Trait::lasting) ? kAtOnce : kBefore;
  if (*f.start > *slow.start + std::max(kBehind, (*slow.end - *slow.start) / 5)) return false;
  return *f.start >= *slow.start - before ||
         (!f.traits.has(Trait::lasting) && came_with(w, f, slow));
}

// Whether what held ranks up did so in this stretch; null: no step became longer.
bool held_up_then(const Walk& w, const Finding& f, const Finding* slow) {
  const bool by_itself = held_up(f);
  const bool may =
      f.traits.has(Trait::may_slow) && was_said(f) && slow != nullptr &&
      slow_of(*slow).rhythm == SlowRhythm::none && began_with(w, f, *slow) &&
      (f.scope != Scope::host_local ||
       std::ranges::all_of(f.hosts, [&](const Host& host) { return w.incident.of_job(host); }));
  if (may) return true;
  if (!by_itself || slow == nullptr) return by_itself;
  // An undated line of the scheduler or the compiler may be of any other time.
  return f.start && slow->start && slow->end ? came_with(w, f, *slow)
                                             : f.cause == CauseKind::program;
}

// The machines that said it of themselves.
std::set<Host> said_by(const Walk& w, const Finding& reason, const Finding* slow) {
  std::set<Host> hosts;
  for (const Finding& f : w.incident.findings)
    if (f.event_class == reason.event_class && f.scope == Scope::host_local &&
        held_up_then(w, f, slow))
      hosts.insert(f.hosts.begin(), f.hosts.end());
  return hosts;
}

// What one machine of several says may slow that one, and is asked with its other faults.
bool of_one_machine(const Walk& w, const Finding& f, const Finding* slow) {
  return f.traits.has(Trait::may_slow) && f.scope == Scope::host_local && w.incident.hosts > 1 &&
         said_by(w, f, slow).size() == 1;
}

// Where it was said, if that is not everywhere.
Text told_on(const Walk& w, const Finding& reason, const Finding* slow) {
  constexpr std::size_t kFew = 8;
  const std::set<Host> hosts = said_by(w, reason, slow);
  return hosts.empty() || hosts.size() > kFew || hosts.size() >= w.incident.hosts
             ? Text()
             : say(Phrase::on_place, list(hosts));
}

}  // namespace

std::optional<Answer> slow_for_known_reason(Walk& w, std::span<const Finding* const> slow) {
  if (ended_well(w)) return std::nullopt;
  const bool named = std::ranges::any_of(
      slow, [](const Finding* f) { return f->subject.kind != SubjectKind::job; });
  // A rank that has more to do than others is slow wherever it runs, unless its machine says why.
  const bool held_down = std::ranges::any_of(
      slow, [](const Finding* f) { return slow_of(*f).hardware.value_or(false); });
  // What is so from the start slows no run that was quick before; and by itself it is no slowness.
  constexpr std::int64_t kFirstSteps = 10;
  const bool from_start = std::ranges::any_of(slow, [](const Finding* f) {
    return slow_of(*f).from_start || slow_of(*f).first <= kFirstSteps;
  });
  const Finding* stretch = slow.empty() ? nullptr : slow.front();
  const auto weight = [](const Finding& f) {
    return std::pair(!f.traits.has(Trait::may_slow), f.count);
  };
  const Finding* reason = nullptr;
  for (const Finding& f : w.incident.findings)
    if (!f.hearsay && (!named || (f.traits.has(Trait::unequal_work) && !held_down)) &&
        ((held_up_then(w, f, stretch) && !of_one_machine(w, f, stretch)) ||
         (from_start && !(stretch != nullptr && slow_of(*stretch).over) &&
          f.traits.has(Trait::slows_all) && was_said(f))) &&
        (reason == nullptr || weight(f) > weight(*reason)))
      reason = &f;
  if (reason == nullptr) return std::nullopt;
  Verdict& v = w.verdict;
  v.action = reason->cause == CauseKind::outside ? Action::none
             : reason->cause == CauseKind::program || reason->traits.has(Trait::of_image)
                 ? Action::rollback
                 : Action::repair;
  v.symptom = reason->symptom;
  v.precision = Precision::exact;
  v.start = stretch == nullptr ? reason->start : stretch->start;
  if (v.action != Action::none)
    target(v, {SubjectKind::config, reason->event_class}, reason->confidence, {reason->id});
  v.summary = say(v.action == Action::none ? Phrase::slow_and_nobodys : Phrase::slow_for_reason,
                  inside(reason->title) + told_on(w, *reason, stretch), at(reason->start),
                  in_its_words(*reason));
  if (stretch != nullptr) v.summary += steps_longer(*stretch);
  if (!reason->advice.empty()) next(v, NextKind::plan, reason->advice);
  return taken(reason->title);
}

// A metric of storage or network that was worse for just this stretch.
bool measured_with(const Finding& f, const Finding& slow) {
  return f.fired(Analysis::shared_change) && f.start == slow.start;
}

// What it is a metric of, as the subject of a sentence.
Text surroundings(const Finding& f) {
  return say(f.subject.kind == SubjectKind::storage  ? Phrase::the_storage
             : f.subject.kind == SubjectKind::config ? Phrase::the_processor_limit
                                                     : Phrase::the_network);
}

bool measured_around(const Walk& w, const Finding& slow) {
  return std::ranges::any_of(w.incident.findings,
                             [&](const Finding& f) { return measured_with(f, slow); });
}

namespace {

// Which part of the step grew; where none is told apart, a switch that counts errors of its own is
// the only one to ask.
struct SoughtPart {
  bool untold;
  rules::StepPart part;

  explicit SoughtPart(rules::StepPart grown)
      : untold(grown == rules::StepPart::none),
        part(untold ? rules::StepPart::communication : grown) {}
};

// What a switch or a file server of the job shows when it is asked, and what stays so until it is
// mended.
bool stays_so(const Walk& w, const Finding& f) {
  return !f.start && f.traits.has(Trait::lasting) &&
         (f.subject.kind == SubjectKind::network_switch ||
          (f.cause == CauseKind::shared && std::ranges::all_of(f.hosts, [&](const Host& host) {
             return w.incident.of_job(host);
           })));
}

// Files come from there whatever a log tells of its steps; a word of one machine is its own.
bool waits_for_files(const Walk& w, const Finding& f) {
  constexpr std::uint64_t kOften = 3;
  return rules::made_longer_by(rules::StepPart::data, f.symptom) &&
         (f.hosts.size() > 1 || (f.count >= kOften && w.incident.hosts <= 1));
}

std::vector<const Finding*> faults_of_all(const Walk& w, const Finding& slow,
                                          const SoughtPart& sought) {
  const bool over = slow_of(slow).over;
  const auto came = [&](const Finding& f) {
    return slow.start && slow.end && came_with(w, f, slow);
  };
  // What went away with the stretch stands no more.
  const auto stood = [&](const Finding& f) {
    return f.fired(Analysis::classify) ||
           (over && f.analysis == Analysis::classify && f.cause == CauseKind::shared &&
            (f.transient || steps_after(f)));
  };
  std::vector<const Finding*> faults;
  for (const Finding& f : w.incident.findings) {
    const bool counted = counters_of_switch(f) || stays_so(w, f);
    if (stood(f) && !f.hearsay && f.role != Role::teardown && f.severity >= Severity::warning &&
        ((rules::made_longer_by(sought.part, f.symptom) &&
          (counted ||
           ((!sought.untold || f.subject.kind == SubjectKind::network_switch) && came(f)))) ||
         (sought.untold && waits_for_files(w, f) && came(f)) ||
         (told_by_server(f) &&
          lost_a_disk(f, slow, sought.untold ? rules::StepPart::data : sought.part))))
      faults.push_back(&f);
    // Measured for as long as it was slow: that needs no part of the step to tell of it.
    if (measured_with(f, slow) && (sought.untold || rules::made_longer_by(sought.part, f.symptom) ||
                                   f.symptom == Symptom::cpu_overload))
      faults.push_back(&f);
  }
  return faults;
}

}  // namespace

std::optional<Answer> slow_for_all(Walk& w, const Finding& slow, Text lasted, Text price) {
  const SoughtPart sought(rules::part_named(slow_of(slow).grown));
  const bool over = slow_of(slow).over;
  std::vector<const Finding*> faults = faults_of_all(w, slow, sought);
  if (faults.empty() || !shared_by_all(w, faults)) return std::nullopt;
  sort_rows(faults, [&](const Finding* a, const Finding* b) {
    const auto weight = [&](const Finding* f) {
      return std::tuple(measured_with(*f, slow), f->severity, f->count);
    };
    return weight(a) > weight(b);
  });
  const Finding& first = *faults.front();
  Verdict& v = w.verdict;
  // A job that goes on is relieved, and so it is from traffic that is everywhere; what is measured
  // to be worse, and a port that damages what passes it, is to be repaired.
  const bool port = first.subject.kind == SubjectKind::network_switch &&
                    first.symptom == Symptom::infiniband_error;
  // So is a setting that a switch lost: it stays until it is set again.
  const bool set =
      first.subject.kind == SubjectKind::network_switch && first.traits.has(Trait::lasting);
  act(v,
      port || set || over || told_by_server(first) ||
              (measured_with(first, slow) && first.subject != kNetworkOfJob)
          ? Action::repair
          : Action::mitigate,
      Precision::group, first.symptom);
  Subject whom = first.subject;
  if (whom.kind != SubjectKind::network_switch && whom.kind != SubjectKind::storage &&
      whom.kind != SubjectKind::config)
    whom = sought.part == rules::StepPart::communication && !waits_for_files(w, first)
               ? kNetworkOfJob
               : Subject{SubjectKind::storage, "remote storage"};
  target(v, whom, confidence::kSharedUnnamed, ids(faults));
  if (slow_of(slow).stall)
    v.summary = say(Phrase::stood_for_reason, slow.why, inside(first.title), in_its_words(first));
  else if (measured_with(first, slow))
    v.summary =
        say(slow_of(slow).over ? Phrase::was_slow_by_surroundings : Phrase::slow_by_surroundings,
            surroundings(first), first.title, slow_of(slow).factor, lasted, price);
  else
    v.summary = say(Phrase::slow_for_all, lasted, slow_of(slow).factor, price, slow.why,
                    inside(first.title)) +
                in_its_words(first);
  for (const Finding* f : faults)
    if (!f->advice.empty()) next(v, NextKind::plan, f->advice);
  return taken(slow.why);
}

}  // namespace culprit::decide
