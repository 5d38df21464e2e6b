// Wrong numbers: who computes them, or whether the training made them itself.
#include <algorithm>
#include <charconv>
#include <map>
#include <set>

#include "decide/walk.hpp"
#include "model/confidence.hpp"
#include "model/phrases.hpp"
#include "model/ranges.hpp"

namespace culprit::decide {

namespace {

// Of no machine of this job.
bool elsewhere(const Walk& w, const Finding& f) {
  return !w.incident.of_job(*f.host) ||
         std::ranges::any_of(w.first.excluded, [&](const Excluded& e) {
           return e.finding == &f && e.reason == Exclusion::not_of_job;
         });
}

// "Fail - GPU: 4": none that it names is another one.
bool names_device(const Finding& diagnostic, const std::string& id) {
  const std::string own = id.substr(id.rfind('/') + 1);
  bool any = false, same = false;
  for (const Evidence& e : diagnostic.evidence)
    if (std::size_t at = e.excerpt.find("GPU"); at != std::string::npos) {
      at = e.excerpt.find_first_of("0123456789", at);
      if (at == std::string::npos) continue;
      any = true;
      same =
          same || e.excerpt.substr(at, e.excerpt.find_first_not_of("0123456789", at) - at) == own;
    }
  return same || !any;
}

// A rank there computed wrong numbers of its own, on that GPU where both tell which.
bool own_numbers_wrong(const Walk& w, const Finding& diagnostic) {
  return std::ranges::any_of(w.incident.findings, [&](const Finding& f) {
    return f.fired() && f.traits.has(Trait::own_numbers) && f.host == diagnostic.host &&
           (f.subject.kind != SubjectKind::gpu || names_device(diagnostic, f.subject.id));
  });
}

// The machine whose GPU failed the vendor's diagnostic, alone or of those whose own numbers went
// wrong: with wrong numbers in the job that is a second source, which knows nothing of the first.
const Finding* failed_diagnostic(const Walk& w) {
  const Finding *only = nullptr, *own = nullptr;
  bool several = false, several_own = false;
  for (const Finding& f : w.incident.findings)
    if (f.fired() && f.traits.has(Trait::diagnostic_failed) && f.host && !elsewhere(w, f)) {
      several = several || (only != nullptr && only->host != f.host);
      only = &f;
      if (!own_numbers_wrong(w, f)) continue;
      several_own = several_own || (own != nullptr && own->host != f.host);
      own = &f;
    }
  if (!several) return only;
  return several_own ? nullptr : own;
}

std::vector<const Finding*> wrong_numbers(const Walk& w) {
  std::vector<const Finding*> out;
  for (const Finding& f : w.incident.findings)
    if (f.fired() && kind_of(f) == CauseKind::numerics) out.push_back(&f);
  return out;
}

Answer computes_wrongly(Walk& w, const Cause& c, const Finding& diagnostic) {
  Verdict& v = w.verdict;
  act(v, Action::isolate, Precision::exact, Symptom::nan_value, c.start);
  std::vector<std::string> because{diagnostic.id};
  for (const std::string& id : ids(c.findings)) because.push_back(id);
  target(v, {SubjectKind::host, *diagnostic.host}, confidence::kComputesWrongly, because);
  v.summary = say(Phrase::computes_wrongly, inside(c.findings.front()->title), at(c.start),
                  *diagnostic.host, inside(diagnostic.title));
  drain(w, *diagnostic.host, "wrong results");
  if (!diagnostic.advice.empty()) next(v, NextKind::plan, diagnostic.advice);
  return taken(say(Phrase::class_on_place, diagnostic.event_class, *diagnostic.host));
}

// What repeated steps say of one GPU, in all runs of the job. A step is repeated after wrong
// numbers (Megatron-LM's rerun state machine): on the same GPU first, and where that agrees, on
// another one.
struct Repeated {
  std::vector<const Finding*> findings;
  std::optional<Nanoseconds> first, last;
  std::set<std::string> lines;

  void add(const Finding& f) {
    findings.push_back(&f);
    if (f.start && (!first || *f.start < *first)) first = f.start;
    if (f.end && (!last || *f.end > *last)) last = f.end;
    for (const Evidence& e : f.evidence) lines.insert(e.excerpt);
  }
  // Several files may print one occurrence: apart in time, or without times in their words.
  bool again(Nanoseconds burst) const {
    return first && last ? *last - *first > burst : lines.size() > 1;
  }
};

std::map<Subject, Repeated> repeated_steps(const Walk& w, Trait trait,
                                           SubjectKind kind = SubjectKind::gpu) {
  std::map<Subject, Repeated> out;
  // Tables of numbers have gaps in a healthy job, too: half precision overflows now and then.
  const bool stopped = w.best(CauseKind::numerics) != nullptr;
  for (const Finding& f : w.incident.findings)
    if ((f.analysis == Analysis::classify || (stopped && f.analysis == Analysis::divergence)) &&
        f.traits.has(trait) && !f.hearsay && f.host && f.subject.kind == kind)
      out[f.subject].add(f);
  return out;
}

const Finding* fired(const Walk& w, Trait trait) {
  for (const Finding& f : w.incident.findings)
    if (f.fired(Analysis::classify) && !f.hearsay && f.traits.has(trait)) return &f;
  return nullptr;
}

// What the steps say of a training that left its way, by its class.
const Finding* divergence(const Walk& w, std::string_view event_class) {
  const auto at = std::ranges::find_if(w.incident.findings, [&](const Finding& f) {
    return f.fired(Analysis::divergence) && f.event_class == event_class;
  });
  return at == w.incident.findings.end() ? nullptr : &*at;
}

std::set<MemberId> logs_of(const Finding& f) {
  std::set<MemberId> out;
  for (const Evidence& e : f.evidence) out.insert(e.member);
  return out;
}

// The iterations that the lines of a finding print.
std::set<std::int64_t> iterations_of(const Finding& f) {
  constexpr std::string_view kWord = "iteration ";
  std::set<std::int64_t> out;
  for (const Evidence& e : f.evidence)
    if (std::size_t at = e.excerpt.find(kWord); at != std::string::npos) {
      at += kWord.size() + (e.excerpt.compare(at + kWord.size(), 1, "#") == 0);
      std::int64_t number = 0;
      if (std::from_chars(e.excerpt.data() + at, e.excerpt.data() + e.excerpt.size(), number).ec ==
          std::errc())
        out.insert(number);
    }
  return out;
}

// A device that is not the first of its machine is of one rank in a run.
bool numbered_device(const Finding& f) {
  const std::string& id = f.subject.id;
  const std::size_t at = id.find_last_not_of("0123456789");
  return f.subject.kind == SubjectKind::gpu && id.find(':') == std::string::npos &&
         at + 1 < id.size() && id.find_first_not_of('0', at + 1) != std::string::npos;
}

// Without times, ranks that each print another iteration of such a device are as many runs.
bool told_apart_by_iterations(const Finding& f) {
  return numbered_device(f) && !f.start && iterations_of(f).size() == f.ranks.size();
}

// Of one finding: 0 where some of its ranks may be of one run.
std::size_t runs_of(const Finding& f, Nanoseconds burst) {
  if (f.ranks.empty()) return 0;
  const std::set<MemberId> logs = logs_of(f);
  const std::size_t n = f.ranks.size();
  const bool apart =
      f.start && f.end && *f.end - *f.start > static_cast<Nanoseconds>(n - 1) * burst;
  if (n == 1 || (apart && logs.size() >= n)) return n;
  return told_apart_by_iterations(f) ? n : 0;
}

// Runs in which the only GPU whose own numbers went wrong was another rank each time: what belongs
// to a rank, its data above all, is left behind when ranks change places. 0: several GPUs, or
// several ranks of one run, which each call their only device the first.
std::size_t runs_as_another_rank(const std::map<Subject, Repeated>& seen, Nanoseconds burst) {
  if (seen.size() != 1) return 0;
  std::set<Rank> ranks;
  std::map<Nanoseconds, Nanoseconds> spans;  // of findings, by their start
  std::set<MemberId> logs;
  std::size_t runs = 0;
  for (const Finding* f : seen.begin()->second.findings) {
    const std::size_t own = runs_of(*f, burst);
    if (own == 0) return 0;
    runs += own;
    ranks.insert(f->ranks.begin(), f->ranks.end());
    if (told_apart_by_iterations(*f)) continue;
    for (const MemberId log : logs_of(*f))
      if (!logs.insert(log).second) return 0;
    if (!f->start || !f->end) continue;
    const auto [at, fresh] = spans.emplace(*f->start, *f->end);
    if (!fresh || (at != spans.begin() && std::prev(at)->second + burst >= *f->start) ||
        (std::next(at) != spans.end() && *f->end + burst >= std::next(at)->first))
      return 0;
  }
  return ranks.size() == runs ? runs : 0;
}

// The GPU computes wrongly: `because` says how that was seen.
Answer corrupts(Walk& w, const Subject& gpu, const Repeated& seen, double confidence,
                Text because) {
  Verdict& v = w.verdict;
  const Finding& f = *seen.findings.front();
  const bool sure = confidence >= confidence::kLeastToIsolate;
  act(v, sure ? Action::isolate : Action::checks, sure ? Precision::exact : Precision::candidates,
      Symptom::nan_value, seen.last);
  target(v, {SubjectKind::host, *f.host}, confidence, ids(seen.findings));
  target(v, gpu, confidence, ids(seen.findings));
  v.summary = std::move(because);
  if (sure)
    drain(w, *f.host, "wrong results");
  else
    check(v, {*f.host});
  if (!f.advice.empty()) next(v, NextKind::plan, f.advice);
  return taken(say(Phrase::class_on_place, f.event_class, gpu.id));
}

Answer of_training(Walk& w, const Finding& same) {
  Verdict& v = w.verdict;
  act(v, Action::rollback, Precision::candidates, Symptom::nan_value, same.start);
  target(v, {SubjectKind::job, "job"}, confidence::kDiverged, {same.id});
  v.summary = say(Phrase::same_on_other_gpu, at(same.start));
  next(v, NextKind::plan, say(Phrase::skip_data_of_step));
  return taken(say(Phrase::class_on_place, same.event_class, "job"));
}

}  // namespace

std::optional<Answer> borne_out(Walk& w, const Cause& c) {
  const Finding* diagnostic = failed_diagnostic(w);
  if (diagnostic == nullptr) return std::nullopt;
  Cause wrong = c;
  std::erase_if(wrong.findings,
                [](const Finding* one) { return one->traits.has(Trait::diagnostic_failed); });
  if (wrong.findings.empty()) wrong.findings = wrong_numbers(w);
  if (wrong.findings.empty() || !std::ranges::all_of(wrong.findings, [](const Finding* one) {
        return kind_of(*one) == CauseKind::numerics;
      }))
    return std::nullopt;
  return computes_wrongly(w, wrong, *diagnostic);
}

// Other ranks in each run, one device: no other cause of the end is surer.
static std::optional<Answer> same_device_in_each_run(Walk& w) {
  const Finding* f = divergence(w, "same_device_in_each_run");
  if (f == nullptr || (w.best() != nullptr && w.best(CauseKind::numerics) == nullptr))
    return std::nullopt;
  Repeated seen;
  seen.add(*f);
  return corrupts(
      w, f->subject, seen, f->confidence,
      say(Phrase::wrong_in_each_run, f->subject.id, f->count, to_ranges(f->ranks), at(seen.last)));
}

Answer data_corruption(Walk& w) {
  const bool failed_so = w.best(CauseKind::numerics) != nullptr;
  if (auto answer = same_device_in_each_run(w)) return *std::move(answer);
  if (!failed_so && (w.best() != nullptr || !failure(w).empty()))
    return ruled_out(say(Phrase::not_for_wrong_numbers));
  const Finding* same = fired(w, Trait::rerun_other_gpu_agrees);
  if (same != nullptr && !(ended_well(w) && went_on(w.incident, w.params, *same)))
    return of_training(w, *same);
  // The machine's name is enough where the line does not say which of its GPUs.
  if (fired(w, Trait::rerun_other_gpu_differs) != nullptr)
    for (const SubjectKind kind : {SubjectKind::gpu, SubjectKind::host})
      if (const auto seen = repeated_steps(w, Trait::rerun_same_gpu_agrees, kind);
          seen.size() == 1) {
        const auto& [one, steps] = *seen.begin();
        return corrupts(w, one, steps, confidence::kOtherGpuDiffers,
                        say(Phrase::other_gpu_differs, one.id, at(steps.last)));
      }
  // The last ranks of a job stand on its last machine in two runs by chance, and hardly in three.
  constexpr std::size_t kProven = 3;
  const auto own = repeated_steps(w, Trait::own_numbers);
  if (const std::size_t runs = runs_as_another_rank(own, w.params.same_burst); runs > 1) {
    const auto& [gpu, all] = *own.begin();
    if (const Finding* f = failed_diagnostic(w); f != nullptr && f->host == all.findings[0]->host)
      return ruled_out(say(Phrase::computes_wrongly_somewhere));  // surer, and told as such
    return corrupts(
        w, gpu, all,
        runs >= kProven ? confidence::kSameGpuDiffersAgain : confidence::kSameGpuDiffersOnce,
        say(Phrase::own_numbers_wrong_again, gpu.id, runs, at(all.last)));
  }
  const auto seen = repeated_steps(w, Trait::rerun_same_gpu_differs);
  if (seen.empty()) return ruled_out(say(Phrase::no_step_repeated));
  std::vector<const Subject*> again;
  for (const auto& [gpu, steps] : seen)
    if (steps.again(w.params.same_burst)) again.push_back(&gpu);
  // More GPUs than that: the step itself is not deterministic.
  if (again.size() == 1 && seen.size() <= 2) {
    const Repeated& steps = seen.at(*again.front());
    return corrupts(w, *again.front(), steps, confidence::kSameGpuDiffersAgain,
                    say(Phrase::same_gpu_differs_again, again.front()->id, at(steps.last)));
  }
  if (seen.size() > 1 || !failed_so)
    return ruled_out(say(Phrase::repeated_steps_differ, seen.size()));
  const auto& [gpu, steps] = *seen.begin();
  return corrupts(w, gpu, steps, confidence::kSameGpuDiffersOnce,
                  say(Phrase::same_gpu_differs_once, gpu.id, at(steps.last)));
}

const Finding* loss_that_stayed_high(const Walk& w) {
  for (const Finding& f : w.incident.findings)
    if (f.fired(Analysis::divergence) &&
        (f.event_class == "loss_jumped" || f.event_class == "loss_diverged"))
      return &f;
  return nullptr;
}

// Numbers all through, five times as high as usual to the end.
static Answer jumped(Walk& w, const Finding& f) {
  Verdict& v = w.verdict;
  act(v, Action::rollback, Precision::candidates, Symptom::nan_value, f.start);
  target(v, {SubjectKind::job, "job"}, confidence::kDiverged, {f.id});
  v.summary = say(Phrase::diverged_at_once, f.why);
  next(v, NextKind::plan,
       say(Phrase::back_before_the_rise, std::get<DivergenceFacts>(f.facts).from));
  next(v, NextKind::plan, say(Phrase::if_it_rises_again));
  return taken(f.why);
}

// A cause is followed by its effect: numbers that are none some tens of steps later.
static bool followed_at_once(const Walk& w, std::int64_t step) {
  constexpr std::int64_t kSoon = 150;
  return w.incident.first_nan && *w.incident.first_nan >= step &&
         *w.incident.first_nan - step <= kSoon;
}

Answer diverged(Walk& w) {
  const Cause* c = w.best(CauseKind::numerics);
  if (c == nullptr) {
    const Finding* high =
        w.best() == nullptr && failure(w).empty() ? loss_that_stayed_high(w) : nullptr;
    return high == nullptr ? ruled_out(say(Phrase::loss_is_a_number)) : jumped(w, *high);
  }
  if (failed_diagnostic(w) != nullptr || fired(w, Trait::replicas_differ) != nullptr)
    return ruled_out(say(Phrase::computes_wrongly_somewhere));
  // What was done to the training explains more than how its loss went then.
  const Finding* rose = divergence(w, "learning_rate_jumped");
  if (rose == nullptr || !followed_at_once(w, std::get<DivergenceFacts>(rose->facts).from))
    rose = divergence(w, "loss_diverged");
  if (rose == nullptr) rose = divergence(w, "gradients_grew");
  if (rose == nullptr) return ruled_out(say(Phrase::loss_did_not_rise));
  const auto& facts = std::get<DivergenceFacts>(rose->facts);
  Verdict& v = w.verdict;
  act(v, Action::rollback, Precision::candidates, Symptom::nan_value, c->start);
  std::vector<std::string> because{rose->id};
  for (std::string& id : ids(c->findings)) because.push_back(std::move(id));
  target(v, {SubjectKind::job, "job"}, confidence::kDiverged, because);
  v.summary = say(rose->event_class == "loss_diverged" ? Phrase::diverged_before_nan
                                                       : Phrase::diverged_by_itself,
                  rose->why, at(c->start));
  next(v, NextKind::plan, say(Phrase::back_before_the_rise, facts.from));
  next(v, NextKind::plan, say(Phrase::if_it_rises_again));
  return taken(rose->why);
}

// " at 2026-11-21T03:26:24Z in iteration 40 (the last finite one was 39)", as far as it is known.
static Text when_not_a_number(const Walk& w, const Cause& c) {
  Text out = at(c.start);
  if (w.incident.first_nan) out += say(Phrase::in_iteration, *w.incident.first_nan);
  if (w.incident.first_nan && w.incident.last_finite)
    out += say(Phrase::last_finite_iteration, *w.incident.last_finite);
  return out;
}

// The check names one rank, always the same.
static const Finding* odd_replica(const Cause& c) {
  const Finding* out = nullptr;
  for (const Finding* f : c.findings)
    if (f->traits.has(Trait::replicas_differ)) {
      if (f->ranks.size() != 1 || (out != nullptr && out->ranks != f->ranks)) return nullptr;
      out = f;
    }
  return out;
}

// The line that says so, of the same moment as the cause; nullptr where anything names one rank or
// device that computes another result.
static const Finding* scale_of(const Walk& w, const Cause& c) {
  for (const Finding& f : w.incident.findings)
    if (f.analysis == Analysis::classify && !f.hearsay && f.outcome != Outcome::ruled_out &&
        f.traits.has_any({Trait::replicas_differ, Trait::rerun_same_gpu_differs,
                          Trait::rerun_other_gpu_differs}))
      return nullptr;
  // One rank saw it in numbers of its own, before they were summed over all.
  for (const Finding* f : c.findings)
    if (f->traits.has(Trait::nan_stop) && !f->traits.has(Trait::scale_exhausted) &&
        f->ranks.size() == 1 && w.incident.ranks > 1)
      return nullptr;
  for (const Finding* f : c.findings)
    if (f->traits.has(Trait::scale_exhausted)) return f;
  const Finding* f = fired(w, Trait::scale_exhausted);
  const bool then = f != nullptr && f->end && c.start &&
                    std::abs(*c.start - *f->end) < w.params.same_moment &&
                    !went_on(w.incident, w.params, *f);
  return then ? f : nullptr;
}

// Half precision that overflows at every scale: a machine that computes wrongly once is over at the
// next step.
static Answer does_not_fit_format(Walk& w, const Cause& c, const Finding& scale) {
  Verdict& v = w.verdict;
  v.action = Action::rollback;
  std::vector<std::string> because = ids(c.findings);
  because.push_back(scale.id);
  target(v, {SubjectKind::job, "job"}, confidence::kDiverged, because);
  v.summary = say(Phrase::scale_exhausted, inside(scale.title), when_not_a_number(w, c)) +
              in_its_words(scale);
  if (!scale.advice.empty()) next(v, NextKind::plan, scale.advice);
  next(v, NextKind::plan, say(Phrase::if_it_rises_again));
  return taken(scale.why);
}

// One machine reported it each time: its numbers may be wrong at the same place by what it is
// given.
static bool always_of_one(const Walk& w) {
  std::set<Host> hosts;
  for (const Finding& f : w.incident.findings)
    if (f.analysis == Analysis::classify && f.traits.has(Trait::nan_stop))
      hosts.insert(f.hosts.begin(), f.hosts.end());
  return hosts.size() == 1;
}

// Runs, each of other machines or at another time, whose numbers went at one iteration.
const Finding* came_back(const Walk& w) {
  if (fired(w, Trait::replicas_differ) != nullptr || always_of_one(w)) return nullptr;
  return divergence(w, "nan_at_same_iteration");
}

// The same iteration in several runs.
static Answer comes_back(Walk& w, const Cause* c, const Finding& again) {
  Verdict& v = w.verdict;
  v.action = Action::rollback;
  std::vector<std::string> because = c == nullptr ? std::vector<std::string>() : ids(c->findings);
  because.push_back(again.id);
  target(v, {SubjectKind::job, "job"}, again.confidence, because);
  v.summary = say(Phrase::comes_back_with_data, again.why);
  next(v, NextKind::plan,
       say(Phrase::look_at_batch_of, std::get<DivergenceFacts>(again.facts).from));
  return taken(again.why);
}

Answer numerics(Walk& w) {
  const Cause* c = w.best(CauseKind::numerics);
  if (c == nullptr) {
    const Finding* again = came_back(w);
    if (again == nullptr || w.best() != nullptr || failed_diagnostic(w) != nullptr)
      return ruled_out(say(Phrase::loss_is_a_number));
    // A run that got past it, with other data or code, is a test of the same.
    w.verdict.symptom = Symptom::nan_value;
    w.verdict.start = again->start;
    w.verdict.precision = Precision::candidates;
    return comes_back(w, nullptr, *again);
  }
  if (const Finding* f = failed_diagnostic(w)) return computes_wrongly(w, *c, *f);
  const Finding* named = nullptr;
  for (const Finding* f : c->findings)
    if (f->traits.has(Trait::nan_stop)) {
      named = f;
      break;
    }
  Verdict& v = w.verdict;
  v.symptom = Symptom::nan_value;
  v.start = c->start;
  v.precision = Precision::candidates;
  if (const Finding* again = came_back(w)) return comes_back(w, c, *again);
  if (const Finding* scale = scale_of(w, *c)) return does_not_fit_format(w, *c, *scale);
  v.action = Action::checks;
  // Gradients are summed over all ranks: what all report at once began with none of them.
  std::set<Rank> reporters;
  for (const Finding* f : c->findings)
    if (f->traits.has(Trait::nan_stop)) reporters.insert(f->ranks.begin(), f->ranks.end());
  const bool replicas = c->findings.front()->traits.has(Trait::replicas_differ);
  const bool everywhere =
      reporters.size() > 1 && 2 * reporters.size() > std::max<std::size_t>(w.incident.ranks, 2);
  if (const Finding* odd = replicas ? odd_replica(*c) : nullptr) {
    target(v, {SubjectKind::rank, std::to_string(number_of(odd->ranks.front()))},
           confidence::kNumericsRank, ids(c->findings));
    v.summary = say(Phrase::one_replica_differs, odd->ranks.front(), on(odd->hosts), at(c->start),
                    quoted(message_of(*odd), 200));
    if (odd->host) check(v, {*odd->host});
  } else if (replicas) {
    target(v, {SubjectKind::job, "job"}, confidence::kNumericsUnnamed, ids(c->findings));
    v.summary =
        say(Phrase::replicas_differ, at(c->start), quoted(message_of(*c->findings.front()), 200));
  } else if (everywhere) {
    target(v, {SubjectKind::job, "job"}, confidence::kNumericsUnnamed, ids(c->findings));
    v.summary = say(Phrase::nan_on_all_ranks, reporters.size(), when_not_a_number(w, *c));
  } else if (named != nullptr) {
    for (const Rank r : named->ranks)
      if (v.targets.size() < 4)
        target(v, {SubjectKind::rank, std::to_string(number_of(r))}, confidence::kNumericsRank,
               {named->id});
    v.summary =
        say(Phrase::gradients_not_numbers,
            named->ranks.empty() ? Text() : say(Phrase::first_on_rank, named->ranks.front()),
            when_not_a_number(w, *c));
  } else {
    target(v, {SubjectKind::job, "job"}, confidence::kNumericsUnnamed, ids(c->findings));
    v.summary = say(Phrase::loss_not_a_number_anywhere, when_not_a_number(w, *c));
    next(v, NextKind::collect, say(Phrase::collect_nan_rank));
  }
  next(v, NextKind::plan, say(Phrase::bitwise_alignment));
  return taken(say(Phrase::no_machine_explains));
}

}  // namespace culprit::decide
