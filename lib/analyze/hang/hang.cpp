#include "analyze/hang/hang.hpp"

#include <algorithm>
#include <map>
#include <set>

#include <fmt/format.h>

#include "analyze/hang/lock_file.hpp"
#include "analyze/hang/standstill.hpp"
#include "model/ranges.hpp"
#include "model/confidence.hpp"
#include "model/phrases.hpp"
#include "model/contains.hpp"
#include "model/sort.hpp"
#include "model/word_list.hpp"

namespace culprit::analyze {

namespace {

struct Suspect {
  StopKind kind = StopKind::host_stopped;
  std::vector<Rank> ranks;
  std::vector<Host> hosts;  // of a stack whose rank nobody knows
  std::string role = "trainer";
  Text reason;         // what its stack says: open in refresh (data.py:27)
  std::string native;  // what its machine code waits in
  WaitKind wait = WaitKind::call;
  std::string group, operation;  // where the others wait
  std::string code;              // file:line of the user's frame
  Text why;
  std::vector<std::string> sources;
  std::int64_t waiting = 0;
  Place place;        // of a process list that shows it
  std::string state;  // T Z D, where that is why
  double confidence = 0;
  bool tie = false;
  bool within = false;    // network: all of its ranks are on one machine
  std::string storage;    // the call that many hosts wait in
  bool requests = false;  // network: its ranks are the ends of work requests that are not over
  bool common = false;    // network: several operations stand, and one machine has an end of each
  bool synchronizes = false;  // its host waits until its GPU is done with all it was given
};

// What the kernel says of a process, where that is more than "it sleeps".
struct KernelState {
  char letter = 0;    // of ps: D in uninterruptible sleep, T stopped, Z dead; 0 none of these
  std::string place;  // the function it waits in, and what that belongs to: nfs_wait (NFS)

  bool empty() const { return letter == 0 && place.empty(); }
  int weight() const { return (letter != 0 ? 2 : 0) + (place.empty() ? 0 : 1); }
  bool operator==(const KernelState&) const = default;
};

Text words_for(const KernelState& state) {
  switch (state.letter) {
    case 'D': return say(Phrase::sleeps_uninterruptibly, state.place);
    case 'T': return say(Phrase::stopped_by_signal);
    case 't': return say(Phrase::held_by_debugger);
    case 'Z': return say(Phrase::dead_zombie);
    default: return Text(state.place);
  }
}

// Functions of the kernel that say what a process waits for.
KernelState kernel_state(const ProcessRow& p) {
  struct Known {
    std::string_view what, functions;  // how names of kernel functions begin
  };
  static constexpr Known kKnown[] = {
      {"NFS", "nfs rpc_wait"},
      {"Lustre", "cl_sync_io_wait ll_ ptlrpc lov_"},
      {"GPFS", "gpfs cxi"},
      {"Ceph", "ceph"},
      {"FUSE", "fuse_ request_wait_answer"},
      {"open of a FIFO", "fifo_open wait_for_partner"},
      {"a disk", "io_schedule folio_wait wait_on_page"},
      {"a journal", "jbd2"},
      {"the NVIDIA driver", "nvidia uvm_ os_acquire_rwlock"},
  };
  KernelState out;
  // From the innermost outward: what it waits in, then for what.
  std::string_view rest =
      p.kernel_stack.empty() ? std::string_view(p.wait) : std::string_view(p.kernel_stack);
  while (!rest.empty() && out.place.empty()) {
    const std::string_view function = rest.substr(0, rest.find(';'));
    rest.remove_prefix(std::min(rest.size(), function.size() + 1));
    for (const Known& k : kKnown)
      if (any_word(k.functions, ' ', [&](std::string_view f) { return function.starts_with(f); })) {
        out.place = fmt::format("{} ({})", function, k.what);
        break;
      }
  }
  if (!p.state.empty() && std::string_view("DTtZ").find(p.state[0]) != std::string_view::npos)
    out.letter = p.state[0];
  if (out.letter == 'D' && out.place.empty()) out.place = p.wait;
  return out;
}

struct OddProcess {
  const ProcessRow* row = nullptr;
  Host host;
  std::optional<Rank> rank;
  KernelState state;
  bool traced = false;  // by a process that is known
};

bool runs_python(const ProcessRow& p) {
  return p.name.starts_with("python") || p.name.starts_with("pt_main") ||
         contains(p.command, "python");
}

// Another process there was started with its number: "gdb -p 4711".
bool attached_to(const Facts& facts, const ProcessRow& traced) {
  const std::string pid = std::to_string(traced.pid);
  const auto host_of = [&](const ProcessRow& p) {
    const MemberRow* member = facts.member(p.place.member);
    return p.host ? p.host : member != nullptr ? member->host : std::nullopt;
  };
  const auto own = host_of(traced);
  return std::ranges::any_of(facts.processes, [&](const ProcessRow& p) {
    if (p.pid == traced.pid || host_of(p) != own) return false;
    const std::string_view command = p.command;
    for (std::size_t at = command.find(pid); at != std::string_view::npos;
         at = command.find(pid, at + 1)) {
      const std::size_t end = at + pid.size();
      if (at > 0 && (command[at - 1] == ' ' || command[at - 1] == '=') &&
          (end == command.size() || command[end] == ' '))
        return true;
    }
    return false;
  });
}

// The one trainer of several that is stopped (T) or held by a debugger (t), dead and not buried
// (Z), or sleeps where no signal reaches it (D).
std::optional<OddProcess> odd_trainer(const Facts& facts) {
  std::map<std::pair<std::string, std::int64_t>, const ProcessRow*>
      trainers;  // host, pid -> what ps said
  for (const ProcessRow& p : facts.processes) {
    const MemberRow* m = facts.member(p.place.member);
    if (p.state.empty() || !facts.counts(m)) continue;
    // A list without parents does not tell what a process is for; who traces one knows.
    const bool traced =
        p.role.empty() && p.state[0] == 't' && runs_python(p) && attached_to(facts, p);
    if (p.role != "trainer" && !traced) continue;
    const Host host = p.host ? short_host(*p.host) : m->host.value_or(Host());
    trainers.emplace(
        std::pair(host.empty() ? "file " + std::to_string(facts.order(m->id)) : std::string(host),
                  p.pid),
        &p);
  }
  for (const char state : {'T', 't', 'Z', 'D'}) {
    std::vector<std::map<std::pair<std::string, std::int64_t>, const ProcessRow*>::const_iterator>
        found;
    for (auto at = trainers.cbegin(); at != trainers.cend(); ++at)
      if (at->second->state[0] == state) found.push_back(at);
    // Several are what a dumper stopped, a launcher killed, or storage holds.
    if (found.size() != 1) continue;
    const auto& key = found.front()->first;
    const ProcessRow* row = found.front()->second;
    const bool traced = state == 't' && attached_to(facts, *row);
    if (trainers.size() < 3 && !traced) continue;
    const bool placed = row->host || facts.member(row->place.member)->host;
    OddProcess out{row, placed ? Host(key.first) : Host(), row->rank, kernel_state(*row), traced};
    for (const RankRow& r : facts.ranks)
      if (!out.rank && r.pid == key.second && r.host == key.first) out.rank = r.rank;
    // A dumper stops what it looks at.
    const bool looked = std::ranges::any_of(facts.samples, [&](const StackSample& s) {
      return s.row.pid == key.second &&
             (state == 't' || (s.row.time.clock == row->time.clock &&
                               s.row.time.ns == row->time.ns && row->time.clock != Clock::none));
    });
    if ((state == 'T' || state == 't') && looked) continue;
    return out;
  }
  return std::nullopt;
}

double both(double a, double b) { return 1 - (1 - a) * (1 - b); }

WaitKind wait_of(const Stage& stage) {
  switch (stage.doing) {
    case Doing::gpu: return stage.operation == "implied" ? WaitKind::call : WaitKind::device;
    case Doing::communicator: return WaitKind::communicator;
    case Doing::data: return WaitKind::data;
    case Doing::service: return WaitKind::service;
    case Doing::lock: return WaitKind::lock;
    default: return WaitKind::call;
  }
}

WaitKind wait_of(const StackSink& sink) {
  return sink.program ? WaitKind::program : wait_of(sink.stage);
}

// "all of them are in ...": for the stages that describe() tells with a verb.
Text in_what(const Stage& stage) {
  switch (wait_of(stage)) {
    case WaitKind::device: return say(Phrase::a_wait_for_gpu, stage.operation);
    case WaitKind::data: return say(Phrase::a_wait_for_loader);
    case WaitKind::communicator: return say(Phrase::making_communicator, stage.operation);
    case WaitKind::service:
    case WaitKind::lock:
    case WaitKind::program:
    case WaitKind::call: break;
  }
  return describe(stage);
}

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

class Join {
 public:
  Join(const Facts& facts, const Topology& topology, const CollectiveReport& collectives,
       const StackReport& stacks, const std::vector<Finding>& others,
       const std::optional<OddProcess>& odd, bool standing, const HangParams& params)
      : facts_(facts),
        topology_(topology),
        collectives_(collectives),
        stacks_(stacks),
        others_(others),
        odd_(odd),
        standing_(standing),
        params_(params) {
    for (const StackProcess& p : stacks.processes)
      if (p.rank && p.role == "trainer") trainer_.emplace(*p.rank, &p);
    for (const Finding& f : others)
      if (f.fired(Analysis::silence) && !unheard(f)) silent_.insert(f.ranks.begin(), f.ranks.end());
  }

  std::vector<Suspect> suspects() {
    if (!stacks_.storage.empty() && stacks_.storage_hosts.size() > 1) {
      return {stalled_storage()};
    }
    std::vector<Suspect> out;
    for (const Leaf& leaf : collectives_.leaves) out.push_back(from_leaf(leaf));
    // Stacks speak where the counters do not, or speak of a rank of which nothing was dumped.
    const bool witnessed = std::ranges::any_of(collectives_.leaves, [](const Leaf& l) {
      return l.kind != StopKind::no_dump && l.kind != StopKind::network;
    });
    if (!witnessed) add_stacks(out);
    const bool stopped =
        std::ranges::any_of(out, [](const Suspect& s) { return s.kind == StopKind::host_stopped; });
    by_state(out, standing_ && !witnessed && !stopped);
    add_silence_to(out);
    if (auto one = common_machine(out)) return {std::move(*one)};
    add_silent_ranks(out);
    sort_rows(out, [](const Suspect& a, const Suspect& b) { return a.confidence > b.confidence; });
    add_kernel_states(out);
    return out;
  }

 private:
  Suspect stalled_storage() const {
    Suspect s;
    s.kind = StopKind::storage;
    s.storage = stacks_.storage;
    s.reason = Text(stacks_.storage);
    s.hosts = stacks_.storage_hosts;
    for (const StackSink& sink : stacks_.sinks)
      if (sink.stage.doing == Doing::storage)
        s.ranks.insert(s.ranks.end(), sink.ranks.begin(), sink.ranks.end());
    sort_rows(s.ranks);
    s.sources = {"stacks"};
    s.confidence = std::max(confidence::kStorageWait, stacks_.confidence);
    s.why = say(Phrase::share_not_machines, s.hosts.size());
    return s;
  }

  // Ends of chains of stacks, where no counter names a rank.
  void add_stacks(std::vector<Suspect>& out) {
    // Whom the counters show inside the operation that is stuck, that operation does not wait
    // for, whatever line Python shows.
    std::set<Rank> inside;
    for (const Leaf& l : collectives_.leaves)
      if (l.kind == StopKind::network) inside.insert(l.ranks.begin(), l.ranks.end());
    const auto within = [&](const StackSink& sink) {
      return !sink.ranks.empty() &&
             std::ranges::all_of(sink.ranks, [&](Rank r) { return inside.count(r) != 0; });
    };
    std::vector<Suspect> by_stack;
    for (const StackSink& sink : stacks_.sinks) {
      if (within(sink)) continue;
      if (!by_stack.empty() && sink.waiting * 2 < stacks_.sinks.front().waiting) break;
      by_stack.push_back(from_sink(sink));
    }
    const bool tells = std::ranges::any_of(
        stacks_.sinks, [&](const StackSink& s) { return s.elsewhere && !within(s); });
    if (tells || out.empty()) {
      for (Suspect& s : by_stack)
        for (const Suspect& c : out)
          if (c.ranks == s.ranks) {
            s.confidence = both(s.confidence, c.confidence);
            s.sources.insert(s.sources.end(), c.sources.begin(), c.sources.end());
            s.group = c.group;
            s.operation = c.operation;
          }
      out = std::move(by_stack);
    }
  }

  void add_silence_to(std::vector<Suspect>& out) const {
    for (Suspect& s : out)
      if (s.ranks.size() == 1 && silent_.count(s.ranks[0]) != 0) {
        s.confidence = both(s.confidence, confidence::kSecondSource);
        s.sources.push_back("silence");
        s.why += say(Phrase::never_reported_either);
      }
  }

  // Many connections that do not move and have one machine in common: its network, not theirs.
  std::optional<Suspect> common_machine(const std::vector<Suspect>& out) const {
    std::map<Host, std::set<std::size_t>> ends;
    std::set<std::string> far;
    const bool links = out.size() > 1 && std::ranges::all_of(out, [](const Suspect& s) {
                         return s.kind == StopKind::network;
                       });
    for (std::size_t i = 0; links && i < out.size(); ++i)
      for (const Rank r : out[i].ranks)
        if (const auto it = topology_.host_of.find(r); it != topology_.host_of.end()) {
          ends[it->second].insert(i);
          far.insert(it->second);
        }
    std::vector<Host> common;
    for (const auto& [host, all] : ends)
      if (all.size() == out.size()) common.push_back(host);
    if (common.size() == 1 && far.size() >= 3) {
      Suspect s;
      s.kind = StopKind::network;
      s.hosts = common;
      for (const Suspect& one : out)
        for (const Rank r : one.ranks)
          if (const auto it = topology_.host_of.find(r);
              it != topology_.host_of.end() && it->second == common[0])
            s.ranks.push_back(r);
      sort_unique(s.ranks);
      s.confidence = confidence::kStorageWait;
      s.sources = out.front().sources;
      s.why = say(Phrase::cross_one_machine, out.size(), common[0]);
      s.common = true;
      return s;
    }
    return std::nullopt;
  }

  // Who is silent while all others report has stopped on its host; with that much evidence a
  // missing dump is no question.
  void add_silent_ranks(std::vector<Suspect>& out) const {
    if (std::ranges::all_of(out, [](const Suspect& s) {
          return s.kind == StopKind::no_dump || s.kind == StopKind::network;
        }))
      for (const Finding& f : others_) {
        if (!f.fired(Analysis::silence) || f.ranks.empty()) continue;
        const auto same =
            std::ranges::find_if(out, [&](const Suspect& s) { return s.ranks == f.ranks; });
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
        s.ranks = f.ranks;
        s.confidence = f.confidence;
        s.why = f.why;
        s.sources = {"silence"};
        if (const auto* silence = std::get_if<SilenceFacts>(&f.facts))
          s.waiting = static_cast<std::int64_t>(silence->reported);
        out.push_back(std::move(s));
      }
  }

  // ps and /proc tell of the same process; the one that says more is heard.
  void add_kernel_states(std::vector<Suspect>& out) const {
    for (Suspect& s : out) {
      if (s.ranks.size() != 1 || s.role != "trainer") continue;
      KernelState most;
      for (const ProcessRow& p : facts_.processes) {
        if (p.rank != s.ranks[0] || p.role != "trainer") continue;
        KernelState state = kernel_state(p);
        // A dumper stops what it looks at: a T beside a stack is its own doing.
        if ((state.letter == 'T' || state.letter == 't') && !s.reason.empty()) continue;
        if (state.weight() > most.weight()) most = std::move(state);
      }
      // What all of them wait in tells nothing of this one.
      std::size_t trainers = 0, same = 0;
      for (const ProcessRow& p : facts_.processes) {
        if (p.role != "trainer" || !p.rank) continue;
        ++trainers;
        same += kernel_state(p) == most;
      }
      if (2 * same > trainers && trainers > 2) continue;
      const bool known = most.letter == 0 && !s.native.empty() && most.place.starts_with(s.native);
      if (most.empty() || known) continue;
      s.reason = say(Phrase::in_the_kernel, s.reason, words_for(most));
      s.sources.push_back("processes");
      if (most.letter != 0) s.confidence = both(s.confidence, confidence::kKernelSays);
      // A process that a signal or a tracer stopped, or that is dead, launches nothing: its missing
      // dump is no question.
      if (s.kind == StopKind::no_dump && std::string_view("TtZ").find(most.letter) < 3) {
        s.kind = StopKind::host_stopped;
        s.reason = words_for(most);
        s.state = std::string(1, most.letter);
        s.sources.push_back("processes");
        s.confidence = both(s.confidence, confidence::kStackSays);
      }
    }
  }

  // Absence of a rank's whole output, which may just not have been collected.
  static bool unheard(const Finding& f) {
    const auto* silence = std::get_if<SilenceFacts>(&f.facts);
    return silence != nullptr && silence->no_output;
  }

  // Where neither counters nor stacks name a rank that stopped, the state of its process may. One
  // that a debugger holds needs no other to be open: nothing goes on without it.
  void by_state(std::vector<Suspect>& out, bool open) const {
    if (!odd_ || (!odd_->rank && odd_->host.empty()) || (!open && !odd_->traced)) return;
    Suspect s;
    s.kind = StopKind::host_stopped;
    if (odd_->rank) s.ranks = {*odd_->rank};
    if (!odd_->host.empty()) s.hosts = {odd_->host};
    s.sources = {"processes"};
    s.confidence = odd_->traced ? confidence::kTraced : confidence::kOddTrainer;
    s.place = odd_->row->place;
    s.state = odd_->row->state.substr(0, 1);
    s.why = odd_->traced ? say(Phrase::its_process_is_traced, odd_->row->pid)
                         : say(Phrase::its_process_is, odd_->row->pid, words_for(odd_->state));
    if (odd_->traced) s.reason = words_for(odd_->state);
    std::erase_if(out, [&](const Suspect& other) {
      if (other.ranks != s.ranks || s.ranks.empty()) return false;
      s.confidence = both(s.confidence, other.confidence);
      s.sources.insert(s.sources.end(), other.sources.begin(), other.sources.end());
      s.group = other.group;
      s.operation = other.operation;
      s.waiting = other.waiting;
      return true;
    });
    out.insert(out.begin(), std::move(s));
  }

  Suspect from_leaf(const Leaf& leaf) {
    Suspect s;
    s.kind = leaf.kind;
    s.ranks = leaf.ranks;
    s.waiting = leaf.waiting;
    s.confidence = leaf.confidence;
    s.why = leaf.why;
    s.tie = leaf.tie;
    s.sources = {std::string(name(collectives_.source))};
    s.operation = leaf.operation;
    if (leaf.group != GroupId::none) s.group = group_name(facts_, leaf.group);
    if (leaf.kind == StopKind::mismatch) s.code = launched_at(facts_, leaf);
    s.requests = leaf.requests;
    if (leaf.kind == StopKind::network) {
      if (!leaf.within.empty()) {
        s.within = true;
        s.hosts = {leaf.within};
      }
      // Stacks of the same ranks, and of nobody else, in the end of the chain: a second source.
      for (const StackSink& sink : stacks_.sinks)
        if (!sink.elsewhere && !sink.unheard && sink.ranks == leaf.ranks) {
          s.sources.push_back("stacks");
          s.confidence = both(s.confidence, confidence::kKernelSays);
          break;
        }
    }
    if (leaf.ranks.size() != 1 || leaf.requests) return s;
    const StackProcess* found = stack_of(leaf);
    if (found == nullptr) return s;
    const StackProcess& p = *found;
    // A worker of its data loader may be what it waits for.
    for (const StackSink& sink : stacks_.sinks)
      if (sink.role != "trainer" && sink.ranks == leaf.ranks) return with(std::move(s), sink);
    // A GPU that never finishes keeps its host from launching: that is no contradiction. Without a
    // dump of its own it might be inside an operation that somebody else holds up; not so when all
    // others wait for it.
    const bool all_wait = leaf.waiting >= static_cast<std::int64_t>(collectives_.seen.size());
    if (p.stage.doing == Doing::gpu &&
        (leaf.kind == StopKind::host_stopped || (leaf.kind == StopKind::no_dump && all_wait))) {
      if (leaf.kind == StopKind::no_dump) {
        s.kind = StopKind::host_stopped;
        s.confidence = both(s.confidence, confidence::kStackSays);
      }
      s.reason = describe(p.stage);
      s.wait = wait_of(p.stage);
      s.synchronizes = synchronizes(p);
      s.sources.push_back("stacks");
      return s;
    }
    if (p.stage.waits()) {
      if (leaf.kind != StopKind::host_stopped && leaf.kind != StopKind::no_dump) return s;
      s.confidence *= params_.contradiction;
      s.why += say(Phrase::its_stack_though, describe(p.stage));
      return s;
    }
    if (p.stage.doing == Doing::unknown) return s;
    if (leaf.kind == StopKind::no_dump) s.kind = StopKind::host_stopped;
    s.sources.push_back("stacks");
    s.confidence = both(s.confidence, confidence::kStackSays);
    for (const StackSink& sink : stacks_.sinks)
      if (sink.ranks == leaf.ranks) return with(std::move(s), sink);
    s.reason = describe(p.stage);
    s.wait = wait_of(p.stage);
    if (s.wait == WaitKind::service && p.stage.where >= 0) {
      const Frame& own = facts_.stacks.frames[static_cast<std::size_t>(p.stage.where)];
      s.code = place_of(own.file, own.line);
    }
    return s;
  }

  // By its rank; where no stack says whose it is, the one trainer that stands where no other does
  // is the one rank that is where no other is.
  // For the GPU's whole queue, and in no part of the program that keeps the others waiting when all
  // is well.
  bool synchronizes(const StackProcess& p) const {
    constexpr std::string_view kMayTakeMinutes[] = {"evaluat", "validat",    "generat",
                                                    "save",    "checkpoint", "compil"};
    if (p.stage.operation.find("ynchronize") == std::string_view::npos) return false;
    if (p.stack >= stacks_.normal.stacks.size()) return true;
    const auto& frames = stacks_.normal.stacks[p.stack];
    return std::ranges::none_of(frames, [&](std::uint32_t frame) {
      const std::string& name = stacks_.normal.names[frame];
      return std::any_of(
          std::begin(kMayTakeMinutes), std::end(kMayTakeMinutes),
          [&](std::string_view word) { return name.find(word) != std::string::npos; });
    });
  }

  const StackProcess* stack_of(const Leaf& leaf) const {
    if (const auto it = trainer_.find(leaf.ranks[0]); it != trainer_.end()) return it->second;
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
    const auto placed = topology_.host_of.find(leaf.ranks[0]);
    return placed == topology_.host_of.end() || odd->host.empty() || placed->second == odd->host
               ? odd
               : nullptr;
  }

  // All ranks of a parallel group stand in the same operation, and all of them are on one machine
  // of several: then it is that machine, whichever of its parts.
  void keep_within(Suspect& s) const {
    std::set<Host> hosts, all;
    for (const auto& [rank, host] : topology_.host_of) all.insert(host);
    for (const auto& [rank, p] : trainer_)
      if (!p->host.empty()) all.insert(p->host);
    for (const Rank r : s.ranks) {
      const auto placed = topology_.host_of.find(r);
      const auto stack = trainer_.find(r);
      if (placed != topology_.host_of.end())
        hosts.insert(placed->second);
      else if (stack != trainer_.end() && !stack->second->host.empty())
        hosts.insert(stack->second->host);
      else
        return;  // it may be anywhere
    }
    const bool group = std::ranges::any_of(
        topology_.groups, [&](const ParallelGroup& g) { return g.ranks == s.ranks; });
    if (hosts.size() != 1 || all.size() < 2 || !group) return;
    s.within = true;
    s.hosts = {*hosts.begin()};
  }

  Suspect with(Suspect s, const StackSink& sink) {
    if (!contains(s.sources, "stacks")) {
      s.sources.push_back("stacks");
      s.confidence = both(s.confidence, confidence::kStackSays);
    }
    s.role = sink.role;
    s.reason = doing(sink);
    s.native = sink.native_reason;
    s.wait = wait_of(sink);
    s.code = place_of(sink.file, sink.line);
    return s;
  }

  static Text doing(const StackSink& sink) {
    const std::string& native = sink.native_reason;
    const bool known = sink.stage.operation.find(native) != std::string_view::npos ||
                       sink.function.find(native) != std::string::npos;
    return say(Phrase::stage_at, describe(sink.stage), sink.function,
               sink.function.empty() ? std::string() : place_of(sink.file, sink.line),
               known ? std::string() : native);
  }

  Suspect from_sink(const StackSink& sink) {
    Suspect s;
    s.kind = sink.stage.operation == "leaving" ? StopKind::left_early
             : !sink.crossed.empty()           ? StopKind::mismatch
             : sink.unheard                    ? StopKind::no_dump
             : sink.elsewhere                  ? StopKind::host_stopped
                                               : StopKind::network;
    s.ranks = sink.ranks;
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
    if (!sink.unheard) s.reason = doing(sink);
    s.native = sink.native_reason;
    s.wait = wait_of(sink);
    s.code = place_of(sink.file, sink.line);
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

  const Facts& facts_;
  const Topology& topology_;
  const CollectiveReport& collectives_;
  const StackReport& stacks_;
  const std::vector<Finding>& others_;
  const std::optional<OddProcess>& odd_;
  const bool standing_;
  const HangParams& params_;
  std::map<Rank, const StackProcess*> trainer_;
  std::set<Rank> silent_;
};

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

// Why there can be no hang at the moment of the dumps; "" = there can be one.
Text moved(const Facts& facts, const CollectiveReport& collectives, const StackReport& stacks,
           const HangWord& word, const HangParams& params) {
  if (word.known || collectives.timed_out > 0) return {};
  if (collectives.moving) return collectives.moving_why;
  if (stacks.motion == Motion::moving && collectives.leaves.empty()) return stacks.motion_why;
  return went_on(facts, collectives, word, params);
}

// One snapshot of a job of which nothing says whether it stood still: what it shows anyway.
struct OneSnapshot {
  bool one = false;        // all wait, and for one rank or machine
  bool computing = false;  // that one computes, as in a healthy job
  bool unheard = false;    // of that one there is no stack
};

OneSnapshot one_snapshot(const StackReport& stacks, const HangParams& params) {
  std::size_t waiting = 0, busy = 0;
  for (const StackProcess& p : stacks.processes) {
    if (p.role != "trainer") continue;
    const bool sink =
        !stacks.sinks.empty() && p.rank && contains(stacks.sinks.front().ranks, *p.rank);
    (p.stage.waits() ? waiting : busy) += !sink;
  }
  // All of whom there is a stack wait: it is for one of whom there is none, or for the ranks of
  // one machine.
  const auto one_machine = [](const StackSink& s) {
    return s.hosts.size() == 1 ||
           (s.hosts.empty() && number_of(s.ranks.back()) - number_of(s.ranks.front()) ==
                                   static_cast<std::int64_t>(s.ranks.size()) - 1);
  };
  const bool unheard =
      !stacks.sinks.empty() && stacks.sinks.front().unheard && one_machine(stacks.sinks.front());
  const bool computing = !stacks.sinks.empty() && !unheard &&
                         (stacks.sinks.front().stage.doing == Doing::compute ||
                          stacks.sinks.front().stage.doing == Doing::unknown);
  const bool single =
      !stacks.sinks.empty() && stacks.sinks.front().elsewhere &&
      (stacks.sinks.front().ranks.size() == 1 || stacks.sinks.front().hosts.size() == 1 ||
       (!computing && 3 * stacks.sinks.front().ranks.size() <= waiting));
  const bool one = (single || unheard || !stacks.storage.empty()) && busy == 0 &&
                   waiting >= params.crowd && !(computing && stacks.sinks.front().ranks.size() > 1);
  return {one, computing, unheard};
}

// Who a suspect is, as a finding names it.
Finding named(const Finding& base, const Suspect& s, const Topology& topology) {
  Finding f = base;
  f.event_class = "hang/" + std::string(name(s.kind));
  std::replace(f.event_class.begin(), f.event_class.end(), ' ', '_');
  f.ranks = s.ranks;
  std::set<Host> hosts(s.hosts.begin(), s.hosts.end());
  for (const Host& host : topology.hosts_of(s.ranks)) hosts.insert(host);
  f.hosts.assign(hosts.begin(), hosts.end());
  if (hosts.size() == 1) f.host = *hosts.begin();
  const bool code = s.kind == StopKind::mismatch || s.kind == StopKind::left_early;
  f.scope = code                          ? Scope::user_code
            : s.kind == StopKind::storage ? Scope::shared
                                          : Scope::host_local;
  if (s.kind == StopKind::storage) {
    f.subject = {SubjectKind::storage, s.storage};
    f.symptom = Symptom::hdfs_error;
  } else if (s.within || s.common || (s.ranks.empty() && s.hosts.size() == 1))
    f.subject = {SubjectKind::host, s.hosts.front()};
  else if (s.ranks.empty())
    f.subject =
        s.code.empty() ? Subject{SubjectKind::job, "job"} : Subject{SubjectKind::code, s.code};
  else if ((s.kind == StopKind::network && !s.requests) || s.ranks.size() != 1)
    f.subject = s.group.empty() || s.requests
                    ? Subject{SubjectKind::group, "ranks " + to_ranges(s.ranks)}
                    : Subject{SubjectKind::group, s.group};
  else
    f.subject = {SubjectKind::rank, std::to_string(number_of(s.ranks[0]))};
  if (s.kind == StopKind::mismatch) f.symptom = Symptom::collective_mismatch;
  if (s.kind == StopKind::storage) f.symptom = Symptom::job_hang;
  f.id = fmt::format("hang/{}/{}", name(f.subject.kind), f.subject.id);
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

HangFacts facts_of(const Suspect& s, bool stands) {
  HangFacts known;
  known.kind = s.kind;
  known.code = s.code;
  known.group = s.group;
  known.operation = s.operation;
  known.role = s.role;
  known.reason = s.reason;
  known.wait = s.wait;
  known.state = s.state;
  known.ranks = to_ranges(s.ranks);
  known.sources = s.sources;
  known.waiting = static_cast<std::int64_t>(s.waiting);
  known.standing = stands;
  known.tie = s.tie;
  known.within = s.within;
  known.requests = s.requests;
  return known;
}

// What shows the rank itself first: its stack, its counters, then the others' words.
void show(const Facts& facts, const StackReport& stacks, const std::vector<Finding>& others,
          const Suspect& s, Finding& f) {
  std::vector<const Finding*> grounds;
  for (const Analysis analysis : {Analysis::stacks, Analysis::collectives, Analysis::silence})
    for (const bool exact : {true, false})
      for (const Finding& other : others) {
        if (!other.fired() || other.analysis != analysis || other.event_class == "slow_rank" ||
            (other.ranks == s.ranks) != exact)
          continue;
        if (std::ranges::any_of(other.ranks, [&](Rank r) {
              return std::binary_search(s.ranks.begin(), s.ranks.end(), r);
            }))
          grounds.push_back(&other);
      }
  // Stacks and counters speak for themselves, also where their own analysis would not have
  // accused anybody.
  if (s.place.member != 0) f.evidence.push_back(facts.evidence(s.place));
  for (const StackSink& sink : stacks.sinks)
    if (sink.ranks == s.ranks && !s.ranks.empty())
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
  const bool device = s.kind == StopKind::host_stopped && s.synchronizes && s.ranks.size() == 1 &&
                      s.waiting + 1 >= static_cast<std::int64_t>(collectives.seen.size());
  return still.quiet && collectives.source == CollectiveSource::recorder &&
         ((s.kind == StopKind::network && *still.quiet >= StandstillParams{}.joined) ||
          (device && *still.quiet >= StandstillParams{}.device));
}

}  // namespace

Text went_on(const Facts& facts, const CollectiveReport& collectives, const HangWord& word,
             const HangParams& params) {
  if (word.known || collectives.timed_out > 0) return {};
  std::optional<Nanoseconds> dumped;
  for (const CollectiveSample& c : facts.collectives)
    if (c.row.time.clock == Clock::utc)
      dumped = std::max(dumped.value_or(c.row.time.ns), c.row.time.ns);
  for (const FrontierRow& f : facts.frontiers)
    if (f.source == CollectiveSource::work_requests && f.time.clock == Clock::utc)
      dumped = std::max(dumped.value_or(f.time.ns), f.time.ns);
  if (dumped)
    for (const ProgressSpan& p : facts.progress) {
      if (!p.last.time_ns || p.framework == "tqdm") continue;
      // By iterations: many ranks may print the same.
      const bool paced = p.first.time_ns && *p.last.time_ns > *p.first.time_ns &&
                         p.first.iteration && p.last.iteration &&
                         *p.last.iteration > *p.first.iteration;
      const Nanoseconds steps =
          paced ? params.went_on_steps * ((*p.last.time_ns - *p.first.time_ns) /
                                          (*p.last.iteration - *p.first.iteration))
                : params.went_on;
      if (*p.last.time_ns > *dumped + std::clamp(steps, params.least_went_on, params.went_on))
        return say(Phrase::steps_after_dumps);
    }
  bool failed = false, ended = false;
  for (const ExitRow& x : facts.exits) (x.code == 0 ? ended : failed) = true;
  if (ended && !failed) return say(Phrase::ended_with_success);
  return {};
}

static bool a_rank_is_silent(const std::vector<Finding>& others) {
  return std::ranges::any_of(others, [](const Finding& f) { return f.fired(Analysis::silence); });
}

std::vector<Finding> hang(const Facts& facts, const Topology& topology,
                          const std::vector<Signal>& signals, const CollectiveReport& collectives,
                          const StackReport& stacks, const std::vector<Finding>& others,
                          const HangParams& params) {
  const HangWord word = hang_reported(signals);
  // What a debugger holds stands, whoever else says so.
  const auto odd = odd_trainer(facts);
  const bool traced = odd && odd->traced;
  if (collectives.source == CollectiveSource::none && stacks.processes.empty() &&
      !a_rank_is_silent(others) && !traced && !(word.known && odd))
    return {};
  const Finding base = base_of(signals);
  const auto none = [&](Outcome outcome, Text why) {
    return std::vector<Finding>{nobody(base, outcome, std::move(why), stacks)};
  };
  if (const Text why = moved(facts, collectives, stacks, word, params); !why.empty())
    return none(Outcome::ruled_out, why);
  // Where nobody reported a time-out, the age of what is unfinished tells.
  const bool reported = word.known || collectives.timed_out > 0;
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
    const OneSnapshot shown = one_snapshot(stacks, params);
    // A rank that computes while the others wait is what a healthy job looks like, too; so is one
    // whose dump failed.
    if (!shown.one || !facts.exits.empty() ||
        (!facts.progress.empty() && (shown.computing || shown.unheard)))
      return none(Outcome::not_enough_evidence,
                  say(Phrase::snapshot_tells_not) + most_stand(stacks));
    certainty = params.snapshot;
  }
  std::vector<Suspect> suspects =
      Join(facts, topology, collectives, stacks, others, odd, standing, params).suspects();
  const bool machine = suspects.size() == 1 && suspects.front().hosts.size() ==
                                                   1;  // all of it leads to one machine after all
  if (!standing && collectives.scattered && !machine)
    return none(Outcome::not_enough_evidence, say(Phrase::unfinished_in_many_places));
  if (suspects.empty()) return none(Outcome::not_enough_evidence, say(Phrase::nobody_behind));

  std::vector<Finding> out;
  std::set<std::string> ids;
  for (Suspect& s : suspects) {
    if (out.size() >= 16) break;
    Finding f = named(base, s, topology);
    while (!ids.insert(f.id).second) f.id += "+";
    const bool joined = proven_by_quiet(s, still, collectives);
    const bool stands = standing || joined;
    const double sure = standing ? certainty
                        : joined ? std::max(certainty, params.by_files)
                                 : certainty;
    f.confidence = std::min({confidence::kMostOfWait, s.confidence * sure, sure});
    f.why = s.why;
    if (!standing && joined) f.why += say(Phrase::and_besides, still.quiet_why);
    if (!reported && still.proven) f.why += say(Phrase::and_besides, still.why);
    f.title = title_of(s);
    sort_unique(s.sources);
    f.facts = facts_of(s, stands);
    show(facts, stacks, others, s, f);
    out.push_back(std::move(f));
  }
  return out;
}

}  // namespace culprit::analyze
