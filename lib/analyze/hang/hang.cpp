// Is there a hang, how sure is that, and because of whom.
#include "analyze/hang/hang.hpp"

#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "analyze/hang/lock_file.hpp"
#include "analyze/hang/standstill.hpp"
#include "analyze/hang/process_state.hpp"
#include "analyze/hang/suspects.hpp"
#include "model/confidence.hpp"
#include "model/contains.hpp"
#include "model/phrases.hpp"
#include "model/ranges.hpp"
#include "model/sort.hpp"

namespace culprit::analyze {

namespace {

// Why there can be no hang at the moment of the dumps; "" = there can be one.
Text moved(const Facts& facts, const CollectiveReport& collectives, const StackReport& stacks) {
  if (collectives.moving) return collectives.moving_why;
  if (stacks.motion == Motion::moving && collectives.leaves.empty()) return stacks.motion_why;
  return went_on(facts);
}

// What all findings of this analysis have: the first time-out is when it began.
Finding base_of(const std::vector<Signal>& signals) {
  Finding base;
  base.analysis = Analysis::hang;
  base.symptom = Symptom::job_hang;
  base.severity = Severity::distributed;
  base.role = Role::root;
  for (const Signal* s : timeouts(signals))
    if (s->start && (!base.start || *s->start < *base.start)) {
      base.start = s->start;
      base.uncertainty = s->uncertainty;
    }
  return base;
}

// One snapshot of a job of which nothing says whether it stood still: what it shows anyway.
struct OneSnapshot {
  bool one = false;       // all wait, and for one rank or machine
  bool ordinary = false;  // that one computes, or has no stack: so looks a job that is well, too
};

OneSnapshot one_snapshot(const StackReport& stacks, std::size_t crowd) {
  const StackSink* first = stacks.sinks.empty() ? nullptr : &stacks.sinks.front();
  std::size_t waiting = 0, busy = 0;
  for (const StackProcess& p : stacks.processes) {
    if (p.role != "trainer") continue;
    const bool sink = first != nullptr && p.rank && contains(first->ranks, *p.rank);
    (p.stage.waits() ? waiting : busy) += !sink;
  }
  const bool enough = busy == 0 && waiting >= crowd;
  if (first == nullptr) return {enough && !stacks.storage.empty(), false};
  const std::vector<Rank>& ranks = first->ranks;
  // All of whom there is a stack wait: it is for one of whom there is none, or for the ranks of
  // one machine.
  const bool unheard =
      first->unheard &&
      (first->hosts.size() == 1 ||
       (first->hosts.empty() && number_of(ranks.back()) - number_of(ranks.front()) ==
                                    static_cast<std::int64_t>(ranks.size()) - 1));
  const bool computing =
      !unheard && (first->stage.doing == Doing::compute || first->stage.doing == Doing::unknown);
  const bool single = first->elsewhere && (ranks.size() == 1 || first->hosts.size() == 1 ||
                                           (!computing && 3 * ranks.size() <= waiting));
  return {
      enough && (single || unheard || !stacks.storage.empty()) && !(computing && ranks.size() > 1),
      computing || unheard};
}

// Whom to look at first where nothing proves a hang: "rank 9 (own code in readinto)". "" when
// nobody stands out.
Text lead(const StackReport& stacks) {
  std::vector<Text> out;
  std::size_t ranks = 0;
  for (const StackSink& s : stacks.sinks) {
    if (!s.elsewhere) continue;
    ranks += s.ranks.size();
    if (s.ranks.empty())
      out.push_back(say(Phrase::process_that_is_in, describe(s.stage), s.function));
    else
      out.push_back(say(s.ranks.size() == 1 ? Phrase::rank_doing : Phrase::ranks_doing,
                        to_ranges(s.ranks), describe(s.stage), s.function));
  }
  if (out.size() > 3 || 4 * ranks > stacks.trainers) return {};
  Text all;
  for (const Text& one : out) {
    if (!all.empty()) all += say(Phrase::and_also);
    all += one;
  }
  return all;
}

// Where most trainers stand, which says no more than that; "" = not in one place.
Text most_stand(const StackReport& stacks) {
  constexpr std::size_t kFrames = 3;
  if (stacks.groups.empty()) return {};
  const StackGroup& most = stacks.groups.front();
  const auto& frames = stacks.normal.stacks[most.stack];
  if (most.role != "trainer" || frames.empty() || 2 * most.processes <= stacks.trainers) return {};
  std::string place;
  for (std::size_t i = 0; i < std::min(kFrames, frames.size()); ++i)
    place += (i == 0 ? "" : " < ") + stacks.normal.names[frames[frames.size() - 1 - i]];
  return say(Phrase::most_stand_in, most.processes, stacks.trainers, place);
}

// No rank is named: there is no hang, or nothing tells who it is.
Finding nobody(const Finding& base, Outcome outcome, Text why, const StackReport& stacks) {
  Finding f = base;
  f.id = "hang/none";
  f.outcome = outcome;
  f.subject = {SubjectKind::job, "job"};
  f.scope = Scope::job_wide;
  f.title = say(outcome == Outcome::ruled_out ? Phrase::no_hang : Phrase::no_rank_stands_out);
  f.symptom = Symptom::none;
  f.severity = Severity::info;
  f.role = Role::advice;
  f.confidence = confidence::kNoHang;
  f.why = std::move(why);
  if (outcome == Outcome::not_enough_evidence) f.facts = UndecidedHangFacts{lead(stacks)};
  return f;
}

Text title_of(const Suspect& s) {
  return s.sources == std::vector<std::string>{"silence"}
             ? say(s.kind == StopKind::no_dump ? Phrase::no_output_others_timed_out
                                               : Phrase::silent_others_timed_out,
                   name(s.kind))
             : say(Phrase::stopped_in_process, name(s.kind),
                   s.role == "trainer" ? std::string() : s.role, s.reason);
}

// Who a suspect is, as a finding names it. stands: it is proven that the job stood.
Finding finding_of(const Finding& base, const Suspect& s, const Topology& topology, bool stands) {
  Finding f = base;
  f.event_class = "hang/" + std::string(name(s.kind));
  std::ranges::replace(f.event_class, ' ', '_');
  f.ranks = s.who;
  std::set<Host> hosts(s.hosts.begin(), s.hosts.end());
  for (const Host& host : topology.hosts_of(s.who)) hosts.insert(host);
  f.hosts.assign(hosts.begin(), hosts.end());
  if (hosts.size() == 1) f.host = *hosts.begin();
  const bool code = s.kind == StopKind::mismatch || s.kind == StopKind::left_early;
  f.scope = code                          ? Scope::user_code
            : s.kind == StopKind::storage ? Scope::shared
                                          : Scope::host_local;
  if (s.kind == StopKind::storage) {
    f.subject = {SubjectKind::storage, s.storage};
    f.symptom = Symptom::hdfs_error;
  } else if (s.within || s.common || (s.who.empty() && s.hosts.size() == 1))
    f.subject = {SubjectKind::host, s.hosts.front()};
  else if (s.who.empty())
    f.subject =
        s.code.empty() ? Subject{SubjectKind::job, "job"} : Subject{SubjectKind::code, s.code};
  else if ((s.kind == StopKind::network && !s.requests) || s.who.size() != 1)
    f.subject = s.group.empty() || s.requests
                    ? Subject{SubjectKind::group, "ranks " + to_ranges(s.who)}
                    : Subject{SubjectKind::group, s.group};
  else
    f.subject = {SubjectKind::rank, std::to_string(number_of(s.who[0]))};
  if (s.kind == StopKind::mismatch) f.symptom = Symptom::collective_mismatch;
  if (s.kind == StopKind::storage) f.symptom = Symptom::job_hang;
  f.id = fmt::format("hang/{}/{}", name(f.subject.kind), f.subject.id);
  f.why = s.why;
  f.title = title_of(s);
  HangFacts known = s;
  known.ranks = to_ranges(s.who);
  known.standing = stands;
  sort_unique(known.sources);
  f.facts = std::move(known);
  return f;
}

// What shows the rank itself first: its stack, its counters, then the others' words.
void add_evidence(const Facts& facts, const StackReport& stacks, const std::vector<Finding>& others,
                  const Suspect& s, Finding& f) {
  std::vector<const Finding*> grounds;
  for (const Analysis analysis : {Analysis::stacks, Analysis::collectives, Analysis::silence})
    for (const bool exact : {true, false})
      for (const Finding& other : others) {
        if (!other.fired() || other.analysis != analysis || other.event_class == "slow_rank" ||
            (other.ranks == s.who) != exact)
          continue;
        if (std::ranges::any_of(other.ranks, [&](Rank r) {
              return std::binary_search(s.who.begin(), s.who.end(), r);
            }))
          grounds.push_back(&other);
      }
  // Stacks and counters speak for themselves, also where their own analysis would not have
  // accused anybody.
  if (s.place.member != 0) f.evidence.push_back(facts.evidence(s.place));
  for (const StackSink& sink : stacks.sinks)
    if (s.who.empty() ? sink.elsewhere && sink.hosts == s.hosts : sink.ranks == s.who)
      for (const std::size_t sample : sink.samples)
        if (f.evidence.size() < 3) f.evidence.push_back(evidence_of(facts, sample));
  for (const Finding* other : grounds) {
    f.leads_to.push_back(other->id);
    for (const Evidence& e : other->evidence)
      if (f.evidence.size() < 8 && std::ranges::none_of(f.evidence, [&](const Evidence& x) {
            return x.member == e.member && x.offset == e.offset;
          }))
        f.evidence.push_back(e);
  }
  for (const StackProcess& p : stacks.processes)  // of whom nothing was collected: who waits for it
    if (f.evidence.empty() && p.stage.waits()) f.evidence.push_back(evidence_of(facts, p.sample));
}

// Recorders without anybody that is behind, and looks at a job that may be healthy. Ranks that call
// different collectives are wrong whenever one looks.
bool prove_nothing(const CollectiveReport& collectives, const Standstill& still) {
  return collectives.leaves.empty() ||
         (still.periodic && std::ranges::none_of(collectives.leaves, [](const Leaf& leaf) {
            return leaf.kind == StopKind::mismatch;
          }));
}

// What all members have joined takes milliseconds, in whatever phase the job was, and what a GPU
// was given takes seconds: minutes without any launch prove it.
bool proven_by_quiet(const Suspect& s, const Standstill& still,
                     const CollectiveReport& collectives) {
  const bool device = s.kind == StopKind::host_stopped && s.synchronizes && s.who.size() == 1 &&
                      s.waiting + 1 >= static_cast<std::int64_t>(collectives.seen.size());
  return still.quiet && collectives.source == CollectiveSource::recorder &&
         ((s.kind == StopKind::network && *still.quiet >= StandstillParams{}.joined) ||
          (device && *still.quiet >= StandstillParams{}.device));
}

}  // namespace

std::vector<Finding> hang(const Facts& facts, const Topology& topology,
                          const std::vector<Signal>& signals, const CollectiveReport& collectives,
                          const StackReport& stacks, const std::vector<Finding>& others,
                          const HangParams& params) {
  constexpr std::size_t kMost = 16;  // findings
  const HangWord word = hang_reported(signals);
  // What a debugger holds stands, whoever else says so.
  const auto odd = odd_trainer(facts);
  const bool traced = odd && odd->traced;
  const bool silent =
      std::ranges::any_of(others, [](const Finding& f) { return f.fired(Analysis::silence); });
  if (collectives.source == CollectiveSource::none && stacks.processes.empty() && !silent &&
      !traced && !(word.known && odd))
    return {};
  const Finding base = base_of(signals);
  const auto none = [&](Outcome outcome, Text why) {
    return std::vector<Finding>{nobody(base, outcome, std::move(why), stacks)};
  };
  const bool reported = word.known || collectives.timed_out > 0;
  if (const Text why = reported ? Text() : moved(facts, collectives, stacks); !why.empty())
    return none(Outcome::ruled_out, why);
  // Where nobody reported a time-out, the age of what is unfinished tells.
  const Standstill still =
      reported || stacks.motion == Motion::moving ? Standstill{} : standstill(facts);
  const bool standing =
      reported || traced || still.proven || stacks.motion == Motion::standing || stacks.hang;
  // Stacks of a job that may be healthy are a mixture of everything: one snapshot names somebody
  // only when all others wait, for the same one, and nothing else in the bundle tells how the job
  // went.
  double certainty = reported || traced || stacks.motion == Motion::standing ? 1
                     : standing                                              ? params.by_files
                                                                             : params.assumed;
  // Before its first step a job waits for no lock that long, or nobody would have looked.
  if (standing || facts.progress.empty())
    if (auto lock = lock_file_wait(facts, topology, stacks, base, standing,
                                   standing ? certainty : params.snapshot))
      return {*std::move(lock)};
  if (!standing && prove_nothing(collectives, still)) {
    if (collectives.pending == 0 && collectives.source != CollectiveSource::none)
      return none(Outcome::ruled_out, say(Phrase::no_unfinished_operation));
    const OneSnapshot shown = one_snapshot(stacks, params.crowd);
    // A rank that computes while the others wait is what a healthy job looks like, too; so is one
    // whose dump failed.
    if (!shown.one || !facts.exits.empty() || (!facts.progress.empty() && shown.ordinary))
      return none(Outcome::not_enough_evidence,
                  say(Phrase::snapshot_tells_not) + most_stand(stacks));
    certainty = params.snapshot;
  }
  const std::vector<Suspect> suspects = find_suspects(facts, topology, collectives, stacks, others,
                                                      odd, standing, params.contradiction);
  // All of it leads to one machine after all.
  const bool machine = suspects.size() == 1 && suspects.front().hosts.size() == 1;
  if (!standing && collectives.scattered && !machine)
    return none(Outcome::not_enough_evidence, say(Phrase::unfinished_in_many_places));
  if (suspects.empty()) return none(Outcome::not_enough_evidence, say(Phrase::nobody_behind));

  std::vector<Finding> out;
  std::set<std::string> ids;
  for (const Suspect& s : suspects) {
    if (out.size() >= kMost) break;
    const bool joined = proven_by_quiet(s, still, collectives);
    Finding f = finding_of(base, s, topology, standing || joined);
    while (!ids.insert(f.id).second) f.id += "+";
    const double sure = !standing && joined ? std::max(certainty, params.by_files) : certainty;
    f.confidence = std::min({confidence::kMostOfWait, s.confidence * sure, sure});
    if (!standing && joined) f.why += say(Phrase::and_besides, still.quiet_why);
    if (!reported && still.proven) f.why += say(Phrase::and_besides, still.why);
    add_evidence(facts, stacks, others, s, f);
    out.push_back(std::move(f));
  }
  return out;
}

}  // namespace culprit::analyze
