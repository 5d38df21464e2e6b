// A job that did not fail but was slow: whom to relieve, or that it is over.
#include <algorithm>
#include <cstdlib>

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

double value(const Finding& f, std::string_view key) { return std::strtod(number(f, key).c_str(), nullptr); }

std::string lasted(const Finding& f) {
  const std::string first = number(f, "first_iteration"), last = number(f, "last_iteration");
  const bool over = number(f, "relieved") == "1";
  std::string out = over ? fmt::format("from iteration {} to {}", first, last) : fmt::format("since iteration {}", first);
  if (!f.start) return out;
  const std::string begin = clock_text(*f.start), end = f.end ? clock_text(*f.end) : "";
  if (!over || !f.end) return out + fmt::format(" ({} UTC)", begin);
  return out + fmt::format(" ({} to {} UTC)", begin, begin.substr(0, 10) == end.substr(0, 10) ? end.substr(11) : end);
}

std::string price(const Finding& f) {
  const double seconds = value(f, "cost_s"), hours = value(f, "gpu_hours");
  std::string out = seconds < 120 ? fmt::format("{:.3g} s", seconds) : seconds < 7200 ? fmt::format("{:.0f} min", seconds / 60) : fmt::format("{:.1f} h", seconds / 3600);
  if (hours >= 0.05) out += fmt::format(" ({:.3g} GPU-hours)", hours);
  return out;
}

std::string outlier_name(const Finding& f) {
  if (f.subject.kind == "rank") return fmt::format("rank {}{}", f.subject.id, f.host ? " on " + *f.host : "");
  return f.subject.id;
}

// The slow stretches that the verdict is not about, the dearest first: a second cause is not to be lost behind the first.
std::string besides(std::span<const Finding* const> slow) {
  constexpr std::size_t most = 2;
  std::string out;
  for (std::size_t i = 1; i < std::min(slow.size(), most + 1); ++i) {
    const Finding& f = *slow[i];
    out += fmt::format(" Besides, steps took {:.2f} times as long {}, {}; that cost {}.", value(f, "factor"), lasted(f), f.subject.kind == "job" ? "and nobody stands out" : "because of " + outlier_name(f), price(f));
  }
  if (slow.size() > most + 1) out += fmt::format(" {} more: `culprit changepoints`.", slow.size() - most - 1);
  return out;
}

// The job ended well and ran on after the slow stretch for at least as long as that lasted: there is nothing to relieve.
bool settled(const Walk& w, const Finding& f) {
  const double first = value(f, "first_iteration"), last = value(f, "last_iteration");
  return ended_well(w) && w.incident.last_iteration && static_cast<double>(*w.incident.last_iteration) - last >= last - first;
}

}  // namespace

Answer slow_job(Walk& w) {
  std::vector<const Finding*> slow;
  const Finding* other = nullptr;
  for (const Finding& f : w.incident.findings)
    if (f.analysis == "slow") {
      if (f.outcome == Outcome::fired) slow.push_back(&f);
      else other = &f;
    }
  if (slow.empty()) {
    if (other == nullptr) return not_enough("no log reports how long its steps took");
    return {other->outcome == Outcome::ruled_out ? "ruled_out" : "not_enough_evidence", other->why};
  }
  std::stable_sort(slow.begin(), slow.end(), [](const Finding* a, const Finding* b) { return value(*a, "cost_s") > value(*b, "cost_s"); });
  const Finding& f = *slow.front();
  const std::string factor = fmt::format("{:.2f}", value(f, "factor"));
  Verdict& v = w.verdict;
  if (const std::string why = failure(w); !why.empty()) {
    next(v, "plan", fmt::format("Before that the job was slow: steps took {} times as long {}{}. See `culprit changepoints -d incident.db`.", factor, lasted(f), f.subject.kind == "job" ? "" : ", by " + outlier_name(f)));
    return ruled_out(why);
  }
  v.start = f.start;
  v.end = f.end;
  v.symptom = f.symptom;
  const bool over = number(f, "relieved") == "1";
  if (number(f, "transient") == "1") {
    v.action = "none";
    v.symptom = "None";
    v.summary = fmt::format("No failure. Steps took {} times as long {}, which cost {}; it is over, and nobody is accused.", factor, lasted(f), price(f));
    return taken(f.why);
  }
  if (f.subject.kind == "job") {
    v.action = over ? "none" : "investigate";
    v.precision = "candidates";
    v.summary = over ? fmt::format("No failure, but the job was slow: steps took {} times as long {}, which cost {}. It is over, and nobody stands out.", factor, lasted(f), price(f))
                     : fmt::format("The job is slow {}: steps take {} times as long, which has cost {} so far. Nobody stands out: {}.", lasted(f), factor, price(f), f.why);
    v.summary += besides(slow);
    if (!w.incident.has_stacks) next(v, "collect", "py-spy dump of all ranks every 10 s, five times, while it is slow: the rank that is never in a collective is the one that holds the others");
    next(v, "collect", "per-rank step parts (compute, data, communication) as JSON lines, or Megatron's --log-straggler; GPU clocks and throttle reasons: dcgm-exporter or nvidia-smi dmon -s pucvmet -o DT on every host");
    return taken(f.why);
  }
  if (over && settled(w, f)) {
    v.action = "none";
    v.precision = f.ranks.size() > 1 && f.subject.kind != "host" ? "group" : "exact";
    v.summary = fmt::format("No failure. The job was slow {} because of {}, which {}; steps took {} times as long, which cost {}. It is over, and the job ran on for as long and ended well.", lasted(f), outlier_name(f), number(f, "reason"), factor, price(f));
    v.summary += besides(slow);
    target(v, f.subject, f.confidence, {f.id});
    next(v, "plan", fmt::format("Look at {} before the next long job: it slowed this one down.", f.host ? *f.host : outlier_name(f)));
    return taken(f.why);
  }
  const bool hardware = number(f, "hardware") == "1";
  const bool isolate = !over && hardware && f.host && f.confidence >= 0.85;
  v.action = isolate ? "isolate" : "mitigate";
  v.precision = f.ranks.size() > 1 && f.subject.kind != "host" ? "group" : "exact";
  std::vector<std::string> because{f.id};
  for (const std::string& id : f.leads_to)
    if (because.size() < 5) because.push_back(id);
  if (f.host && (isolate || f.subject.kind == "host")) target(v, {"host", *f.host}, f.confidence, because);
  target(v, f.subject, f.confidence, because);
  if (f.host) target(v, {"host", *f.host}, f.confidence, because);
  v.summary = fmt::format("The job {} slow {} because of {}, which {}. Steps {} {} times as long; that {} {}.{}", over ? "was" : "is", lasted(f), outlier_name(f), number(f, "reason"), over ? "took" : "take", factor, over ? "cost" : "has cost", price(f),
                          over ? " It is over." : "");
  v.summary += besides(slow);
  if (isolate) drain(v, *f.host, "slows the whole job down");
  if (!f.advice.empty()) next(v, "plan", f.advice);
  if (over) next(v, "plan", fmt::format("It went away by itself: look at {} before the next long job, not now.", f.host ? *f.host : outlier_name(f)));
  else if (!isolate) {
    // Less work for one replica means more for another: it takes two.
    if (w.incident.dp.value_or(1) > 1) {
      next(v, "plan", "Until it is repaired, give the slow worker less to do (--micro-batches: those of a step):");
      next(v, "command", "culprit plan microbatch -d incident.db");
    }
    next(v, "plan", "What waiting costs against acting:");
    next(v, "command", "culprit plan mitigate -d incident.db");
  }
  return taken(f.why);
}

}  // namespace culprit::decide
