// Steps for jobs that were set up wrongly, ended from outside, or whose processes died without a
// word.
#include <algorithm>
#include <map>
#include <set>

#include "decide/walk.hpp"
#include "model/confidence.hpp"
#include "model/contains.hpp"
#include "model/phrases.hpp"

namespace culprit::decide {

namespace {

// Of all that report the same.
std::set<Host> hosts_alike(const Finding& f, const Cause& c) {
  std::set<Host> out;
  for (const Finding* one : c.findings)
    if (one->event_class == f.event_class) out.insert(one->hosts.begin(), one->hosts.end());
  return out;
}

// More than the name of a file tells of it; or several files of one kind are named after theirs,
// and it is the one where a person looks.
bool known_machine(const Walk& w, const Host& host) {
  constexpr std::size_t kSeries = 3;
  return w.incident.machines.count(host) > 0 ||
         (w.incident.hosts_heard >= kSeries && has(w.incident.all_hosts, host));
}

// Others came to the meeting and waited there for this one: what it does not reach, they do.
bool others_came(const Walk& w, const Host& host) {
  constexpr std::size_t kSeveral = 3;
  return std::ranges::any_of(w.incident.findings, [&](const Finding& f) {
    return f.fired() && f.traits.has(Trait::rendezvous_timeout) && f.hosts.size() >= kSeveral &&
           !has(f.hosts, host);
  });
}

// All ranks of one machine miss what lies on shared storage, none of several others does, and the
// machine answers a question otherwise than they do: its mount. Without that answer it may be the
// only one that looks.
bool missing_for_one(const Walk& w, const Finding& f) {
  constexpr std::size_t kSeveral = 3, kRanks = 2;
  if (f.hosts.size() != 1 || w.incident.hosts_with_output < kSeveral || f.ranks.size() < kRanks ||
      contains(f.ranks, Rank(0)))
    return false;
  const auto here = std::ranges::count_if(
      w.incident.places, [&](const auto& place) { return place.second == f.hosts.front(); });
  const bool answers_otherwise = std::ranges::any_of(w.incident.findings, [&](const Finding& one) {
    return one.fired(Analysis::drift) && one.subject.id.starts_with("answer.") &&
           one.hosts == f.hosts;
  });
  return answers_otherwise && static_cast<std::size_t>(here) == f.ranks.size();
}

// A set-up failure that one host of several reports is that host's environment.
Host only_host(const Walk& w, const Finding& f, const Cause& c) {
  if (f.scope == Scope::job_wide) {
    // Whose clock is wrong quarrels with all; of two that quarrel it may be either.
    const bool against_all = f.traits.has(Trait::clock_wrong) && f.hosts.size() == 1 &&
                             w.incident.hosts_heard > 2 && known_machine(w, f.hosts.front()) &&
                             w.incident.job_hosts.size() != 1 && w.incident.of_job(f.hosts.front());
    if (against_all) return f.hosts.front();
    if (f.traits.has(Trait::of_several) && f.hosts.size() == 1 && w.incident.hosts_heard > 2)
      return f.hosts.front();
    return f.host && f.hosts.size() == 1 && f.subject.kind == SubjectKind::host ? *f.host : Host();
  }
  if (!shared_path(message_of(f)).empty() && !missing_for_one(w, f)) return {};  // the same for all
  const std::set<Host> alike = hosts_alike(f, c);
  const Host host = c.hosts.size() == 1 ? c.hosts.front()
                    : alike.size() == 1 ? *alike.begin()
                                        : Host();
  // A file that the one process which needed it first did not find may be missing for all.
  if (f.traits.has(Trait::file_missing) && w.incident.ranks > 1 && w.incident.has_rank_map) {
    const auto here = std::ranges::count_if(
        w.incident.places, [&](const auto& place) { return place.second == host; });
    std::set<Rank> missing;
    for (const Finding* one : c.findings)
      if (one->event_class == f.event_class) missing.insert(one->ranks.begin(), one->ranks.end());
    if (here > 1 && missing.size() == 1) return {};
  }
  if (w.incident.hosts_with_output > 1) return host;
  // One console holds the output of all: others were heard, and say nothing of the kind.
  const bool own = f.hosts.size() == 1 && alike.size() == 1 &&
                   (!f.traits.has(Trait::not_of_host) ||
                    (f.traits.has(Trait::no_route) && others_came(w, f.hosts.front()))) &&
                   known_machine(w, f.hosts.front());
  return own && w.incident.hosts_heard > 1 ? f.hosts.front() : Host();
}

// A few machines of many that lack it, by their own logs: what a program prints the others may not
// have got to.
std::vector<Host> few_hosts(const Walk& w, const Finding& f, const Cause& c) {
  constexpr std::size_t kFew = 4;
  const std::set<Host> alike = hosts_alike(f, c);
  if (f.scope != Scope::host_local || f.origin == Origin::any || f.traits.has(Trait::not_of_host) ||
      alike.size() < 2 || alike.size() > kFew || 2 * alike.size() > w.incident.hosts ||
      std::ranges::any_of(alike, [&](const Host& h) { return w.incident.machines.count(h) == 0; }))
    return {};
  return {alike.begin(), alike.end()};
}

// The one machine that several others did not reach; "" where they name several, or none.
Host unreached(const Finding& f, const Cause& c) {
  std::set<Host> peers, reporters;
  for (const Finding* one : c.findings) {
    if (one->event_class != f.event_class) continue;
    if (const auto& peer = line_of(*one).peer) peers.insert(Host(*peer));
    reporters.insert(one->hosts.begin(), one->hosts.end());
  }
  if (peers.size() != 1 || reporters.size() < 2 || reporters.count(*peers.begin()) > 0) return {};
  return *peers.begin();
}

// Clocks differ, and one machine of several says that its own is not set by anybody.
Host wrong_clock(const Walk& w, const Finding& f) {
  if (!f.traits.has(Trait::clock_wrong) || f.scope != Scope::job_wide) return {};
  std::set<Host> hosts;
  for (const Finding& other : w.incident.findings)
    if (other.fired() && other.traits.has(Trait::clock_wrong) && other.role == Role::confirmation)
      hosts.insert(other.hosts.begin(), other.hosts.end());
  return hosts.size() == 1 && w.incident.hosts > 1 ? *hosts.begin() : Host();
}

// A table of machines lists those of others, too.
bool of_the_job(const Walk& w, const Host& host) {
  return w.incident.job_hosts.empty() ? known_machine(w, host) : has(w.incident.job_hosts, host);
}

// Who reports it is known: that machine and no other, unless what is reported is of somebody else.
bool may_be_whose(const Walk& w, const Finding& f, const Host& host) {
  const bool own = f.hosts.empty() || (f.hosts.size() == 1 && f.hosts.front() == host);
  return of_the_job(w, host) && (own || f.traits.has(Trait::not_of_host));
}

// One machine alone has another setting: one that leads to what failed, or, where not all came to
// the meeting, of the kind by which machines find each other.
const Finding* odd_setting(const Walk& w, const Finding& f) {
  const bool unmet = f.traits.has_any({Trait::rendezvous_timeout, Trait::store_unreached});
  const Finding* out = nullptr;
  for (const Finding& one : w.incident.findings) {
    if (!one.fired(Analysis::drift) || one.severity < Severity::warning || one.hosts.size() != 1 ||
        !((leads_to(one, f.event_class) && may_be_whose(w, f, one.hosts.front())) ||
          (unmet && explains_communication(one) && of_the_job(w, one.hosts.front()))))
      continue;
    if (out != nullptr && out->hosts != one.hosts) return nullptr;
    if (out == nullptr || one.severity > out->severity) out = &one;
  }
  return out;
}

// What one host reports of itself explains what all report of the meeting.
const Finding& most_specific(const Walk& w, const Cause& c) {
  // What another of them leads to says less than that one.
  std::vector<const Finding*> own;
  for (const Finding* f : c.findings)
    if (std::ranges::none_of(c.findings, [&](const Finding* other) {
          return other->event_class != f->event_class && leads_to(*other, f->event_class);
        }))
      own.push_back(f);
  for (const Finding* f : own)
    if (f->scope == Scope::host_local && f->severity == Severity::critical && f->host &&
        w.incident.machines.count(*f->host) > 0)
      return *f;
  for (const Finding* f : own)
    if (f->scope == Scope::host_local && f->severity == Severity::critical) return *f;
  return own.empty() ? *c.findings.front() : *own.front();
}

Text signal_name(std::int64_t code) {
  static const std::map<std::int64_t, std::string> kNames{
      {1, "SIGHUP"}, {2, "SIGINT"},  {4, "SIGILL"},   {6, "SIGABRT"}, {7, "SIGBUS"},
      {8, "SIGFPE"}, {9, "SIGKILL"}, {11, "SIGSEGV"}, {15, "SIGTERM"}};
  const auto it = kNames.find(code);
  return it == kNames.end() ? say(Phrase::signal_numbered, code) : Text(it->second);
}

// The first process that ended badly: by time, then by place. Without times the parent's claim
// comes first.
const ExitFact* first_bad_end(const Walk& w) {
  const ExitFact* out = nullptr;
  const auto key = [](const ExitFact& x) {
    const std::int64_t s = signal_of(x.code);
    // The launcher ends what is left with SIGTERM: that is never the first end.
    return std::tuple(s == 15, !x.time.has_value(), x.time.value_or(0), !x.blamed, x.evidence.path,
                      x.evidence.line);
  };
  for (const ExitFact& x : w.incident.exits)
    if (x.code != 0 && (out == nullptr || key(x) < key(*out))) out = &x;
  return out;
}

// What the rules made of the same end: a target rests on a finding.
std::vector<std::string> findings_of(const Walk& w, const ExitFact& x) {
  std::vector<std::string> out;
  for (const Finding& f : w.incident.findings) {
    if (!f.fired(Analysis::classify) || !f.traits.has(Trait::process_end) || out.size() >= 6)
      continue;
    const bool of_rank = x.rank && contains(f.ranks, *x.rank);
    const bool of_host = x.host && contains(f.hosts, *x.host);
    if (of_rank || of_host) out.push_back(f.id);
  }
  return out;
}

struct Ending {
  Action action;
  Text meaning;
  Text advice;
};

Ending ending_of(std::int64_t code) {
  switch (signal_of(code)) {
    case 9:
      return {Action::investigate, say(Phrase::killed_by_somebody),
              say(Phrase::find_sender_of_sigkill)};
    case 6:
      return {Action::investigate, say(Phrase::aborted_itself),
              say(Phrase::read_stderr_before_abort)};
    case 7:
      return {Action::repair, say(Phrase::mapped_file_without_room), say(Phrase::look_at_shm)};
    case 11:
      return {Action::reattempt, say(Phrase::touched_unmapped_memory), say(Phrase::keep_core_dump)};
    case 4:
      return {Action::repair, say(Phrase::illegal_instruction), say(Phrase::rebuild_for_processor)};
    case 15:
    case 1:
    case 2: return {Action::none, say(Phrase::asked_to_stop), say(Phrase::ask_who_ended_it)};
    default: break;
  }
  return {Action::investigate, say(Phrase::own_output_says_why),
          say(Phrase::collect_stderr_of_process)};
}

}  // namespace

namespace {

// One failed look-up is tried again. In a job that never made a step, whose processes ended badly
// and of which nothing else says why, the name that stayed unknown is the answer.
const Finding* unknown_name(const Walk& w) {
  if (w.best() != nullptr || w.incident.last_iteration || w.incident.last_progress) return nullptr;
  if (std::ranges::none_of(w.incident.exits, [](const ExitFact& x) { return x.code != 0; }))
    return nullptr;
  const Finding* out = nullptr;
  for (const Finding& f : w.incident.findings)
    if (f.fired() && f.traits.has(Trait::name_lookup) && f.count >= 2 &&
        (out == nullptr || f.count > out->count))
      out = &f;
  return out;
}

Answer name_not_found(Walk& w, const Finding& f) {
  Verdict& v = w.verdict;
  act(v, Action::repair, Precision::exact, f.symptom, f.start);
  std::set<Host> hosts;
  for (const Finding& one : w.incident.findings)
    if (one.fired() && one.event_class == f.event_class)
      hosts.insert(one.hosts.begin(), one.hosts.end());
  const bool alone = hosts.size() == 1 && w.incident.hosts_with_output > 1;
  target(v, {SubjectKind::config, alone ? *hosts.begin() + ": " + f.event_class : f.event_class},
         confidence::kNameUnknown, {f.id});
  v.summary = say(Phrase::name_not_found, at(f.start), quoted(message_of(f), 200));
  if (!f.advice.empty()) next(v, NextKind::plan, f.advice);
  return taken(say(Phrase::class_and_no_step, f.event_class));
}

// Earlier runs of the job that ended while the same part was down. None where it goes down at other
// times at least as often: then the ends coincide by chance.
struct EndedSo {
  std::size_t runs = 0;
  std::vector<std::string> findings;
};
EndedSo runs_that_ended_so(const Walk& w, const std::vector<const Finding*>& of_part) {
  std::set<std::string> runs;
  EndedSo out;
  std::size_t elsewhere = 0;
  const auto& failures = w.incident.history.failures;
  std::optional<Nanoseconds> last;
  for (const PastFailure& run : failures) last = run.end ? run.end : last;
  for (const Finding* f : of_part) {
    out.findings.push_back(f->id);
    for (const Alert& a : f->alerts) {
      if (!a.begin || !last || *a.begin > *last + w.params.same_moment) continue;  // of this run
      const auto ended = std::ranges::find_if(failures, [&](const PastFailure& run) {
        return run.end && *a.begin - f->uncertainty <= *run.end &&
               *run.end <= a.end.value_or(*a.begin) + f->uncertainty + w.params.after_alert;
      });
      if (ended == failures.end())
        ++elsewhere;
      else
        runs.insert(ended->name);
    }
  }
  if (runs.size() <= elsewhere) return {};
  out.runs = runs.size();
  return out;
}

}  // namespace

Answer setup_failure(Walk& w) {
  const Cause* c = w.best(CauseKind::environment);
  if (const Finding* name = unknown_name(w); c == nullptr && name != nullptr)
    return name_not_found(w, *name);
  if (c == nullptr) return ruled_out(say(Phrase::nothing_was_missing));
  const Finding& f = most_specific(w, *c);
  Verdict& v = w.verdict;
  act(v, Action::repair, Precision::exact, f.symptom, c->start);
  Host host = wrong_clock(w, f);
  if (host.empty()) host = only_host(w, f, *c);
  const Finding* odd = host.empty() ? odd_setting(w, f) : nullptr;
  if (odd != nullptr) host = odd->hosts.front();
  if (host.empty() && f.traits.has_any({Trait::no_route, Trait::connection_refused}))
    if (const Host far = unreached(f, *c); w.incident.machines.count(far) > 0) host = far;
  const std::vector<Host> places = host.empty() ? few_hosts(w, f, *c) : std::vector<Host>{host};
  // What no machine has alone came with the image or the environment that was built.
  if (places.empty() && f.traits.has(Trait::of_image)) v.action = Action::rollback;
  target(v,
         {SubjectKind::config,
          places.empty() ? f.event_class : joined(places, places.size()) + ": " + f.event_class},
         c->confidence * confidence::kPartWithoutHost, ids(c->findings));
  for (const Host& place : places)
    if (known_machine(w, place))
      target(v, {SubjectKind::host, place}, c->confidence * confidence::kPartWithoutHost,
             ids(c->findings));
  const bool never = !w.incident.last_iteration && !w.incident.last_progress;
  // The others need not wait until it is mended. A machine that made steps is fit.
  if (never && places.size() == 1 && w.incident.hosts > 1 && f.traits.has(Trait::unfit_machine) &&
      known_machine(w, places.front())) {
    v.action = Action::isolate;
    drain(w, places.front(), f.event_class);
  }
  if (odd != nullptr) {
    target(v, odd->subject, confidence::kSettingDiffers, {odd->id});
    next(v, NextKind::plan, odd->advice);
  }
  const std::string message = message_of(f);
  v.summary = say(
      Phrase::setup_failed, never ? say(Phrase::failed_in_setup) : say(Phrase::environment_failed),
      inside(f.title),
      places.empty() || odd != nullptr ? Text() : say(Phrase::on_place, list(places)), at(c->start),
      message.empty() ? Text() : say(Phrase::quotation_after, quoted(message, 240)));
  if (odd != nullptr)
    v.summary +=
        say(leads_to(*odd, f.event_class) ? Phrase::alone_differs : Phrase::alone_has_setting,
            odd->hosts.front(), odd->why);
  else if (!places.empty())
    next(v, NextKind::plan, say(Phrase::compare_environment, list(places)));
  advise(v, *c);
  return taken(say(Phrase::two_joined, f.event_class,
                   places.empty() ? Text() : say(Phrase::on_place, list(places))));
}

Answer ended_outside(Walk& w) {
  const Cause* c = w.best(CauseKind::outside);
  if (c == nullptr) return ruled_out(say(Phrase::nobody_asked_to_stop));
  // That pods are stopped is what follows when their machine is taken back.
  const auto taken_back = std::ranges::find_if(
      c->findings, [](const Finding* one) { return one->traits.has(Trait::taken_back); });
  const Finding& f = taken_back == c->findings.end() ? *c->findings.front() : **taken_back;
  Verdict& v = w.verdict;
  // Nobody wanted it to end, and it has to be started again.
  v.action =
      f.traits.has_any({Trait::taken_back, Trait::preempted}) ? Action::reattempt : Action::none;
  v.symptom = Symptom::none;
  v.start = c->start;
  target(v, {SubjectKind::job, "job"}, c->confidence, ids(c->findings));
  v.summary =
      say(Phrase::ended_from_outside, inside(f.title), at(c->start), quoted(message_of(f), 200));
  advise(v, *c);
  next(v, NextKind::collect, say(Phrase::collect_record_of_end));
  return taken(say(Phrase::no_error_before, f.event_class));
}

Answer process_ended(Walk& w) {
  if (timed_out(w)) return ruled_out(say(Phrase::timed_out_ends_follow));
  const ExitFact* x = first_bad_end(w);
  if (x == nullptr) return ruled_out(say(Phrase::no_bad_end));
  const std::int64_t signal = signal_of(x->code);
  if (signal == 0 && !strongest_leads(w).empty()) return ruled_out(say(Phrase::lines_say_more));
  const Ending ending = ending_of(x->code);
  Verdict& v = w.verdict;
  act(v, ending.action, Precision::candidates);
  const Text process = x->rank   ? say(Phrase::rank_and_place, *x->rank,
                                     x->host ? say(Phrase::on_place, *x->host) : Text())
                         : x->host ? say(Phrase::process_on_host, *x->host)
                                 : say(Phrase::process_of_job);
  const Text how = signal != 0 ? say(Phrase::ended_by_signal, signal_name(signal), x->code)
                               : say(Phrase::ended_with_code, x->code);
  v.start = x->time;
  if (signal == 9) v.symptom = Symptom::cpu_oom;
  if (const auto because = findings_of(w, *x); x->rank && !because.empty())
    target(v, {SubjectKind::rank, std::to_string(number_of(*x->rank))}, confidence::kEndUnexplained,
           because);
  v.summary =
      say(Phrase::process_ended, say(Phrase::capital, process), how, at(x->time), ending.meaning);
  quote_leads(w, strongest_leads(w));
  next(v, NextKind::plan, ending.advice);
  if (signal == 0) next(v, NextKind::collect, say(Phrase::collect_stderr_of, process));
  return taken(how);
}

Answer recurring_alert(Walk& w) {
  if (w.first.transients.empty() || !after_effects(w))
    return ruled_out(say(Phrase::no_alert_lasted));
  if (w.incident.history.failures.empty()) return ruled_out(say(Phrase::no_run_ended_so));
  std::map<std::pair<std::string, Subject>, std::vector<const Finding*>> parts;
  for (const Finding* f : w.first.transients) parts[{f->event_class, f->subject}];
  for (const Finding& f : w.incident.findings)
    if (f.analysis == Analysis::classify)
      if (const auto at = parts.find({f.event_class, f.subject}); at != parts.end())
        at->second.push_back(&f);
  const Finding* part = nullptr;
  EndedSo most;
  std::set<Host> hosts;
  for (const Finding* f : w.first.transients) {
    EndedSo so = runs_that_ended_so(w, parts[{f->event_class, f->subject}]);
    if (so.runs > 0) hosts.insert(f->hosts.begin(), f->hosts.end());
    if (so.runs > most.runs) most = std::move(so), part = f;
  }
  if (part == nullptr || hosts.size() != 1) return ruled_out(say(Phrase::no_run_ended_so));
  Verdict& v = w.verdict;
  act(v, Action::isolate, Precision::exact, part->symptom, part->start);
  const Host& host = *hosts.begin();
  target(v, {SubjectKind::host, host}, confidence::kRecurringAlert, most.findings);
  v.summary =
      say(Phrase::recurring_fault, part->title, part->subject.id, most.runs, at(part->start));
  drain(w, host, part->event_class);
  next(v, NextKind::plan, part->advice);
  return taken(say(Phrase::runs_ended_so, most.runs, part->event_class, part->subject.id));
}

namespace {

// One link of a machine of the job that was down again and again in this run, and for longer than
// connections retry when those with an end there broke: the alert in which they did.
std::optional<Alert> keeps_failing(const Walk& w) {
  const Finding& f = *w.first.transients.front();
  const auto& begun = w.incident.job_start;
  const auto& noticed = w.first.noticed;
  if (w.first.transients.size() != 1 || f.subject.kind != SubjectKind::nic || !f.host || !begun ||
      !noticed)
    return std::nullopt;
  if (!w.incident.of_job(*f.host) || has(w.incident.storage_servers, *f.host)) return std::nullopt;
  const bool broke_here = std::ranges::any_of(w.incident.findings, [&](const Finding& one) {
    return one.fired(Analysis::classify) && one.role == Role::cascade &&
           one.symptom == Symptom::infiniband_error &&
           (line_of(one).peer.value_or("") == *f.host || contains(one.hosts, *f.host));
  });
  if (!broke_here) return std::nullopt;
  std::size_t alerts = 0;
  std::optional<Alert> last;
  for (const Alert& a : f.alerts) {
    if (!a.begin || !a.end || *a.begin < *begun || *a.begin - f.uncertainty > *noticed) continue;
    ++alerts;
    if (!last || *a.begin > *last->begin) last = a;
  }
  if (alerts < w.params.keeps_failing || *last->end - *last->begin < w.params.retried_for ||
      *last->end + f.uncertainty < *noticed)
    return std::nullopt;
  return last;
}

Answer failed_again_and_again(Walk& w, const Alert& last) {
  const Finding& f = *w.first.transients.front();
  Verdict& v = w.verdict;
  act(v, Action::isolate, Precision::exact, f.symptom, last.begin);
  target(v, {SubjectKind::host, *f.host}, confidence::kRecurringAlert, {f.id});
  target(v, f.subject, confidence::kRecurringAlert, {f.id});
  v.summary = say(Phrase::link_fails_again, f.title, f.subject.id, f.alerts.size(),
                  human_duration(*last.end - *last.begin), at(v.start));
  drain(w, *f.host, f.event_class);
  next(v, NextKind::plan, f.advice);
  return taken(say(Phrase::class_on_place, f.event_class, f.subject.id));
}

}  // namespace

Answer transient_alert(Walk& w) {
  if (w.first.transients.empty()) return ruled_out(say(Phrase::no_alert_lasted));
  if (!after_effects(w)) return ruled_out(say(Phrase::no_failed_communication));
  if (const auto alert = keeps_failing(w)) return failed_again_and_again(w, *alert);
  const Finding& f = *w.first.transients.front();
  Verdict& v = w.verdict;
  act(v, Action::reattempt, Precision::candidates, f.symptom, f.start);
  std::set<Host> hosts;
  for (const Finding* one : w.first.transients) {
    if (v.targets.size() < 4) target(v, one->subject, confidence::kTransientAlert, {one->id});
    hosts.insert(one->hosts.begin(), one->hosts.end());
  }
  v.summary = say(Phrase::transient_fault, inside(f.title), list(hosts), at(f.start));
  next(v, NextKind::plan, say(Phrase::if_it_comes_back, list(hosts), f.advice));
  return taken(say(Phrase::alert_taken_back, f.event_class));
}

}  // namespace culprit::decide
