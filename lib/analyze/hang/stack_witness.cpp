// Suspects by their stacks: what each does, where in the program, and what it waits in.
#include "analyze/hang/stack_witness.hpp"

#include <algorithm>
#include <set>

#include "model/confidence.hpp"
#include "model/contains.hpp"
#include "model/phrases.hpp"
#include "model/sort.hpp"

namespace culprit::analyze {

namespace {

WaitKind wait_of(const Stage& stage) {
  switch (stage.doing) {
    case Doing::gpu: return stage.operation == "implied" ? WaitKind::call : WaitKind::device;
    case Doing::communicator: return WaitKind::communicator;
    case Doing::data: return WaitKind::data;
    case Doing::service: return WaitKind::service;
    case Doing::lock: return WaitKind::lock;
    case Doing::lock_file: return WaitKind::lock_file;
    default: return WaitKind::call;
  }
}

// "all of them are in ...": for the stages that describe() tells with a verb.
Text in_what(const Stage& stage) {
  switch (wait_of(stage)) {
    case WaitKind::device: return say(Phrase::a_wait_for_gpu, stage.operation);
    case WaitKind::data: return say(Phrase::a_wait_for_loader);
    case WaitKind::communicator: return say(Phrase::making_communicator, stage.operation);
    default: return describe(stage);
  }
}

Text doing(const StackSink& sink) {
  const std::string& native = sink.native_reason;
  const bool known = sink.stage.operation.find(native) != std::string_view::npos ||
                     sink.function.find(native) != std::string::npos;
  return say(Phrase::stage_at, describe(sink.stage), sink.function,
             sink.function.empty() ? std::string() : place_of(sink.file, sink.line),
             known ? std::string() : native);
}

// What the end of a chain does, and where.
void describe_by(Suspect& s, const StackSink& sink) {
  s.reason = doing(sink);
  s.native = sink.native_reason;
  s.wait = sink.program ? WaitKind::program : wait_of(sink.stage);
  s.code = place_of(sink.file, sink.line);
}

void explain_by(Suspect& s, const StackSink& sink) {
  if (!contains(s.sources, "stacks")) s.confirm("stacks", confidence::kStackSays);
  s.role = sink.role;
  describe_by(s, sink);
}

}  // namespace

StackWitness::StackWitness(const Facts& facts, const Topology& topology, const StackReport& stacks,
                           double contradiction)
    : facts_(facts), topology_(topology), stacks_(stacks), contradiction_(contradiction) {
  for (const StackProcess& p : stacks.processes)
    if (p.rank && p.role == "trainer") trainer_.emplace(*p.rank, &p);
}

Suspect StackWitness::stalled_storage() const {
  Suspect s;
  s.kind = StopKind::storage;
  s.storage = stacks_.storage;
  s.reason = Text(stacks_.storage);
  s.hosts = stacks_.storage_hosts;
  for (const StackSink& sink : stacks_.sinks)
    if (sink.stage.doing == Doing::storage)
      s.who.insert(s.who.end(), sink.ranks.begin(), sink.ranks.end());
  sort_rows(s.who);
  s.sources = {"stacks"};
  s.confidence = std::max(confidence::kStorageWait, stacks_.confidence);
  s.why = say(Phrase::share_not_machines, s.hosts.size());
  return s;
}

Suspect StackWitness::suspect_of(const StackSink& sink) const {
  Suspect s;
  s.kind = sink.stage.operation == "leaving" ? StopKind::left_early
           : !sink.crossed.empty()           ? StopKind::mismatch
           : sink.unheard                    ? StopKind::no_dump
           : sink.elsewhere                  ? StopKind::host_stopped
                                             : StopKind::network;
  s.who = sink.ranks;
  s.hosts = sink.hosts;
  s.role = sink.role;
  s.waiting = static_cast<std::int64_t>(sink.waiting);
  // Code of one's own may end in a wait that Python does not show.
  const bool vague = !sink.unheard && !sink.program &&
                     (sink.stage.doing == Doing::compute || sink.stage.doing == Doing::unknown) &&
                     sink.native_reason.empty();
  s.confidence = vague ? confidence::kOddTrainer
                       : std::max(stacks_.confidence, sink.elsewhere ? confidence::kInNoCollective
                                                      : sink.unheard ? confidence::kNoStack
                                                                     : confidence::kSomewhere);
  s.sources = {"stacks"};
  describe_by(s, sink);
  if (sink.unheard) s.reason = {};
  s.why = sink.unheard     ? say(Phrase::no_stack_of_it)
          : sink.elsewhere ? say(Phrase::it_is_in_none, sink.waiting, s.reason)
                           : say(Phrase::all_in_none_finishes, in_what(sink.stage));
  if (!sink.crossed.empty()) {
    s.confidence = confidence::kMismatch;
    s.why = sink.crossed;
  }
  if (s.kind == StopKind::network) keep_within(s);
  if (s.within) {
    s.confidence = std::min(
        confidence::kInNoCollective,
        s.confidence + confidence::kWithinOneMachine);  // which of them it is no longer matters
    s.why += say(Phrase::gpu_or_link_of, s.hosts.front());
  }
  return s;
}

void StackWitness::testify(Suspect& s, bool all_wait) const {
  const auto of_ranks = [&](const StackSink& sink) { return sink.ranks == s.who; };
  // Stacks of the same ranks, and of nobody else, in the end of the chain: a second source.
  if (s.kind == StopKind::network && std::ranges::any_of(stacks_.sinks, [&](const StackSink& sink) {
        return !sink.elsewhere && !sink.unheard && of_ranks(sink);
      }))
    s.confirm("stacks", confidence::kKernelSays);
  if (s.who.size() != 1 || s.requests) return;
  const StackProcess* p = stack_of(s.who[0]);
  if (p == nullptr) return;
  // A worker of its data loader may be what it waits for.
  if (const auto sink = std::ranges::find_if(
          stacks_.sinks,
          [&](const StackSink& one) { return one.role != "trainer" && of_ranks(one); });
      sink != stacks_.sinks.end())
    return explain_by(s, *sink);
  const bool no_dump = s.kind == StopKind::no_dump;
  const bool stopped = s.kind == StopKind::host_stopped;
  // A GPU that never finishes keeps its host from launching: that is no contradiction. Without a
  // dump of its own it might be inside an operation that somebody else holds up; not so when all
  // others wait for it.
  if (p->stage.doing == Doing::gpu && (stopped || (no_dump && all_wait))) {
    s.kind = StopKind::host_stopped;
    s.confirm("stacks", no_dump ? std::optional(confidence::kStackSays) : std::nullopt);
    s.reason = describe(p->stage);
    s.wait = wait_of(p->stage);
    s.synchronizes = synchronizes(*p);
  } else if (p->stage.waits()) {
    if (!stopped && !no_dump) return;
    s.confidence *= contradiction_;
    s.why += say(Phrase::its_stack_though, describe(p->stage));
  } else if (p->stage.doing != Doing::unknown) {
    if (no_dump) s.kind = StopKind::host_stopped;
    s.confirm("stacks", confidence::kStackSays);
    explain(s, *p);
  }
}

void StackWitness::explain(Suspect& s, const StackProcess& p) const {
  if (const auto sink = std::ranges::find(stacks_.sinks, s.who, &StackSink::ranks);
      sink != stacks_.sinks.end())
    return explain_by(s, *sink);
  s.reason = describe(p.stage);
  s.wait = wait_of(p.stage);
  if (s.wait == WaitKind::service && p.stage.where >= 0) {
    const Frame& own = facts_.stacks.frames[static_cast<std::size_t>(p.stage.where)];
    s.code = place_of(own.file, own.line);
  }
}

// For the GPU's whole queue, and in no part of the program that keeps the others waiting when all
// is well.
bool StackWitness::synchronizes(const StackProcess& p) const {
  constexpr std::string_view kMayTakeMinutes[] = {"evaluat", "validat",    "generat",
                                                  "save",    "checkpoint", "compil"};
  if (!contains(p.stage.operation, "ynchronize")) return false;
  if (p.stack >= stacks_.normal.stacks.size()) return true;
  const auto& frames = stacks_.normal.stacks[p.stack];
  return std::ranges::none_of(frames, [&](std::uint32_t frame) {
    const std::string& name = stacks_.normal.names[frame];
    return std::ranges::any_of(kMayTakeMinutes,
                               [&](std::string_view word) { return contains(name, word); });
  });
}

// By its rank; where no stack says whose it is, the one trainer that stands where no other does
// is the one rank that is where no other is.
const StackProcess* StackWitness::stack_of(Rank rank) const {
  if (const auto it = trainer_.find(rank); it != trainer_.end()) return it->second;
  if (!trainer_.empty() || stacks_.trainers < 4) return nullptr;
  const StackProcess* odd = nullptr;
  std::size_t alike = 0;
  for (const StackGroup& g : stacks_.groups) {
    if (g.role != "trainer") continue;
    if (g.processes > 1)
      alike += g.processes;
    else
      for (const StackProcess& p : stacks_.processes)
        if (p.role == "trainer" && p.stack == g.stack) odd = odd == nullptr ? &p : odd;
  }
  if (odd == nullptr || alike + 1 != stacks_.trainers) return nullptr;
  const auto placed = topology_.host_of.find(rank);
  return placed == topology_.host_of.end() || odd->host.empty() || placed->second == odd->host
             ? odd
             : nullptr;
}

// All ranks of a parallel group stand in the same operation, and all of them are on one machine
// of several: then it is that machine, whichever of its parts.
void StackWitness::keep_within(Suspect& s) const {
  std::set<Host> hosts, all;
  for (const auto& [rank, host] : topology_.host_of) all.insert(host);
  for (const auto& [rank, p] : trainer_)
    if (!p->host.empty()) all.insert(p->host);
  for (const Rank r : s.who) {
    const auto placed = topology_.host_of.find(r);
    const auto stack = trainer_.find(r);
    if (placed != topology_.host_of.end())
      hosts.insert(placed->second);
    else if (stack != trainer_.end() && !stack->second->host.empty())
      hosts.insert(stack->second->host);
    else
      return;  // it may be anywhere
  }
  const bool group = std::ranges::any_of(topology_.groups,
                                         [&](const ParallelGroup& g) { return g.ranks == s.who; });
  if (hosts.size() != 1 || all.size() < 2 || !group) return;
  s.within = true;
  s.hosts = {*hosts.begin()};
}

}  // namespace culprit::analyze
