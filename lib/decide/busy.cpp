// One process still prepared its data when the time-outs of the others ran out: nothing is broken,
// and the same start ends in the same way.
#include <algorithm>
#include <cstdlib>

#include <re2/re2.h>

#include "decide/walk.hpp"
#include "model/confidence.hpp"
#include "model/contains.hpp"
#include "model/phrases.hpp"

namespace culprit::decide {

namespace {

// Somebody waited for longer than he may: in a collective, for the store or at the meeting.
bool gave_up(const Walk& w) {
  return timed_out(w) || std::ranges::any_of(w.incident.findings, [](const Finding& f) {
           return f.fired(Analysis::classify) &&
                  f.traits.has_any(
                      {Trait::store_unreached, Trait::store_lost, Trait::rendezvous_timeout});
         });
}

// How long the others were ready to wait, as their reports print it; 0: they do not.
double waited_seconds(const Walk& w) {
  static const re2::RE2 kTimeout(R"(Timeout\(ms\)=(\d{3,9}))");
  double out = 0;
  for (const Finding& f : w.incident.findings)
    if (std::int64_t ms = 0; f.fired() && f.traits.has(Trait::watchdog_timeout) &&
                             re2::RE2::PartialMatch(message_of(f), kTimeout, &ms))
      out = std::max(out, static_cast<double>(ms) / 1e3);
  return out;
}

// How long it had worked when its log ended, as the bar prints it: "[30:04<18:20".
double worked_seconds(const Finding& work) {
  static const re2::RE2 kElapsed(R"(\[(?:(\d+):)?(\d+):(\d+)<)");
  std::string hours;
  std::int64_t minutes = 0, seconds = 0;
  if (!re2::RE2::PartialMatch(message_of(work), kElapsed, &hours, &minutes, &seconds)) return 0;
  return static_cast<double>(std::strtoll(hours.c_str(), nullptr, 10) * 3600 + minutes * 60 +
                             seconds);
}

// Its own rank waited, too: it was done with that work.
bool waited_itself(const Walk& w, const Finding& work) {
  return work.ranks.size() == 1 && std::ranges::any_of(w.incident.findings, [&](const Finding& f) {
           return f.fired() && f.traits.has(Trait::watchdog_timeout) &&
                  contains(f.ranks, work.ranks.front());
         });
}

// The one rank that reported no time-out; nullptr: none or several.
const Finding* only_silent(const Walk& w) {
  const Finding* out = nullptr;
  for (const Finding& f : w.incident.findings) {
    if (!f.fired(Analysis::silence)) continue;
    if (out != nullptr) return nullptr;
    out = &f;
  }
  return out;
}

const Finding* unfinished_work(const Walk& w) {
  const Finding* out = nullptr;
  for (const Finding& f : w.incident.findings)
    if (f.fired() && f.traits.has(Trait::unfinished_work) && !f.hearsay &&
        !went_on(w.incident, w.params, f) && (out == nullptr || f.id < out->id))
      out = &f;
  return out;
}

}  // namespace

Answer busy_rank(Walk& w) {
  const Finding* work = unfinished_work(w);
  if (work == nullptr) return ruled_out(say(Phrase::no_work_unfinished));
  // A job that made steps prepares its data behind them, and was not kept from them.
  if (!gave_up(w) || w.best() != nullptr || w.incident.last_iteration.value_or(0) > 0)
    return ruled_out(say(Phrase::nobody_gave_up_on_work));
  // Who stopped long before is not busy: his process or machine stands.
  constexpr double kToTheEnd = 0.8;
  if (worked_seconds(*work) < kToTheEnd * waited_seconds(w) || waited_itself(w, *work))
    return ruled_out(say(Phrase::nobody_gave_up_on_work));
  Verdict& v = w.verdict;
  act(v, Action::rollback, Precision::exact, Symptom::job_hang);
  const Finding* silent = only_silent(w);
  std::vector<std::string> because{work->id};
  if (silent != nullptr) {
    because.push_back(silent->id);
    v.start = silent->start;
  }
  const std::vector<Rank> ranks = !work->ranks.empty() ? work->ranks
                                  : silent != nullptr  ? silent->ranks
                                                       : std::vector<Rank>();
  target(v, {SubjectKind::code, "the program"}, confidence::kExceptionKnown, because);
  if (ranks.size() == 1)
    target(v, {SubjectKind::rank, std::to_string(number_of(ranks.front()))},
           confidence::kExceptionRank, because);
  v.summary = say(
      Phrase::busy_with_work,
      ranks.size() == 1 ? say(Phrase::rank_named, ranks.front()) : say(Phrase::one_of_the_ranks),
      quoted(message_of(*work), 160));
  next(v, NextKind::plan, Text(work->advice));
  return taken(say(Phrase::busy_since, quoted(message_of(*work), 60)));
}

}  // namespace culprit::decide
