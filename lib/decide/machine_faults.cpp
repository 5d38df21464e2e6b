// Faults that machines and what they share report of themselves.
#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>

#include <fmt/format.h>

#include "decide/storage_servers.hpp"
#include "decide/walk.hpp"
#include "model/confidence.hpp"
#include "model/contains.hpp"
#include "model/phrases.hpp"

namespace culprit::decide {

namespace {

// A rank died of what one machine alone counts: the line of the rank, which names no machine or
// that one, says that it was now, the counter says where.
double confirmed(const Walk& w, const Cause& c, double confidence, const Host& host) {
  if (c.hosts.size() != 1) return confidence;
  const Finding *counted = nullptr, *died = nullptr;
  for (const Finding* f : c.findings) {
    if (f->hosts == std::vector<Host>{host} && f->subject.kind == SubjectKind::gpu) counted = f;
    if (f->hosts.empty() && !f->ranks.empty() && f->start) died = f;
  }
  for (const Excluded& e : w.first.excluded)
    if (e.reason == Exclusion::led_to && e.finding->hosts == std::vector<Host>{host} &&
        e.finding->traits.has(Trait::by_gpu) && line_of(*e.finding).speaker == Speaker::job)
      died = e.finding;
  if (counted == nullptr || died == nullptr || counted->symptom != died->symptom) return confidence;
  return 1 - (1 - confidence) * (1 - confidence::kSecondSource);
}

// Each of its hosts, as sure as the surest of what names it, and their parts.
void accuse(Walk& w, const Cause& c) {
  Verdict& v = w.verdict;
  for (const Host& host : c.hosts) {
    std::vector<std::string> because;
    double confidence = 0;
    for (const Finding* one : c.findings)
      if (contains(one->hosts, host)) {
        if (because.size() < 6) because.push_back(one->id);
        confidence = std::max(confidence, one->confidence);
      }
    confidence = confirmed(w, c, confidence, host);
    target(v, {SubjectKind::host, host}, confidence, because);
  }
  for (const Finding* one : c.findings)
    if (one->subject.kind == SubjectKind::gpu || one->subject.kind == SubjectKind::nic)
      target(v, one->subject,
             one->host ? confirmed(w, c, one->confidence, *one->host) : one->confidence, {one->id});
}

// What the rule of a class says of it, where findings are counted by class.
bool class_has(const Cause& c, Trait trait, const std::string* event_class = nullptr) {
  return std::ranges::any_of(c.findings, [&](const Finding* f) {
    return f->traits.has(trait) && (event_class == nullptr || f->event_class == *event_class);
  });
}

// At most one of these machines is the cause, and nothing says which: all are checked, the first
// few named.
Answer one_of_several(Walk& w, const Cause& c, std::map<Host, std::vector<std::string>> because,
                      Text summary, Text why) {
  constexpr std::size_t kMostNamed = 8;
  Verdict& v = w.verdict;
  act(v, Action::checks, Precision::candidates);
  std::vector<Host> hosts;
  for (auto& [host, findings] : because) {
    hosts.push_back(host);
    if (v.targets.size() < kMostNamed)
      target(v, {SubjectKind::host, host}, confidence::kOneOfUndated, std::move(findings));
  }
  v.summary = std::move(summary);
  check(v, hosts);
  advise(v, c);
  return taken(std::move(why));
}
std::map<Host, std::vector<std::string>> findings_by_host(const Cause& c) {
  std::map<Host, std::vector<std::string>> out;
  const std::set<Host> hosts(c.hosts.begin(), c.hosts.end());
  for (const Finding* f : c.findings)
    for (const Host& host : f->hosts)
      if (hosts.count(host) != 0) out[host].push_back(f->id);
  return out;
}

bool job_unknown(const Walk& w) {
  const Case& c = w.incident;
  return !c.any_training_output && !c.job_start && !c.job_end && !w.first.first_consequence;
}

// Where nothing says when the job ran: machines that report faults at other times, which might as
// well be the cause.
std::vector<const Finding*> at_other_times(const Walk& w, const Cause& first) {
  std::vector<const Finding*> out;
  if (!job_unknown(w)) return out;
  const std::set<Host> own(first.hosts.begin(), first.hosts.end());
  const auto add = [&](const Finding* f) {
    const auto kind = kind_of(*f);
    if ((kind == CauseKind::machine || kind == CauseKind::environment) && f->host &&
        own.count(*f->host) == 0)
      out.push_back(f);
  };
  for (const Cause& cause : w.first.causes)
    if (&cause != &first) std::ranges::for_each(cause.findings, add);
  for (const Excluded& e : w.first.excluded)
    if (e.reason == Exclusion::after_failure) add(e.finding);
  return out;
}

// The machines' logs go on for a day and more after the last of it.
bool went_on_after(const Walk& w, const Cause& c) {
  std::optional<Nanoseconds> last;
  for (const Finding* f : c.findings)
    if (const auto& end = f->end ? f->end : f->start; end)
      last = std::max(last.value_or(*end), *end);
  return last && w.incident.last_word && *last + kDay < *w.incident.last_word;
}

// A machine without power is seen by its own management controller; whether its power units failed
// or what feeds several machines, only those of others can say.
Answer power_of_one(Walk& w, const Cause& c) {
  Verdict& v = w.verdict;
  const Host& host = c.hosts.front();
  act(v, Action::repair, Precision::group);
  target(v, {SubjectKind::group, "power feed of " + host}, confidence::kSharedUnnamed,
         ids(c.findings));
  v.summary = say(Phrase::power_of_one, host, at(c.start));
  next(v, NextKind::collect, say(Phrase::management_logs_of_rack, host));
  advise(v, c);
  return taken(say(Phrase::class_on_place, c.findings.front()->event_class, host));
}

Answer without_story(Walk& w, const Cause& first, const std::vector<const Finding*>& others) {
  auto because = findings_by_host(first);
  for (const Finding* f : others) because[*f->host].push_back(f->id);
  std::vector<Host> hosts;
  for (const auto& [host, findings] : because) hosts.push_back(host);
  const Finding& one = *first.findings.front();
  const auto alike = [&](const Finding* f) { return f->event_class == one.event_class; };
  const bool same =
      std::ranges::all_of(first.findings, alike) && std::ranges::all_of(others, alike);
  Text summary = others.empty() ? say(Phrase::fault_long_over, list(hosts, 8), inside(one.title),
                                      at(first.start))
                 : same ? say(Phrase::same_fault_without_story, list(hosts, 8), inside(one.title))
                        : say(Phrase::faults_without_story, list(hosts, 8));
  return one_of_several(w, first, std::move(because), std::move(summary),
                        say(Phrase::faults_at_other_times, hosts.size()));
}

}  // namespace

namespace {

// How many machines show the fault, with those that came to it after the first failure, until then.
std::size_t with_later(const Walk& w, const std::string& event_class, std::set<Host> hosts,
                       const std::optional<Nanoseconds>& until = {}) {
  for (const Excluded& e : w.first.excluded)
    if (e.reason == Exclusion::after_failure && e.finding->event_class == event_class &&
        (!until || (e.finding->start && *e.finding->start <= *until)))
      hosts.insert(e.finding->hosts.begin(), e.finding->hosts.end());
  return hosts.size();
}

// A scheduler asks its nodes one after the other: it misses those that went in one moment within
// minutes.
bool lost_together(const Walk& w, const Cause& c, const std::string& event_class,
                   const std::set<Host>& hosts) {
  constexpr Nanoseconds kAsked = 600 * kSecond;  // twice the SlurmdTimeout that Slurm comes with
  return class_has(c, Trait::node_missed, &event_class) && hosts.size() > 1 && c.start &&
         shared_by(w, with_later(w, event_class, hosts, *c.start + kAsked));
}

// Why what these machines report is one fault that they share; empty: each stands for itself.
Text shared_fault(const Walk& w, const Cause& c) {
  std::map<std::string, std::set<Host>> by_class;
  for (const Finding* f : c.findings) {
    const std::vector<Host>& places = places_of(CauseKind::machine, *f);
    by_class[f->event_class].insert(places.begin(), places.end());
  }
  const std::size_t all = std::max<std::size_t>(w.incident.hosts, c.hosts.size());
  for (const auto& [event_class, hosts] : by_class)
    if (c.findings.front()->symptom == Symptom::infiniband_error &&
        !switch_below_which_all(w, hosts).empty())
      return say(Phrase::all_hosts_of_switch, event_class, switch_below_which_all(w, hosts),
                 hosts.size());
  for (const auto& [event_class, hosts] : by_class)
    if (shared_by(w, hosts.size()) || lost_together(w, c, event_class, hosts) ||
        (class_has(c, Trait::power_lost, &event_class) && hosts.size() > 1))
      return say(Phrase::shared_by_many_hosts, event_class, hosts.size(), all, hosts.size());
  return {};
}

}  // namespace

// GPUs that report the fault that came first.
static std::size_t gpus_alike(const Cause& c) {
  std::set<Subject> gpus;
  for (const Finding* f : c.findings)
    if (f->subject.kind == SubjectKind::gpu && f->event_class == c.findings.front()->event_class)
      gpus.insert(f->subject);
  return gpus.size();
}

// Cards do not break together: what they share is to be looked at, and no card is accused.
static Answer of_whole_machine(Walk& w, const Cause& c, std::size_t gpus) {
  Verdict& v = w.verdict;
  const Finding& f = *c.findings.front();
  act(v, Action::checks, Precision::candidates);
  target(v, {SubjectKind::job, "job"}, confidence::kUnnamedMachine, ids(c.findings));
  v.summary = say(Phrase::several_gpus_alike, gpus, inside(f.title), at(c.start)) + in_its_words(f);
  advise(v, c);
  return taken(say(Phrase::class_without_host, f.event_class));
}

// Another machine whose own kernel tells of a part of it that broke while the job was still
// failing: what the first machine did does not break a card elsewhere. Several are no two faults.
static std::vector<const Finding*> second_fault(const Walk& w, const Cause& c) {
  constexpr Nanoseconds kSame = 15 * kMinute;
  std::vector<const Finding*> out;
  std::set<Host> hosts;
  for (const Excluded& e : w.first.excluded) {
    const Finding& f = *e.finding;
    if (e.reason != Exclusion::after_failure || !f.host || !f.start || !c.start ||
        f.origin != Origin::kernel || f.severity < Severity::critical || f.role != Role::root ||
        kind_of(f) != CauseKind::machine || *f.start > *c.start + kSame ||
        !w.incident.of_job(*f.host) || std::ranges::find(c.hosts, *f.host) != c.hosts.end() ||
        f.event_class == c.findings.front()->event_class ||
        std::ranges::any_of(f.alerts, [](const Alert& a) { return a.end.has_value(); }))
      continue;
    if (hosts.insert(*f.host).second) out.push_back(&f);
  }
  return hosts.size() == 1 ? out : std::vector<const Finding*>{};
}

Answer critical_errors(Walk& w) {
  const Cause* c = w.best(CauseKind::machine);
  if (c == nullptr) {
    const bool any = std::ranges::any_of(
        w.incident.findings, [](const Finding& f) { return kind_of(f) == CauseKind::machine; });
    return ruled_out(any ? say(Phrase::critical_errors_not_first) : say(Phrase::no_critical_error));
  }
  if (auto answer = borne_out(w, *c)) return std::move(*answer);
  // The same kind of fault on many machines at once is one cause that they share.
  std::map<std::string, std::set<Host>> by_class;
  for (const Finding* f : c->findings)
    by_class[f->event_class].insert(f->hosts.begin(), f->hosts.end());
  if (Text shared = shared_fault(w, *c); !shared.empty()) return ruled_out(std::move(shared));
  const Finding& f = *c->findings.front();
  Verdict& v = w.verdict;
  v.symptom = f.symptom;
  v.start = c->start;
  // A part of a machine that nothing names, of several that it may be.
  if (c->hosts.empty() && (f.subject.kind == SubjectKind::job || w.incident.hosts > 1)) {
    // A job of one machine has no other that it could be.
    act(v, w.incident.hosts <= 1 ? Action::checks : Action::investigate, Precision::candidates);
    target(v, f.subject, confidence::kUnnamedMachine, ids(c->findings));
    v.summary = say(Phrase::fault_of_unnamed_machine, inside(f.title), at(c->start));
    next(v, NextKind::collect, say(Phrase::collect_file_with_host));
    advise(v, *c);
    return taken(say(Phrase::class_without_host, f.event_class));
  }
  if (const std::size_t alike = gpus_alike(*c); c->hosts.empty() && alike > 1)
    return of_whole_machine(w, *c, alike);
  if (!c->start && c->hosts.size() > 1 && std::ranges::none_of(by_class, [&](const auto& one) {
        return one.second.size() == c->hosts.size();
      }))
    // Of different kinds, and none of them can be placed in time.
    return one_of_several(w, *c, findings_by_host(*c),
                          say(Phrase::undated_on_several, list(c->hosts, 8)),
                          say(Phrase::undated_faults, c->hosts.size()));
  if (const auto others = at_other_times(w, *c); !others.empty())
    return without_story(w, *c, others);
  if (job_unknown(w) && went_on_after(w, *c)) return without_story(w, *c, {});
  if (c->hosts.size() == 1 && w.incident.holds.management_logs.size() < 2 &&
      class_has(*c, Trait::power_lost))
    return power_of_one(w, *c);
  if (job_unknown(w) && w.incident.hosts > 1 && !c->hosts.empty() &&
      std::ranges::all_of(c->findings,
                          [](const Finding* one) { return one->symptom == Symptom::disk_fault; }))
    // A disk of one of several machines ends the job that uses it, and no other.
    return one_of_several(
        w, *c, findings_by_host(*c),
        say(Phrase::disk_without_story, list(c->hosts, 8), inside(c->findings.front()->title),
            at(c->start)),
        say(Phrase::class_on_place, c->findings.front()->event_class, list(c->hosts, 8)));
  v.action = Action::isolate;
  std::vector<std::string> who(c->hosts.begin(), c->hosts.end());
  if (!who.empty()) {
    accuse(w, *c);
  } else {
    who = {fmt::format("{} {}", name(f.subject.kind), f.subject.id)};
    target(v, f.subject, f.confidence * confidence::kPartWithoutHost, ids(c->findings));
    next(v, NextKind::collect, say(Phrase::collect_job_json_for_host));
  }
  v.precision = Precision::exact;
  v.summary =
      say(Phrase::machines_broke_job,
          who.size() == 1 ? say(Phrase::one_machine) : say(Phrase::several_machines, who.size()),
          inside(f.title), list(who), at(c->start),
          after_effects(w) ? say(Phrase::rest_are_consequences) : Text());
  drain(w, c->hosts, f.event_class);
  advise(v, *c);
  for (const Finding* second : second_fault(w, *c)) {
    target(v, {SubjectKind::host, *second->host}, second->confidence, {second->id});
    v.summary += say(Phrase::second_machine_failed, *second->host, inside(second->title),
                     human_duration(*second->start - *c->start));
    drain(w, *second->host, second->event_class);
  }
  return taken(say(Phrase::class_first, f.event_class, list(who), at(c->start)));
}

Answer shared_cause(Walk& w) {
  const Cause* c = w.best(CauseKind::shared);
  const Cause* machine = w.best(CauseKind::machine);
  if (c == nullptr && (machine == nullptr || shared_fault(w, *machine).empty()))
    return ruled_out(say(Phrase::no_shared_error_first));
  Verdict& v = w.verdict;
  if (c == nullptr) {
    const Finding& f = *machine->findings.front();
    std::map<std::string, std::set<Host>> by_class;
    for (const Finding* one : machine->findings)
      by_class[one->event_class].insert(one->hosts.begin(), one->hosts.end());
    const auto widest = std::ranges::max_element(
        by_class, [](const auto& a, const auto& b) { return a.second.size() < b.second.size(); });
    act(v, Action::repair, Precision::group, f.symptom, machine->start);
    const bool net = f.symptom == Symptom::infiniband_error;
    const std::string named = switch_of(w, widest->second);
    if (net && !named.empty())
      target(v, {SubjectKind::network_switch, named}, confidence::kSwitchNamed,
             ids(machine->findings));
    else
      target(v,
             {net ? SubjectKind::network_switch : SubjectKind::group,
              net ? "network of " + joined({widest->second.begin(), widest->second.end()}, 3)
                  : widest->first},
             confidence::kSharedUnnamed, ids(machine->findings));
    w.shared_class = widest->first;
    const std::size_t all = with_later(w, widest->first, widest->second);
    const Text share = net ? say(Phrase::a_switch_first) : say(Phrase::power_cooling_driver);
    v.summary = all == widest->second.size()
                    ? say(Phrase::same_fault_same_moment, all, inside(f.title), share, all)
                    : say(Phrase::same_fault_spreads, all, inside(f.title), widest->second.size(),
                          share, all);
    if (!net)
      advise(v, *machine);  // else it is to look at single cables
    else
      next(v, NextKind::plan,
           say(Phrase::look_at_switch, named.empty() ? say(Phrase::shared_switch) : Text(named)));
    return taken(say(Phrase::class_on_hosts_within_minutes, widest->first, widest->second.size()));
  }
  const Finding& f = *c->findings.front();
  v.symptom = f.symptom;
  v.start = c->start;
  v.action = Action::repair;
  for (const Finding* one : c->findings) {
    Subject s = one->subject;
    if (s.kind == SubjectKind::host || s.kind == SubjectKind::gpu || s.kind == SubjectKind::rank)
      s = {SubjectKind::storage, verbatim(one->title)};
    target(v, s,
           c->hosts.size() == 1 && w.incident.hosts > 2 ? confidence::kServiceSeenByOne
                                                        : confidence::kServiceSeenByMany,
           {one->id});
  }
  if (f.subject.kind == SubjectKind::network_switch) {
    v.precision = Precision::exact;
    v.summary = say(f.symptom == Symptom::infiniband_error ? Phrase::link_of_switch
                    : f.traits.has(Trait::lasting)         ? Phrase::setting_of_switch
                                                           : Phrase::switch_failed,
                    f.subject.id, inside(f.title), at(c->start));
  } else if (told_by_server(f)) {
    v.precision = Precision::exact;
    v.summary = say(Phrase::storage_server_failed, *f.host, inside(f.title), at(c->start));
  } else if (c->hosts.size() == 1 && w.incident.hosts_with_output > 2 &&
             !f.traits.has(Trait::not_of_host)) {
    v.precision = Precision::candidates;
    v.summary = say(Phrase::service_seen_by_one_host, f.title, c->hosts[0], at(c->start));
    next(v, NextKind::plan, say(Phrase::check_mount_of_host, c->hosts[0]));
  } else {
    v.precision = Precision::exact;
    v.summary = say(Phrase::shared_service_failed, inside(f.title),
                    c->hosts.size() > 1 ? say(Phrase::seen_by_hosts, c->hosts.size()) : Text(),
                    at(c->start));
  }
  v.summary += in_its_words(f);
  advise(v, *c);
  return taken(say(Phrase::class_on_hosts_first, f.event_class, c->hosts.size()));
}

}  // namespace culprit::decide
