// Steps for faults that show only in who can no longer talk to whom, and who waits for whom.
#include <algorithm>
#include <map>
#include <set>

#include "decide/ledger.hpp"
#include "decide/walk.hpp"
#include "model/address.hpp"
#include "model/confidence.hpp"
#include "model/phrases.hpp"

namespace culprit::decide {

namespace {

// Machines beside the one that connections point to whose link is down, which nothing took
// back.
std::vector<const Finding*> links_down_elsewhere(const Walk& w, const Finding& diag) {
  std::vector<const Finding*> out;
  if (diag.subject.kind != SubjectKind::host) return out;
  for (const Cause& c : w.first.causes)
    for (const Finding* f : c.findings)
      if (c.kind == CauseKind::network && f->host && *f->host != diag.subject.id &&
          f->severity == Severity::critical && !f->alerts.empty() && !f->alerts.back().closed)
        out.push_back(f);
  return out;
}

// The first connections that broke name one machine and the kernel of another reports a dead link:
// what they share, or either.
Answer sources_disagree(Walk& w, const Finding& diag, const std::vector<const Finding*>& others) {
  Verdict& v = w.verdict;
  act(v, Action::checks, Precision::candidates, diag.symptom, diag.start);
  target(v, diag.subject, confidence::kOneOfTwoEnds, {diag.id});
  std::vector<Host> hosts{Host(diag.subject.id)}, down;
  constexpr std::size_t kMostNamed = 8;
  for (const Finding* f : others) {
    if (down.size() == kMostNamed) break;
    target(v, {SubjectKind::host, *f->host}, confidence::kOneOfTwoEnds, {f->id});
    if (!has(hosts, *f->host)) {
      hosts.push_back(*f->host);
      down.push_back(*f->host);
    }
  }
  v.summary =
      say(Phrase::links_and_connections_disagree, diag.subject.id, at(diag.start), list(down, 4));
  check(v, hosts);
  next(v, NextKind::plan, say(Phrase::look_at_switch, say(Phrase::shared_switch)));
  next(v, NextKind::collect, say(Phrase::kernel_log_which_part, diag.subject.id));
  return taken(diag.why);
}

// Where connections point to an address that nothing resolves: the one machine that reports a fault
// of its own link and is none of those that miss the address. Null: none, or several.
const Finding* owner_by_own_link(const Walk& w, const Finding& diag) {
  if (diag.subject.kind != SubjectKind::host || !is_address(diag.subject.id)) return nullptr;
  std::set<Host> missing_it;
  for (const Finding& f : w.incident.findings)
    if (const auto* line = std::get_if<LineFacts>(&f.facts);
        f.role == Role::cascade && line != nullptr && line->peer == diag.subject.id)
      missing_it.insert(f.hosts.begin(), f.hosts.end());
  const Finding* owner = nullptr;
  for (const Finding& f : w.incident.findings) {
    // Counters without a time may have grown at any: many of them on ports that carry no traffic.
    if (!f.fired() || kind_of(f) != CauseKind::network || !f.host || f.hearsay || !f.start ||
        is_address(*f.host) || missing_it.count(*f.host) > 0)
      continue;
    if (owner != nullptr && owner->host != f.host) return nullptr;
    owner = &f;
  }
  return owner;
}

// Counters of a port of that machine that grew beside those of all other ports, up to about the
// moment in which its connections broke: a second source, which looked at the port itself. A single
// counter grows by one now and then on any port.
const Finding* port_went_bad(const Walk& w, const Finding& diag) {
  constexpr Nanoseconds kLastReading = 30 * kMinute;
  constexpr std::size_t kLeastCounters = 2;
  const auto& broke = diag.start ? diag.start : w.incident.last_progress;
  std::map<std::string, std::set<std::string>> counters;  // by port
  for (const Finding& f : w.incident.findings) {
    if (!f.fired(Analysis::outliers) || f.subject.kind != SubjectKind::nic ||
        f.symptom != Symptom::infiniband_error || f.host != Host(diag.subject.id) || !f.start ||
        !f.end || !broke || *f.start - f.uncertainty > *broke || *f.end + kLastReading < *broke)
      continue;
    counters[f.subject.id].insert(f.event_class);
    if (counters[f.subject.id].size() == kLeastCounters) return &f;
  }
  return nullptr;
}

// What the one machine says of its own link that is an end of each of a few broken connections.
const Finding* own_word_of_link(const Walk& w, const Finding& diag) {
  const auto* broke = std::get_if<BreakFacts>(&diag.facts);
  if (broke == nullptr || broke->alerted.size() != 1) return nullptr;
  for (const Finding& f : w.incident.findings)
    if (f.outcome != Outcome::ruled_out && f.analysis == Analysis::classify &&
        f.role == Role::root && f.cause == CauseKind::network && !f.hearsay &&
        f.host == broke->alerted.front())
      return &f;
  return nullptr;
}

// One connection broke, and of its two ends, both of which were collected, the log of one tells of
// its link in that moment: too little by itself, and the other has nothing at all.
const Finding* word_of_one_end(const Walk& w, const Finding& diag) {
  constexpr Nanoseconds kMoment = 2 * kMinute;
  const Finding* out = nullptr;
  for (const Host& end : diag.hosts)
    if (w.incident.machines.count(end) == 0) return nullptr;
  for (const Finding& f : w.incident.findings) {
    if (f.analysis != Analysis::classify || f.role != Role::root || f.hearsay || !f.host ||
        f.cause != CauseKind::network || !has(diag.hosts, *f.host))
      continue;
    if (out != nullptr && out->host != f.host) return nullptr;
    const bool then = f.end && diag.start && *f.end <= *diag.start + f.uncertainty &&
                      *diag.start - *f.end <= kMoment;
    if (then && (out == nullptr || f.severity > out->severity)) out = &f;
  }
  return out;
}

// Its peers lost their connections to it, and a source of its own shows that its port went bad.
Answer link_and_peers(Walk& w, const Finding& diag, const Finding& link, const Subject& machine) {
  Verdict& v = w.verdict;
  act(v, Action::isolate, Precision::exact, diag.symptom, diag.start);
  target(v, machine, confidence::kLinkAndPeers, {diag.id, link.id});
  if (link.subject.kind == SubjectKind::nic)
    target(v, link.subject, confidence::kLinkAndPeers, {link.id});
  v.summary = say(Phrase::connections_and_port, machine.id, at(diag.start), link.subject.id,
                  inside(link.title));
  drain(w, Host(machine.id), "link fails");
  if (!link.advice.empty()) next(v, NextKind::plan, link.advice);
  return taken(diag.why);
}

// On other machines, by the time that it did: it was taken down with them.
bool others_had_ended(const Case& incident, const ExitFact& x) {
  return std::ranges::any_of(incident.exits, [&](const ExitFact& other) {
    return other.code != 0 && other.host != x.host && other.time && x.time &&
           *other.time <= *x.time;
  });
}

// A process on that machine had ended by then, as those say that saw it end: it takes its
// connections along, and the machine lives on.
bool process_ended_there(const Walk& w, const Finding& diag) {
  constexpr Nanoseconds kClocks = 2 * kSecond;
  constexpr Nanoseconds kPolled = 10 * kSecond;  // a launcher looks after its processes so often
  return diag.host && std::ranges::any_of(w.incident.exits, [&](const ExitFact& x) {
           // SIGABRT and SIGTERM come of what others failed with.
           const std::int64_t signal = signal_of(x.code);
           if (x.code == 0 || signal == 6 || signal == 15 || x.host != diag.host) return false;
           const bool killed = signal == 7 || signal == 9 || signal == 11;
           if (killed && others_had_ended(w.incident, x)) return false;
           if (x.time && diag.start)
             return *x.time <= *diag.start + diag.uncertainty + (killed ? kPolled : kClocks);
           return killed;
         });
}

// That machine had waited for others in vain by then, as it says itself: who gives up closes its
// connections, and is no more at fault than any that waits.
bool gave_up_waiting(const Walk& w, const Finding& diag) {
  return diag.host && std::ranges::any_of(w.incident.findings, [&](const Finding& f) {
           return f.fired(Analysis::classify) && f.role == Role::cascade &&
                  f.symptom == Symptom::job_hang && !f.hearsay && f.host == diag.host &&
                  (!f.start || !diag.start ||
                   *f.start <= *diag.start + diag.uncertainty + w.params.order_slack);
         });
}

// No rank ever reached the store of rank 0.
bool never_connected(const Walk& w) {
  const auto fired = [&](Trait trait) {
    return std::ranges::any_of(w.incident.findings,
                               [&](const Finding& f) { return f.fired() && f.traits.has(trait); });
  };
  return fired(Trait::store_unreached) && !fired(Trait::store_lost) && !w.incident.last_iteration &&
         !w.incident.last_progress;
}

// Nobody listens there: rank 0 did not start, or it is elsewhere.
Answer no_store(Walk& w, const Finding& diag) {
  Verdict& v = w.verdict;
  if (diag.host && !w.incident.of_job(*diag.host)) {
    v.action = Action::repair;
    v.targets.clear();
    target(v, {SubjectKind::config, "MASTER_ADDR"}, confidence::kSettingDiffers, {diag.id});
    v.summary = say(Phrase::store_on_foreign_host, diag.subject.id, list(w.incident.job_hosts));
    next(v, NextKind::plan, say(Phrase::set_master_addr));
    return taken(diag.why);
  }
  v.summary = say(Phrase::store_never_reached, diag.subject.id);
  next(v, NextKind::plan, say(Phrase::set_master_addr));
  next(v, NextKind::collect, say(Phrase::collect_logs_of_host, diag.subject.id));
  return taken(diag.why);
}

}  // namespace

namespace {

// The platform took pods or a node of the job away, and signs of failure follow at once: their
// peers lost their connections to them by that.
const Finding* platform_word(const Walk& w, const Finding& diag) {
  constexpr Nanoseconds kAfter = 2 * kMinute, kBefore = 5 * kSecond;
  const auto follows = [&](const Finding& word) {
    const auto near = [&](const std::optional<Nanoseconds>& t) {
      return t && *t >= *word.start - kBefore && *t <= *word.start + kAfter;
    };
    if (diag.start) return near(diag.start);
    return std::ranges::any_of(w.incident.findings, [&](const Finding& f) {
      return f.fired() && near(f.start) && (f.role == Role::cascade || f.role == Role::teardown);
    });
  };
  for (const Finding& f : w.incident.findings)
    if (f.fired(Analysis::classify) && f.start &&
        f.traits.has_any({Trait::pods_evicted, Trait::node_drained, Trait::preempted}) &&
        follows(f))
      return &f;
  return nullptr;
}

}  // namespace

// What the ends of it print, in the words of the first; "" nothing that a rule knows.
static Text broken_as(const Walk& w, const Finding& diag) {
  const Finding* first = nullptr;
  for (const Finding& f : w.incident.findings)
    if (f.fired(Analysis::classify) && f.role == Role::cascade &&
        f.symptom == Symptom::infiniband_error &&
        std::ranges::any_of(f.hosts, [&](const Host& h) { return has(diag.hosts, h); }) &&
        (first == nullptr || (f.start && first->start && *f.start < *first->start)))
      first = &f;
  return first == nullptr ? Text() : inside(first->title);
}

// One connection broke before all others: one of its two ends, which checks can tell apart.
static Answer one_of_two_ends(Walk& w, const Finding& diag) {
  Verdict& v = w.verdict;
  act(v, Action::checks, Precision::candidates, diag.symptom, diag.start);
  for (const Host& host : diag.hosts)
    target(v, {SubjectKind::host, host}, confidence::kOneOfTwoEnds, {diag.id});
  v.summary =
      say(Phrase::first_connection_between, list(diag.hosts), at(diag.start), broken_as(w, diag));
  next(v, NextKind::plan, say(Phrase::all_gather_with_good_machine, list(diag.hosts)));
  next(v, NextKind::collect, say(Phrase::kernel_log_of_both));
  return taken(diag.why);
}

// That the others report nothing says something only where they are the most, and were heard.
static bool others_were_heard(const Walk& w, std::size_t reporters) {
  const std::size_t heard = w.incident.hosts_with_output;
  const std::size_t all = std::max(w.incident.job_hosts.size(), w.incident.hosts);
  return heard >= 4 * reporters && 4 * heard >= 3 * all;
}

Answer root_diag(Walk& w) {
  const Finding* diag = nullptr;
  for (const Finding& f : w.incident.findings)
    if (f.analysis == Analysis::root_diag) diag = &f;
  if (diag == nullptr) return not_enough(say(Phrase::no_peer_named));
  if (const Finding* link = own_word_of_link(w, *diag);
      link != nullptr && diag->outcome == Outcome::not_enough_evidence)
    return link_and_peers(w, *diag, *link, {SubjectKind::host, *link->host});
  if (diag->outcome == Outcome::not_enough_evidence && diag->hosts.size() == 2 &&
      w.incident.hosts > 2) {
    // Each names the other: of a job that was heard, the two who alone report anything.
    const bool each_other = diag->count > 1;
    if (each_other && others_were_heard(w, diag->hosts.size())) return ruled_out(diag->why);
    if (const Finding* link = word_of_one_end(w, *diag))
      return link_and_peers(w, *diag, *link, {SubjectKind::host, *link->host});
    return one_of_two_ends(w, *diag);
  }
  if (diag->outcome == Outcome::not_enough_evidence && diag->hosts.size() == 1 &&
      diag->subject.kind == SubjectKind::host) {
    Verdict& v = w.verdict;
    if (const Finding* port = port_went_bad(w, *diag))
      return link_and_peers(w, *diag, *port, diag->subject);
    act(v, Action::investigate, Precision::candidates, diag->symptom, diag->start);
    target(v, diag->subject, confidence::kBrokeFirstUnseen, {diag->id});
    const auto* broke = std::get_if<BreakFacts>(&diag->facts);
    if (broke != nullptr && broke->store_only && never_connected(w)) return no_store(w, *diag);
    v.summary = say(broke != nullptr && broke->store_only ? Phrase::store_broke_first
                                                          : Phrase::broke_first_unseen,
                    diag->subject.id, at(diag->start));
    next(v, NextKind::collect, say(Phrase::collect_logs_of_host, diag->subject.id));
    return taken(diag->why);
  }
  if (!diag->fired())
    return {diag->outcome == Outcome::ruled_out ? StepOutcome::ruled_out
                                                : StepOutcome::not_enough_evidence,
            diag->why};
  if (const Finding* word = platform_word(w, *diag))
    return ruled_out(say(Phrase::platform_stopped_before, inside(word->title), at(word->start)));
  if (const Finding* setting = setting_none_survives(w); setting != nullptr)
    return ruled_out(say(Phrase::setting_none_survives, setting->subject.id));
  if (process_ended_there(w, *diag))
    return ruled_out(say(Phrase::process_ended_first, *diag->host));
  if (gave_up_waiting(w, *diag)) return ruled_out(say(Phrase::gave_up_waiting, *diag->host));
  if (const auto others = links_down_elsewhere(w, *diag); !others.empty())
    return sources_disagree(w, *diag, others);
  Verdict& v = w.verdict;
  act(v, diag->subject.kind == SubjectKind::network_switch ? Action::repair : Action::isolate,
      Precision::exact, diag->symptom, diag->start);
  if (const Finding* link = owner_by_own_link(w, *diag)) {
    target(v, {SubjectKind::host, *link->host}, diag->confidence, {link->id, diag->id});
    target(v, link->subject, diag->confidence, {link->id});
    v.summary = say(Phrase::connections_of_address_and_link, diag->subject.id, at(diag->start),
                    *link->host, inside(link->title));
    drain(w, *link->host, "link fails");
    if (!link->advice.empty()) next(v, NextKind::plan, link->advice);
    return taken(diag->why);
  }
  if (const Finding* port = port_went_bad(w, *diag))
    return link_and_peers(w, *diag, *port, diag->subject);
  target(v, diag->subject, diag->confidence, {diag->id});
  v.summary = diag->subject.kind == SubjectKind::network_switch
                  ? say(Phrase::connections_cross_switch, diag->subject.id)
                  : say(Phrase::connections_of_host_first, diag->subject.id, at(diag->start));
  if (diag->subject.kind == SubjectKind::host)
    drain(w, decide::machine_of(diag->subject), "connections broke first");
  next(v, NextKind::plan, diag->advice);
  if (diag->subject.kind == SubjectKind::host)
    next(v, NextKind::collect, say(Phrase::kernel_log_which_part, diag->subject.id));
  return taken(diag->why);
}

namespace {

bool no_output(const Finding& f) {
  const auto* silence = std::get_if<SilenceFacts>(&f.facts);
  return silence != nullptr && silence->no_output;
}

}  // namespace

Answer silent_rank(Walk& w) {
  std::vector<const Finding*> silent;
  const Finding* none = nullptr;
  for (const Finding& f : w.incident.findings)
    if (f.analysis == Analysis::silence)
      (f.fired() ? (void)silent.push_back(&f) : (void)(none = &f));
  if (silent.empty())
    return none == nullptr ? ruled_out(say(Phrase::no_rank_timed_out))
                           : Answer{StepOutcome::not_enough_evidence, none->why};
  Verdict& v = w.verdict;
  act(v, Action::investigate, silent.size() == 1 ? Precision::exact : Precision::candidates,
      Symptom::job_hang, silent.front()->start);
  std::vector<Text> names;
  for (const Finding* f : silent) {
    target(v, f->subject, f->confidence, {f->id});
    names.push_back(f->host ? say(Phrase::rank_in_brackets_on, f->subject.id, *f->host)
                            : Text(f->subject.id));
  }
  v.summary = no_output(*silent.front()) ? say(Phrase::hung_nothing_collected_of, list(names))
                                         : say(Phrase::hung_others_timed_out, list(names));
  next(v, NextKind::collect, say(Phrase::stacks_of_that_rank));
  next(v, NextKind::collect, say(Phrase::recorder_never_entered));
  return taken(silent.front()->why);
}

namespace {

// Of this end: minutes before the report, or, of one without a time, not long before the last step.
bool just_before(const Walk& w, Nanoseconds asked, const std::optional<Nanoseconds>& reported) {
  if (reported) return asked <= *reported && *reported - asked <= w.params.cleanup;
  const auto& last = w.incident.last_progress;
  return !last || asked + w.params.went_on >= *last;
}

}  // namespace

Answer distributed_errors(Walk& w) {
  std::set<Host> hosts, peers;
  std::vector<const Finding*> from;
  bool nameless = false;
  for (const Finding& f : w.incident.findings) {
    if (!f.fired(Analysis::classify) || f.severity != Severity::distributed ||
        f.role != Role::cascade || went_on(w.incident, w.params, f))
      continue;
    from.push_back(&f);
    hosts.insert(f.hosts.begin(), f.hosts.end());
    nameless = nameless || f.hosts.empty();
    if (const auto& peer = line_of(f).peer) peers.insert(Host(*peer));
  }
  if (from.empty())
    return ruled_out(say(Phrase::no_distributed_error));  // the paper's "at most two" also
                                                          // holds for none: it is no evidence
  if (nameless || hosts.empty()) return not_enough(say(Phrase::reports_without_hosts));
  if (hosts.size() > w.params.few_reporters)
    return ruled_out(say(Phrase::hosts_report_distributed, hosts.size()));
  // Whoever was asked to stop reports no peer that it lost.
  if (std::ranges::any_of(w.incident.findings, [&](const Finding& f) {
        return f.fired() && f.start &&
               (f.cause == CauseKind::outside || f.traits.has(Trait::pods_evicted)) &&
               just_before(w, *f.start, from.front()->start);
      }))
    return ruled_out(say(Phrase::asked_to_stop_before));
  if (!others_were_heard(w, hosts.size()))
    return not_enough(say(Phrase::nobody_to_compare, hosts.size(), w.incident.hosts_with_output));
  Verdict& v = w.verdict;
  act(v, Action::isolate,
      hosts.size() == 1 && peers.empty() ? Precision::exact : Precision::candidates);
  v.symptom =
      from.front()->symptom == Symptom::none ? Symptom::infiniband_error : from.front()->symptom;
  v.start = from.front()->start;
  for (const Host& host : hosts)
    target(v, {SubjectKind::host, host}, confidence::kFewReporters, ids(from));
  v.summary =
      say(Phrase::few_hosts_report, hosts.size(), w.incident.hosts_with_output, list(hosts));
  for (const Host& host : hosts) drain(w, host, "distributed errors");
  return taken(say(Phrase::few_reporters, w.params.few_reporters));
}

}  // namespace culprit::decide
