// Samples by process, their threads by dump, and the dump that shows most.
#include "analyze/hang/stack_processes.hpp"

#include <algorithm>
#include <set>
#include <tuple>

#include <fmt/format.h>

#include "model/contains.hpp"
#include "model/ranges.hpp"
#include "model/sort.hpp"

namespace culprit::analyze {

namespace {

// How much a tool shows of what the program itself does; the machine code is asked separately.
int richness(std::string_view source) {
  if (source == "pyspy") return 6;
  if (source == "gdb-py") return 5;
  if (source == "faulthandler") return 4;
  if (source == "stat") return 3;
  if (source == "gdb" || source == "cuda-gdb") return 2;
  if (source == "eu-stack") return 1;
  return 0;
}

struct StackedKey {
  Rank rank = kNoRank;
  std::int64_t pid = -1;
  Host host;
  std::string role;
  std::string
      main;  // of a dump that names neither rank nor process: where it lies and its main thread
  auto operator<=>(const StackedKey&) const = default;
};

Host host_of(const Facts& facts, const StackSample& sample) {
  if (sample.row.host) return short_host(*sample.row.host);
  const MemberRow* member = facts.member(sample.row.place.member);
  return member != nullptr && member->host ? *member->host : Host();
}

// As printed; else of the file, when that is known to be of one rank.
std::optional<Rank> rank_of(const Facts& facts, const StackSample& sample) {
  if (sample.row.rank) return sample.row.rank;
  const MemberRow* member = facts.member(sample.row.place.member);
  return member == nullptr ? std::nullopt : member->rank;
}

bool calls(const Facts& facts, std::size_t stack, const auto& which) {
  return std::ranges::any_of(facts.stacks.stacks[stack], [&](std::uint32_t f) {
    return f < facts.stacks.frames.size() && which(facts.stacks.frames[f].function);
  });
}

// What processes are for: as the resolution found it; else what a stack of the process betrays,
// whichever of its threads it is. A worker's machine code does not show that it is one; what
// another tool showed of the same process does.
class Roles {
 public:
  Roles(const Facts& facts, const NormalStacks& normal) : facts_(facts) {
    std::vector<std::optional<std::string_view>> of_stack(facts.stacks.stacks.size());
    for (const StackSample& s : facts.samples) {
      if (!s.role.empty()) continue;
      std::string_view role;
      if (s.stack >= 0) {
        const auto stack = static_cast<std::size_t>(s.stack);
        if (!of_stack[stack])
          of_stack[stack] = calls(facts, stack, [](auto& f) { return f == "_worker_loop"; })
                                ? "dataloader"
                            : normal.stages[stack].operation == "agent" ? "agent"
                                                                        : "";
        role = *of_stack[stack];
      }
      if (role.empty() &&
          (contains(s.row.command, "torchrun") || contains(s.row.command, "torch.distributed.run")))
        role = "agent";
      if (!role.empty()) betrayed_.emplace(owner_of(s), role);
    }
  }

  std::string of(const StackSample& sample) const {
    if (!sample.role.empty()) return sample.role;
    if (betrayed_.empty()) return "trainer";
    const auto at = betrayed_.find(owner_of(sample));
    return std::string(at == betrayed_.end() ? "trainer" : at->second);
  }

 private:
  using Owner = std::tuple<std::string, std::int64_t, std::int64_t>;  // host and pid, or the file

  Owner owner_of(const StackSample& s) const {
    return s.row.pid ? Owner(host_of(facts_, s), 0, *s.row.pid)
                     : Owner("", facts_.order(s.row.place.member) + 1, -1);
  }

  const Facts& facts_;
  std::map<Owner, std::string_view> betrayed_;
};

// Which rank a process is, and which machine a rank is on: tools that see machine code only know
// the process number.
class KnownProcesses {
 public:
  KnownProcesses(const Facts& facts, const std::map<Rank, Host>& host_of_rank)
      : hosts_(host_of_rank) {
    for (const RankRow& r : facts.ranks)
      if (r.host) hosts_.emplace(r.rank, *r.host);
    if (std::ranges::none_of(facts.samples, [&](const StackSample& s) {
          return s.row.ranks.empty() && !rank_of(facts, s);
        }))
      return;  // every stack says which rank it is of
    for (const RankRow& r : facts.ranks)
      if (r.pid) learn(r.host.value_or(Host()), *r.pid, r.rank);
    for (const ProcessRow& p : facts.processes)
      if (p.rank) learn(p.host ? short_host(*p.host) : Host(), p.pid, *p.rank);
    for (const StackSample& s : facts.samples)
      if (const auto rank = rank_of(facts, s); rank && s.row.pid)
        learn(host_of(facts, s), *s.row.pid, *rank);
  }

  Rank rank(const Host& host, std::int64_t pid) const {  // kNoRank: not known
    if (const auto at = rank_of_.find({host, pid}); at != rank_of_.end()) return at->second;
    const auto all = by_pid_.find(pid);
    return all != by_pid_.end() && all->second.size() == 1 &&
                   (host.empty() || all->second.begin()->first.empty())
               ? all->second.begin()->second
               : kNoRank;
  }
  std::optional<Host> host(Rank rank) const {
    const auto at = hosts_.find(rank);
    return at == hosts_.end() ? std::nullopt : std::optional(at->second);
  }

 private:
  void learn(const Host& host, std::int64_t pid, Rank rank) {
    rank_of_.emplace(std::pair(host, pid), rank);
    by_pid_[pid].insert({host, rank});
  }

  std::map<std::pair<std::string, std::int64_t>, Rank> rank_of_;           // by host and number
  std::map<std::int64_t, std::set<std::pair<std::string, Rank>>> by_pid_;  // who has it, and where
  std::map<Rank, Host> hosts_;
};

// faulthandler names threads and no process. Several processes that write into one console are
// told apart by their main threads: each dump ends with its own, and address spaces are random.
// The same one again is the next dump of its process.
std::map<std::size_t, std::string> main_threads(const Facts& facts) {
  std::vector<std::size_t> nameless;
  for (std::size_t i = 0; i < facts.samples.size(); ++i) {
    const StackRow& row = facts.samples[i].row;
    if (row.source == "faulthandler" && !row.pid && row.ranks.empty() &&
        !rank_of(facts, facts.samples[i]))
      nameless.push_back(i);
  }
  sort_by(nameless, [&](std::size_t i) {
    const Place& p = facts.samples[i].row.place;
    return std::tuple(p.member, p.line);
  });
  std::map<std::size_t, std::string> out;
  std::vector<std::size_t> open;
  for (const std::size_t i : nameless) {
    const StackRow& row = facts.samples[i].row;
    if (!open.empty() && facts.samples[open.front()].row.place.member != row.place.member)
      open.clear();
    open.push_back(i);
    if (!row.main || row.thread_id.empty()) continue;
    for (const std::size_t thread : open)
      out[thread] = fmt::format("{} {}", facts.order(row.place.member), row.thread_id);
    open.clear();
  }
  return out;
}

using SamplesByProcess = std::map<StackedKey, std::vector<std::size_t>>;

SamplesByProcess samples_by_process(const Facts& facts, const NormalStacks& normal,
                                    const KnownProcesses& known) {
  const Roles roles(facts, normal);
  const std::map<std::size_t, std::string> mains = main_threads(facts);
  SamplesByProcess found;
  for (std::size_t i = 0; i < facts.samples.size(); ++i) {
    const StackSample& s = facts.samples[i];
    if (s.row.source == "traceback" || s.row.source == "recorder") continue;
    if (const MemberRow* member = facts.member(s.row.place.member);
        member != nullptr && member->duplicate_of != 0)
      continue;
    StackedKey key;
    key.role = roles.of(s);
    const bool trainer = key.role == "trainer";
    if (!s.row.ranks.empty()) {
      // An aggregate speaks for many; each gets the stack.
      for (const Rank r : from_ranges(s.row.ranks)) {
        key.rank = r;
        // One whose machine is not known keeps that of the rank before it.
        if (const auto host = known.host(r); host && !trainer) key.host = *host;
        found[key].push_back(i);
      }
      continue;
    }
    key.host = host_of(facts, s);
    if (s.row.pid) key.pid = *s.row.pid;
    if (const auto rank = rank_of(facts, s))
      key.rank = *rank;
    else if (s.row.pid)
      key.rank = known.rank(key.host, *s.row.pid);
    if (key.host.empty() && key.rank != kNoRank) key.host = known.host(key.rank).value_or(Host());
    if (const auto main = mains.find(i); main != mains.end() && key.rank == kNoRank && key.pid < 0)
      key.main = main->second;
    // A rank has one trainer: a dump whose process number was lost is of the same process.
    if (trainer && key.rank != kNoRank) {
      key.pid = -1;
      key.host.clear();
    }
    found[key].push_back(i);
  }
  return found;
}

// The threads of one dump stand together in one file; a thread that comes again begins the next
// dump.
struct Threads {
  std::vector<std::size_t> samples;
  std::size_t repeat = 0;
};
std::vector<Threads> dumps_of(const Facts& facts, std::vector<std::size_t>& samples) {
  const auto row = [&](std::size_t i) -> const StackRow& { return facts.samples[i].row; };
  const auto head = [&](std::size_t i) {
    return std::tuple(facts.order(row(i).place.member), row(i).place.member, row(i).source,
                      row(i).time.ns);
  };
  if (samples.size() > 1)
    sort_by(samples, [&](std::size_t a) {
      return std::tuple(head(a), std::tie(row(a).place.line, facts.samples[a].stack));
    });
  std::vector<Threads> out;
  std::set<std::pair<std::int64_t, std::string>> seen;
  for (const std::size_t i : samples) {
    const bool more = !out.empty() && head(out.back().samples.front()) == head(i);
    const bool named = row(i).ranks.empty() && (row(i).tid || !row(i).thread_id.empty());
    const auto thread = std::pair(row(i).tid.value_or(-1), row(i).thread_id);
    const bool again = more && named && seen.contains(thread);
    if (!more || again) {
      out.push_back({{}, again ? out.back().repeat + 1 : 0});
      seen.clear();
    }
    if (samples.size() > 1 && named) seen.insert(thread);
    out.back().samples.push_back(i);
  }
  return out;
}

// The sample of it; the first of those that look most like it. Nothing: none has a stack.
std::optional<std::size_t> main_thread(const Facts& facts,
                                       const std::vector<std::size_t>& threads) {
  const auto score = [&](const StackSample& s) {
    if (s.row.main) return 4;
    if (s.row.thread == "MainThread") return 3;
    if (s.row.tid && s.row.pid && *s.row.tid == *s.row.pid) return 2;
    return calls(facts, static_cast<std::size_t>(s.stack),
                 [](const std::string& function) {
                   return function == "<module>" || function == "main" || function == "_start" ||
                          function.starts_with("__libc_start");
                 })
               ? 1
               : 0;
  };
  std::optional<std::size_t> best;
  std::tuple<int, std::int64_t, std::uint64_t> best_key;
  for (const std::size_t i : threads) {
    const StackSample& s = facts.samples[i];
    if (s.stack < 0 || static_cast<std::size_t>(s.stack) >= facts.stacks.stacks.size()) continue;
    const std::tuple key(-score(s), facts.order(s.row.place.member), s.row.place.line);
    if (best && key >= best_key) continue;
    best = i;
    best_key = key;
  }
  return best;
}

// A series is a tool in a folder.
std::string series_of(const Facts& facts, std::size_t sample) {
  const std::string_view path = path_of(facts, sample);
  const auto slash = path.rfind('/');
  return fmt::format("{}:{}", slash == std::string_view::npos ? "" : path.substr(0, slash),
                     facts.samples[sample].row.source);
}

std::string stem_of(const Facts& facts, std::size_t sample) {
  const std::string_view file = base_name(path_of(facts, sample));
  for (const std::string_view ending :
       {".txt", ".json", ".log", ".out", ".dot", ".raw", ".stack", ".stacks"})
    if (file.ends_with(ending)) return std::string(file.substr(0, file.size() - ending.size()));
  return std::string(file);
}

bool before(const Facts& facts, const Dump& a, const Dump& b) {
  const StackRow &ra = facts.samples[a.sample].row, &rb = facts.samples[b.sample].row;
  if (ra.time.clock != Clock::none && rb.time.clock == ra.time.clock && ra.time.ns != rb.time.ns)
    return ra.time.ns < rb.time.ns;
  if (a.series != b.series) return natural_less(a.series, b.series);
  if (a.stem != b.stem) return natural_less(a.stem, b.stem);
  // Text before JSON: its lines can be quoted.
  return std::tuple(-facts.order(ra.place.member), ra.place.line, a.sample) <
         std::tuple(-facts.order(rb.place.member), rb.place.line, b.sample);
}

// In their order. The k-th look of a series at a process is the series' round k; another file name
// is a look of its own, another extension is not: rank0.txt and rank0.json come from one look.
void put_in_order(const Facts& facts, std::vector<Dump>& dumps) {
  if (dumps.size() < 2) return;
  for (Dump& d : dumps) {
    d.series = series_of(facts, d.sample);
    d.stem = stem_of(facts, d.sample);
  }
  sort_rows(dumps, [&](const Dump& a, const Dump& b) { return before(facts, a, b); });
  std::map<std::string, std::vector<std::pair<std::string, std::size_t>>> looks;
  for (Dump& d : dumps) {
    auto& seen = looks[d.series];
    const auto look = std::pair(d.stem, d.repeat);
    const auto at = std::ranges::find(seen, look);
    d.round = static_cast<std::size_t>(at - seen.begin());
    if (at == seen.end()) seen.push_back(look);
  }
}

// Without dumps when none of its samples shows a main thread.
DumpedProcess process_of(const Facts& facts, const StackedKey& key,
                         std::vector<std::size_t>& samples, const KnownProcesses& known) {
  DumpedProcess p;
  p.shown.role = key.role;
  p.shown.host = key.host;
  if (key.rank != kNoRank) p.shown.rank = key.rank;
  if (key.pid >= 0) p.shown.pid = key.pid;
  for (const auto& [threads, repeat] : dumps_of(facts, samples)) {
    const auto main = main_thread(facts, threads);
    if (!main) continue;
    const StackSample& s = facts.samples[*main];
    if (!p.shown.pid && s.row.pid) p.shown.pid = s.row.pid;
    if (p.shown.host.empty()) p.shown.host = host_of(facts, s);
    p.dumps.push_back({*main, static_cast<std::size_t>(s.stack), "", "", repeat, 0});
  }
  if (p.shown.host.empty() && key.rank != kNoRank)
    p.shown.host = known.host(key.rank).value_or(Host());
  put_in_order(facts, p.dumps);
  p.shown.dumps = p.dumps.size();
  return p;
}

// Python's stack ends where C begins: what the process waits in only its machine code tells.
void refine(const Facts& facts, const NormalStacks& normal, DumpedProcess& p) {
  const Dump* machine = nullptr;
  // gdb's Python view shows one built-in function at best: better than nothing.
  const auto depth = [&](const Dump& dump) {
    const std::string& source = facts.samples[dump.sample].row.source;
    return source == "gdb-py" ? 0 : richness(source);
  };
  for (const Dump& d : p.dumps) {
    const auto& frames = facts.stacks.stacks[d.stack];
    if (!frames.empty() && frames.front() < facts.stacks.frames.size() &&
        facts.stacks.frames[frames.front()].native &&
        (machine == nullptr || depth(d) > depth(*machine)))
      machine = &d;
  }
  if (machine == nullptr) return;
  const Stage& native = normal.stages[machine->stack];
  if (native.decided >= 0)
    p.shown.native_reason = normal_function(
        facts.stacks.frames[static_cast<std::size_t>(native.decided)].function, true);
  if (machine->sample == p.shown.sample) return;
  p.shown.native = machine->sample;
  Stage& s = p.shown.stage;
  const bool vague = s.doing == Doing::unknown || s.doing == Doing::compute ||
                     s.doing == Doing::lock || s.doing == Doing::checkpoint;
  // A lock says less than the code it was taken in; being idle is a matter of Python's frames.
  const bool telling = native.doing != Doing::unknown && native.doing != Doing::compute &&
                       native.doing != Doing::idle &&
                       !(native.doing == Doing::lock && s.doing == Doing::checkpoint);
  if (!vague || !telling) return;
  s.doing = native.doing;
  s.operation = native.operation;
  if (s.dimension.empty()) s.dimension = native.dimension;
}

// One dump speaks for the process. For all by the same tool if possible: equal stacks are compared
// as text.
void choose(const Facts& facts, const NormalStacks& normal, std::vector<DumpedProcess>& processes) {
  const auto source_of = [&](const Dump& d) -> const std::string& {
    return facts.samples[d.sample].row.source;
  };
  std::map<std::string, std::size_t> coverage;  // tool -> trainers
  for (const DumpedProcess& p : processes) {
    if (p.shown.role != "trainer") continue;
    std::set<std::string> sources;
    for (const Dump& d : p.dumps) sources.insert(source_of(d));
    for (const std::string& s : sources) ++coverage[s];
  }
  const auto python_level = [](std::string_view s) {
    return s == "pyspy" || s == "faulthandler" || s == "gdb-py";
  };
  std::size_t widest = 0;
  for (const auto& [source, n] : coverage) widest = std::max(widest, n);
  std::string favourite;
  for (const auto& [source, n] : coverage)
    if (4 * n >= 3 * widest && (favourite.empty() || richness(source) > richness(favourite)))
      favourite = source;
  for (DumpedProcess& p : processes) {
    // At the level of the favourite, the favourite first, then the richest; the first look of it.
    const Dump& best = *std::ranges::min_element(p.dumps, {}, [&](const Dump& d) {
      const std::string& source = source_of(d);
      const bool level = python_level(source) == python_level(favourite);
      return std::tuple(source == favourite ? 0 : level ? 1 : 2, -richness(source));
    });
    p.shown.sample = best.sample;
    p.shown.stack = normal.of[best.stack];
    p.shown.stage = normal.stages[best.stack];
    refine(facts, normal, p);
  }
}

// A blocking read of a device's result is one call in C: Python shows the line it stands in and
// nothing of the wait. Many ranks at the same place of the program stand in such a line; one alone
// may compute there.
void imply(const StackParams& params, std::vector<DumpedProcess>& processes) {
  std::map<std::uint32_t, std::size_t> at;
  std::size_t trainers = 0;
  const auto own = [](const DumpedProcess& p) {
    return p.shown.role == "trainer" &&
           (p.shown.stage.doing == Doing::compute || p.shown.stage.doing == Doing::unknown) &&
           p.shown.stage.operation != "leaving";
  };
  for (const DumpedProcess& p : processes) {
    trainers += p.shown.role == "trainer";
    if (own(p)) ++at[p.shown.stack];
  }
  for (DumpedProcess& p : processes) {
    if (!own(p)) continue;
    const std::size_t together = at[p.shown.stack];
    if (together < params.implied ||
        static_cast<double>(together) < params.implied_share * static_cast<double>(trainers))
      continue;
    p.shown.stage.doing = Doing::gpu;
    p.shown.stage.operation = "implied";
  }
}

}  // namespace

std::string_view path_of(const Facts& facts, std::size_t sample) {
  const MemberRow* member = facts.member(facts.samples[sample].row.place.member);
  return member == nullptr ? std::string_view{} : std::string_view(member->path);
}

bool natural_less(std::string_view a, std::string_view b) {
  const auto take_number = [](std::string_view& text) {
    const std::string_view digits =
        text.substr(0, std::min(text.find_first_not_of("0123456789"), text.size()));
    text.remove_prefix(digits.size());
    return digits.substr(std::min(digits.find_first_not_of('0'), digits.size()));
  };
  const auto digit = [](char c) { return c >= '0' && c <= '9'; };
  std::string_view x = a, y = b;
  while (!x.empty() && !y.empty()) {
    if (digit(x[0]) && digit(y[0])) {
      const std::string_view m = take_number(x), n = take_number(y);
      if (m != n) return m.size() != n.size() ? m.size() < n.size() : m < n;
    } else {
      if (x[0] != y[0]) return x[0] < y[0];
      x.remove_prefix(1);
      y.remove_prefix(1);
    }
  }
  return x.size() != y.size() ? x.size() < y.size() : a < b;
}

DumpedProcesses dumped_processes(const Facts& facts, const NormalStacks& normal,
                                 const std::map<Rank, Host>& host_of_rank,
                                 const StackParams& params) {
  const KnownProcesses known(facts, host_of_rank);
  DumpedProcesses out;
  for (auto& [key, samples] : samples_by_process(facts, normal, known)) {
    DumpedProcess p = process_of(facts, key, samples, known);
    if (!p.dumps.empty())
      out.all.push_back(std::move(p));
    else if (key.role == "trainer")
      ++out.failed;
  }
  choose(facts, normal, out.all);
  imply(params, out.all);
  return out;
}

}  // namespace culprit::analyze
