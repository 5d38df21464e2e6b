// States of processes, the functions of the kernel that they wait in, and who is traced.
#include "analyze/hang/process_state.hpp"

#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "model/confidence.hpp"
#include "model/contains.hpp"
#include "model/phrases.hpp"
#include "model/word_list.hpp"

namespace culprit::analyze {

namespace {

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

using ProcessKey = std::pair<std::string, std::int64_t>;  // host and pid

// Trainers, and what runs Python below a known debugger.
std::map<ProcessKey, const ProcessRow*> trainers_in(const Facts& facts) {
  std::map<ProcessKey, const ProcessRow*> out;
  for (const ProcessRow& p : facts.processes) {
    const MemberRow* m = facts.member(p.place.member);
    if (p.state.empty() || !facts.counts(m)) continue;
    // A list without parents does not tell what a process is for; who traces one knows.
    const bool traced =
        p.role.empty() && p.state[0] == 't' && runs_python(p) && attached_to(facts, p);
    if (p.role != "trainer" && !traced) continue;
    const Host host = p.host ? short_host(*p.host) : m->host.value_or(Host());
    out.emplace(
        ProcessKey(host.empty() ? "file " + std::to_string(facts.order(m->id)) : std::string(host),
                   p.pid),
        &p);
  }
  return out;
}

// A dumper stops what it looks at.
bool looked_at(const Facts& facts, const ProcessRow& process) {
  const char state = process.state[0];
  return (state == 'T' || state == 't') &&
         std::ranges::any_of(facts.samples, [&](const StackSample& s) {
           return s.row.pid == process.pid &&
                  (state == 't' ||
                   (s.row.time.clock == process.time.clock && s.row.time.ns == process.time.ns &&
                    process.time.clock != Clock::none));
         });
}

Suspect odd(const Facts& facts, const ProcessKey& key, const ProcessRow& process, bool traced) {
  Suspect s;
  s.traced = traced;
  if (process.host || facts.member(process.place.member)->host) s.hosts = {Host(key.first)};
  std::optional<Rank> rank = process.rank;
  for (const RankRow& r : facts.ranks)
    if (!rank && r.pid == key.second && r.host == key.first) rank = r.rank;
  if (rank) s.who = {*rank};
  s.sources = {"processes"};
  s.confidence = traced ? confidence::kTraced : confidence::kOddTrainer;
  s.place = process.place;
  s.state = process.state.substr(0, 1);
  const Text words = words_for(kernel_state(process));
  s.why = traced ? say(Phrase::its_process_is_traced, process.pid)
                 : say(Phrase::its_process_is, process.pid, words);
  if (traced) s.reason = words;
  return s;
}

}  // namespace

std::optional<Suspect> odd_trainer(const Facts& facts) {
  const auto trainers = trainers_in(facts);
  for (const char state : {'T', 't', 'Z', 'D'}) {
    const auto in_state = [&](const auto& one) { return one.second->state[0] == state; };
    // Several are what a dumper stopped, a launcher killed, or storage holds.
    if (std::ranges::count_if(trainers, in_state) != 1) continue;
    const auto& found = *std::ranges::find_if(trainers, in_state);
    const ProcessRow& process = *found.second;
    const bool traced = state == 't' && attached_to(facts, process);
    if ((trainers.size() < 3 && !traced) || looked_at(facts, process)) continue;
    return odd(facts, found.first, process, traced);
  }
  return std::nullopt;
}

void add_kernel_states(const Facts& facts, std::vector<Suspect>& suspects) {
  for (Suspect& s : suspects) {
    if (s.who.size() != 1 || s.role != "trainer") continue;
    KernelState most;
    for (const ProcessRow& p : facts.processes) {
      if (p.rank != s.who[0] || p.role != "trainer") continue;
      KernelState state = kernel_state(p);
      // A dumper stops what it looks at: a T beside a stack is its own doing.
      if ((state.letter == 'T' || state.letter == 't') && !s.reason.empty()) continue;
      if (state.weight() > most.weight()) most = std::move(state);
    }
    // What all of them wait in tells nothing of this one.
    std::size_t trainers = 0, same = 0;
    for (const ProcessRow& p : facts.processes) {
      if (p.role != "trainer" || !p.rank) continue;
      ++trainers;
      same += kernel_state(p) == most;
    }
    if (2 * same > trainers && trainers > 2) continue;
    const bool known = most.letter == 0 && !s.native.empty() && most.place.starts_with(s.native);
    if (most.empty() || known) continue;
    s.reason = say(Phrase::in_the_kernel, s.reason, words_for(most));
    s.confirm("processes",
              most.letter != 0 ? std::optional(confidence::kKernelSays) : std::nullopt);
    // A process that a signal or a tracer stopped, or that is dead, launches nothing: its missing
    // dump is no question.
    if (s.kind == StopKind::no_dump && std::string_view("TtZ").find(most.letter) < 3) {
      s.kind = StopKind::host_stopped;
      s.reason = words_for(most);
      s.state = std::string(1, most.letter);
      s.confirm("processes", confidence::kStackSays);
    }
  }
}

}  // namespace culprit::analyze
