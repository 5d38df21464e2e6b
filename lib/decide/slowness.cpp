// A job that did not fail but was slow: whom to relieve, or that it is over.
#include <algorithm>

#include <fmt/format.h>

#include "decide/walk.hpp"

namespace culprit::decide {

namespace {

// "2026-11-21 03:19:38": a person reads whole seconds.
std::string clock_text(Nanoseconds time) {
  std::string out = iso_utc(time - ((time % kSecond) + kSecond) % kSecond);
  out[10] = ' ';
  return out.substr(0, 19);
}

std::string lasted(const Finding& f) {
  const SlowFacts& slow = slow_of(f);
  std::string out = slow.over ? fmt::format("from iteration {} to {}", slow.first, slow.last)
                              : fmt::format("since iteration {}", slow.first);
  if (!f.start) return out;
  const std::string begin = clock_text(*f.start), end = f.end ? clock_text(*f.end) : "";
  if (!slow.over || !f.end) return out + fmt::format(" ({} UTC)", begin);
  return out + fmt::format(" ({} to {} UTC)", begin,
                           begin.substr(0, 10) == end.substr(0, 10) ? end.substr(11) : end);
}

std::string price(const Finding& f) {
  const double seconds = slow_of(f).cost_s, hours = slow_of(f).gpu_hours.value_or(0);
  std::string out = seconds < 120    ? fmt::format("{:.3g} s", seconds)
                    : seconds < 7200 ? fmt::format("{:.0f} min", seconds / 60)
                                     : fmt::format("{:.1f} h", seconds / 3600);
  if (hours >= 0.05) out += fmt::format(" ({:.3g} GPU-hours)", hours);
  return out;
}

std::string outlier_name(const Finding& f) {
  if (f.subject.kind == SubjectKind::rank)
    return fmt::format("rank {}{}", f.subject.id, f.host ? " on " + *f.host : "");
  return f.subject.id;
}

// The slow stretches that the verdict is not about, the dearest first: a second cause is not to be
// lost behind the first.
std::string besides(std::span<const Finding* const> slow) {
  constexpr std::size_t most = 2;
  std::string out;
  for (std::size_t i = 1; i < std::min(slow.size(), most + 1); ++i) {
    const Finding& f = *slow[i];
    out += fmt::format(" Besides, steps took {:.2f} times as long {}, {}; that cost {}.",
                       slow_of(f).factor, lasted(f),
                       f.subject.kind == SubjectKind::job ? "and nobody stands out"
                                                          : "because of " + outlier_name(f),
                       price(f));
  }
  if (slow.size() > most + 1)
    out += fmt::format(" {} more: `culprit changepoints`.", slow.size() - most - 1);
  return out;
}

// The job ended well and ran on after the slow stretch for at least as long as that lasted: there
// is nothing to relieve.
bool settled(const Walk& w, const Finding& f) {
  const SlowFacts& slow = slow_of(f);
  return ended_well(w) && w.incident.last_iteration &&
         *w.incident.last_iteration - slow.last >= slow.last - slow.first;
}

}  // namespace

Answer slow_job(Walk& w) {
  std::vector<const Finding*> slow;
  const Finding* other = nullptr;
  for (const Finding& f : w.incident.findings)
    if (f.analysis == Analysis::slow) {
      if (f.outcome == Outcome::fired)
        slow.push_back(&f);
      else
        other = &f;
    }
  if (slow.empty()) {
    if (other == nullptr) return not_enough("no log reports how long its steps took");
    return {other->outcome == Outcome::ruled_out ? StepOutcome::ruled_out
                                                 : StepOutcome::not_enough_evidence,
            other->why};
  }
  std::stable_sort(slow.begin(), slow.end(), [](const Finding* a, const Finding* b) {
    return slow_of(*a).cost_s > slow_of(*b).cost_s;
  });
  const Finding& f = *slow.front();
  const std::string factor = fmt::format("{:.2f}", slow_of(f).factor);
  Verdict& v = w.verdict;
  if (const std::string why = failure(w); !why.empty()) {
    next(v, NextKind::plan,
         fmt::format("Before that the job was slow: steps took {} times as long {}{}. See `culprit "
                     "changepoints -d incident.db`.",
                     factor, lasted(f),
                     f.subject.kind == SubjectKind::job ? "" : ", by " + outlier_name(f)));
    return ruled_out(why);
  }
  v.start = f.start;
  v.end = f.end;
  v.symptom = f.symptom;
  const bool over = slow_of(f).over;
  if (slow_of(f).transient) {
    v.action = Action::none;
    v.symptom = Symptom::none;
    v.summary = fmt::format(
        "No failure. Steps took {} times as long {}, which cost {}; it is over, and nobody is "
        "accused.",
        factor, lasted(f), price(f));
    return taken(f.why);
  }
  if (f.subject.kind == SubjectKind::job) {
    v.action = over ? Action::none : Action::investigate;
    v.precision = Precision::candidates;
    v.summary = over ? fmt::format(
                           "No failure, but the job was slow: steps took {} times as long {}, "
                           "which cost {}. It is over, and nobody stands out.",
                           factor, lasted(f), price(f))
                     : fmt::format(
                           "The job is slow {}: steps take {} times as long, which has cost {} so "
                           "far. Nobody stands out: {}.",
                           lasted(f), factor, price(f), f.why);
    v.summary += besides(slow);
    if (!w.incident.has_stacks)
      next(v, NextKind::collect,
           "py-spy dump of all ranks every 10 s, five times, while it is slow: the rank that is "
           "never in a collective is the one that holds the others");
    next(v, NextKind::collect,
         "per-rank step parts (compute, data, communication) as JSON lines, or Megatron's "
         "--log-straggler; GPU clocks and throttle reasons: dcgm-exporter or nvidia-smi dmon -s "
         "pucvmet -o DT on every host");
    return taken(f.why);
  }
  if (over && settled(w, f)) {
    v.action = Action::none;
    v.precision = f.ranks.size() > 1 && f.subject.kind != SubjectKind::host ? Precision::group
                                                                            : Precision::exact;
    v.summary = fmt::format(
        "No failure. The job was slow {} because of {}, which {}; steps took {} times as long, "
        "which cost {}. It is over, and the job ran on for as long and ended well.",
        lasted(f), outlier_name(f), slow_of(f).reason, factor, price(f));
    v.summary += besides(slow);
    target(v, f.subject, f.confidence, {f.id});
    next(v, NextKind::plan,
         fmt::format("Look at {} before the next long job: it slowed this one down.",
                     f.host ? *f.host : outlier_name(f)));
    return taken(f.why);
  }
  const bool hardware = slow_of(f).hardware.value_or(false);
  const bool isolate = !over && hardware && f.host && f.confidence >= 0.85;
  v.action = isolate ? Action::isolate : Action::mitigate;
  v.precision = f.ranks.size() > 1 && f.subject.kind != SubjectKind::host ? Precision::group
                                                                          : Precision::exact;
  std::vector<std::string> because{f.id};
  for (const std::string& id : f.leads_to)
    if (because.size() < 5) because.push_back(id);
  if (f.host && (isolate || f.subject.kind == SubjectKind::host))
    target(v, {SubjectKind::host, *f.host}, f.confidence, because);
  target(v, f.subject, f.confidence, because);
  if (f.host) target(v, {SubjectKind::host, *f.host}, f.confidence, because);
  v.summary = fmt::format(
      "The job {} slow {} because of {}, which {}. Steps {} {} times as long; that {} {}.{}",
      over ? "was" : "is", lasted(f), outlier_name(f), slow_of(f).reason, over ? "took" : "take",
      factor, over ? "cost" : "has cost", price(f), over ? " It is over." : "");
  v.summary += besides(slow);
  if (isolate) drain(v, *f.host, "slows the whole job down");
  if (!f.advice.empty()) next(v, NextKind::plan, f.advice);
  if (over)
    next(v, NextKind::plan,
         fmt::format("It went away by itself: look at {} before the next long job, not now.",
                     f.host ? *f.host : outlier_name(f)));
  else if (!isolate) {
    // Less work for one replica means more for another: it takes two.
    if (w.incident.dp.value_or(1) > 1) {
      next(v, NextKind::plan,
           "Until it is repaired, give the slow worker less to do (--micro-batches: those of a "
           "step):");
      next(v, NextKind::command, "culprit plan microbatch -d incident.db");
    }
    next(v, NextKind::plan, "What waiting costs against acting:");
    next(v, NextKind::command, "culprit plan mitigate -d incident.db");
  }
  return taken(f.why);
}

}  // namespace culprit::decide
