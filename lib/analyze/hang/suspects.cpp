// Suspects of counters, stacks, silence and states of processes, joined where they are the same.
#include "analyze/hang/suspects.hpp"

#include <algorithm>
#include <map>
#include <set>

#include "analyze/hang/process_state.hpp"
#include "analyze/hang/stack_witness.hpp"
#include "model/confidence.hpp"
#include "model/contains.hpp"
#include "model/phrases.hpp"
#include "model/sort.hpp"

namespace culprit::analyze {

namespace {

// The user's own frame of a launch: where the program called the collective.
std::string launched_at(const Facts& facts, const Leaf& leaf) {
  for (const CollectiveSample& c : facts.collectives) {
    if (c.row.group != leaf.group || c.row.sequence != leaf.sequence || c.stack < 0 ||
        !c.row.rank || !contains(leaf.ranks, *c.row.rank))
      continue;
    if (std::string code = launched_at(facts, c); !code.empty()) return code;
  }
  return {};
}

Suspect suspect_of(const Facts& facts, const CollectiveReport& collectives, const Leaf& leaf) {
  Suspect s;
  s.kind = leaf.kind;
  s.who = leaf.ranks;
  s.waiting = leaf.waiting;
  s.confidence = leaf.confidence;
  s.why = leaf.why;
  s.tie = leaf.tie;
  s.sources = {std::string(name(collectives.source))};
  s.operation = leaf.operation;
  if (leaf.group != GroupId::none) s.group = group_name(facts, leaf.group);
  if (leaf.kind == StopKind::mismatch) s.code = launched_at(facts, leaf);
  s.requests = leaf.requests;
  if (leaf.kind == StopKind::network && !leaf.within.empty()) {
    s.within = true;
    s.hosts = {leaf.within};
  }
  return s;
}

// Ends of chains of stacks, where no counter names a rank.
void add_stacks(const CollectiveReport& collectives, const StackReport& stacks,
                const StackWitness& witness, std::vector<Suspect>& out) {
  // Whom the counters show inside the operation that is stuck, that operation does not wait
  // for, whatever line Python shows.
  std::set<Rank> inside;
  for (const Leaf& l : collectives.leaves)
    if (l.kind == StopKind::network) inside.insert(l.ranks.begin(), l.ranks.end());
  const auto within = [&](const StackSink& sink) {
    return !sink.ranks.empty() &&
           std::ranges::all_of(sink.ranks, [&](Rank r) { return inside.count(r) != 0; });
  };
  std::vector<Suspect> by_stack;
  for (const StackSink& sink : stacks.sinks) {
    if (within(sink)) continue;
    if (!by_stack.empty() && sink.waiting * 2 < stacks.sinks.front().waiting) break;
    by_stack.push_back(witness.suspect_of(sink));
  }
  const bool tells = std::ranges::any_of(
      stacks.sinks, [&](const StackSink& s) { return s.elsewhere && !within(s); });
  if (tells || out.empty()) {
    for (Suspect& s : by_stack)
      for (const Suspect& c : out)
        if (c.who == s.who) s.join(c);
    out = std::move(by_stack);
  }
}

// Absence of a rank's whole output, which may just not have been collected.
bool unheard(const Finding& f) {
  const auto* silence = std::get_if<SilenceFacts>(&f.facts);
  return silence != nullptr && silence->no_output;
}

void add_silence_to(const std::vector<Finding>& others, std::vector<Suspect>& out) {
  std::set<Rank> silent;
  for (const Finding& f : others)
    if (f.fired(Analysis::silence) && !unheard(f)) silent.insert(f.ranks.begin(), f.ranks.end());
  for (Suspect& s : out)
    if (s.who.size() == 1 && silent.contains(s.who[0])) {
      s.confirm("silence", confidence::kSecondSource);
      s.why += say(Phrase::never_reported_either);
    }
}

// Many connections that do not move and have one machine in common: its network, not theirs. Of
// collectives whose members are on the same machines all, those that reported nothing are not
// known, and the one machine of which every rank did report has no more part in it than others.
std::optional<Suspect> common_machine(const Topology& topology, const std::vector<Suspect>& out) {
  if (out.size() < 2 ||
      std::ranges::any_of(out, [](const Suspect& s) { return s.kind != StopKind::network; }))
    return std::nullopt;
  std::map<Host, std::set<std::size_t>> ends;
  for (std::size_t i = 0; i < out.size(); ++i)
    for (const Rank r : out[i].who)
      if (const auto it = topology.host_of.find(r); it != topology.host_of.end())
        ends[it->second].insert(i);
  const auto common = [&](const auto& end) { return end.second.size() == out.size(); };
  if (ends.size() < 3 || std::ranges::count_if(ends, common) != 1) return std::nullopt;
  const bool others_differ = std::ranges::all_of(
      ends, [&](const auto& end) { return common(end) || 2 * end.second.size() <= out.size(); });
  if (!others_differ) return std::nullopt;
  const Host& host = std::ranges::find_if(ends, common)->first;
  Suspect s;
  s.kind = StopKind::network;
  s.hosts = {host};
  for (const Suspect& one : out)
    for (const Rank r : one.who)
      if (const auto it = topology.host_of.find(r);
          it != topology.host_of.end() && it->second == host)
        s.who.push_back(r);
  sort_unique(s.who);
  s.confidence = confidence::kStorageWait;
  s.sources = out.front().sources;
  s.why = say(Phrase::cross_one_machine, out.size(), host);
  s.common = true;
  return s;
}

// Who is silent while all others report has stopped on its host; with that much evidence a
// missing dump is no question.
void add_silent_ranks(const std::vector<Finding>& others, std::vector<Suspect>& out) {
  if (std::ranges::any_of(out, [](const Suspect& s) {
        return s.kind != StopKind::no_dump && s.kind != StopKind::network;
      }))
    return;
  for (const Finding& f : others) {
    if (!f.fired(Analysis::silence) || f.ranks.empty()) continue;
    const auto same = std::ranges::find_if(out, [&](const Suspect& s) { return s.who == f.ranks; });
    if (same != out.end()) {
      if (unheard(f)) continue;
      // Twice absence is still absence: it may have left as well as stopped.
      same->kind = StopKind::host_stopped;
      same->confidence = std::min(same->confidence, f.confidence);
      continue;
    }
    if (std::ranges::any_of(out, [](const Suspect& s) { return s.kind == StopKind::no_dump; }))
      continue;
    Suspect s;
    s.kind = unheard(f) ? StopKind::no_dump : StopKind::host_stopped;
    s.who = f.ranks;
    s.confidence = f.confidence;
    s.why = f.why;
    s.sources = {"silence"};
    if (const auto* silence = std::get_if<SilenceFacts>(&f.facts))
      s.waiting = static_cast<std::int64_t>(silence->reported);
    out.push_back(std::move(s));
  }
}

// Where neither counters nor stacks name a rank that stopped, the state of its process may.
void add_odd_trainer(Suspect s, std::vector<Suspect>& out) {
  std::erase_if(out, [&](const Suspect& other) {
    if (other.who != s.who || s.who.empty()) return false;
    s.join(other);
    s.waiting = other.waiting;
    return true;
  });
  out.insert(out.begin(), std::move(s));
}

}  // namespace

std::vector<Suspect> find_suspects(const Facts& facts, const Topology& topology,
                                   const CollectiveReport& collectives, const StackReport& stacks,
                                   const std::vector<Finding>& others,
                                   const std::optional<Suspect>& odd, bool standing,
                                   double contradiction) {
  const StackWitness witness(facts, topology, stacks, contradiction);
  if (!stacks.storage.empty() && stacks.storage_hosts.size() > 1)
    return {witness.stalled_storage()};
  std::vector<Suspect> out;
  for (const Leaf& leaf : collectives.leaves) {
    out.push_back(suspect_of(facts, collectives, leaf));
    witness.testify(out.back(), leaf.waiting >= static_cast<std::int64_t>(collectives.seen.size()));
  }
  // Stacks speak where the counters do not, or speak of a rank of which nothing was dumped.
  const bool witnessed = std::ranges::any_of(collectives.leaves, [](const Leaf& l) {
    return l.kind != StopKind::no_dump && l.kind != StopKind::network;
  });
  if (!witnessed) add_stacks(collectives, stacks, witness, out);
  // One that a debugger holds needs no other to be open: nothing goes on without it.
  const bool open = standing && !witnessed &&
                    std::ranges::find(out, StopKind::host_stopped, &Suspect::kind) == out.end();
  if (odd && (open || odd->traced) && !(odd->who.empty() && odd->hosts.empty()))
    add_odd_trainer(*odd, out);
  add_silence_to(others, out);
  if (auto one = common_machine(topology, out)) return {std::move(*one)};
  add_silent_ranks(others, out);
  sort_rows(out, [](const Suspect& a, const Suspect& b) { return a.confidence > b.confidence; });
  add_kernel_states(facts, out);
  return out;
}

}  // namespace culprit::analyze
