// Who stands where, who is the exception, and who waits for whom.
#include "analyze/hang/stacks.hpp"

#include <algorithm>
#include <set>
#include <tuple>

#include <fmt/format.h>

#include "analyze/hang/crossed_calls.hpp"
#include "model/contains.hpp"
#include "model/ranges.hpp"
#include "model/confidence.hpp"
#include "model/phrases.hpp"
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

// One dump of one process: its main thread.
struct Dump {
  std::size_t sample = 0;
  std::string series;      // folder and tool: dumps of one series compare
  std::string stem;        // of the file: rank0.txt and rank0.json are one look
  std::size_t repeat = 0;  // the how manieth dump of the process in its file
  std::size_t round = 0;
};

struct Process {
  StackProcess shown;
  std::vector<Dump> dumps;
};

struct StackedKey {
  Rank rank = kNoRank;
  std::int64_t pid = -1;
  Host host;
  std::string role;
  std::string
      main;  // of a dump that names neither rank nor process: where it lies and its main thread
  auto operator<=>(const StackedKey&) const = default;
};

// "round10" after "round9".
bool natural_less(std::string_view a, std::string_view b) {
  const auto digit = [](char c) { return c >= '0' && c <= '9'; };
  std::size_t i = 0, j = 0;
  while (i < a.size() && j < b.size()) {
    if (digit(a[i]) && digit(b[j])) {
      std::size_t k = i, l = j;
      while (k < a.size() && a[k] == '0') ++k;
      while (l < b.size() && b[l] == '0') ++l;
      std::size_t m = k, n = l;
      while (m < a.size() && digit(a[m])) ++m;
      while (n < b.size() && digit(b[n])) ++n;
      if (m - k != n - l) return m - k < n - l;
      const int order = a.substr(k, m - k).compare(b.substr(l, n - l));
      if (order != 0) return order < 0;
      i = m;
      j = n;
    } else {
      if (a[i] != b[j]) return a[i] < b[j];
      ++i;
      ++j;
    }
  }
  if (a.size() - i != b.size() - j) return a.size() - i < b.size() - j;
  return a < b;
}

class Aggregation {
 public:
  Aggregation(const Facts& facts, const Topology& topology, const StackParams& params,
              StackReport& report)
      : facts_(facts), topology_(topology), params_(params), report_(report) {}

  void run(const HangWord& hang) {
    report_.normal = normal_stacks(facts_.stacks, params_.keep_lines);
    collect();
    if (processes_.empty()) return;
    choose();
    imply();
    group();
    judge_motion();
    const bool known = hang.known && !(hang.inferred && report_.motion == Motion::moving);
    report_.hang = known || report_.motion == Motion::standing;
    report_.hang_why = known                                ? hang.why
                       : report_.motion == Motion::standing ? report_.motion_why
                                                            : Text();
    find_rounds();
    locate();
    for (Process& p : processes_) report_.processes.push_back(std::move(p.shown));
  }

 private:
  const Stage& stage(std::int32_t stack) const {
    return report_.normal.stages[static_cast<std::size_t>(stack)];
  }

  Host host_of(const StackSample& sample) const {
    if (sample.row.host) return short_host(*sample.row.host);
    const MemberRow* member = facts_.member(sample.row.place.member);
    return member != nullptr && member->host ? *member->host : Host();
  }

  // The role that the resolution found; else what a stack of the process betrays, whichever of its
  // threads it is.
  std::string role_of(const StackSample& sample) const {
    if (!sample.role.empty()) return sample.role;
    if (betrayed_.empty()) return "trainer";
    const auto at = betrayed_.find(owner_of(sample));
    return at == betrayed_.end() ? "trainer" : at->second;
  }
  // A worker's machine code does not show that it is one; what another tool showed of the same
  // process does.
  std::tuple<std::string, MemberId, std::int64_t> owner_of(const StackSample& s) const {
    return s.row.pid
               ? std::tuple(std::string(host_of(s)), MemberId{0}, *s.row.pid)
               : std::tuple(std::string(), facts_.order(s.row.place.member) + 1, std::int64_t{-1});
  }
  void find_roles() {
    std::vector<std::int8_t> worker(facts_.stacks.stacks.size(), -1);
    for (const StackSample& s : facts_.samples) {
      if (!s.role.empty()) continue;
      const char* role = nullptr;
      if (s.stack >= 0) {
        std::int8_t& known = worker[static_cast<std::size_t>(s.stack)];
        if (known < 0) {
          known = stage(s.stack).operation == "agent" ? 2 : 0;
          for (const std::uint32_t f : facts_.stacks.stacks[static_cast<std::size_t>(s.stack)])
            if (f < facts_.stacks.frames.size() &&
                facts_.stacks.frames[f].function == "_worker_loop")
              known = 1;
        }
        role = known == 1 ? "dataloader" : known == 2 ? "agent" : nullptr;
      }
      if (role == nullptr &&
          (contains(s.row.command, "torchrun") || contains(s.row.command, "torch.distributed.run")))
        role = "agent";
      if (role != nullptr) betrayed_.emplace(owner_of(s), role);
    }
  }

  // Which rank a process is, and which machine a rank is on: tools that see machine code only know
  // the process number.
  struct KnownProcesses {
    std::map<std::pair<std::string, std::int64_t>, Rank> rank_of;           // by host and number
    std::map<std::int64_t, std::set<std::pair<std::string, Rank>>> by_pid;  // who has it, and where
    std::map<Rank, Host> hosts;                                             // by rank

    void learn(const Host& host, std::int64_t pid, Rank rank) {
      rank_of.emplace(std::pair(host, pid), rank);
      by_pid[pid].insert({host, rank});
    }
    Rank rank(const Host& host, std::int64_t pid) const {  // kNoRank: not known
      if (const auto at = rank_of.find({host, pid}); at != rank_of.end()) return at->second;
      const auto all = by_pid.find(pid);
      return all != by_pid.end() && all->second.size() == 1 &&
                     (host.empty() || all->second.begin()->first.empty())
                 ? all->second.begin()->second
                 : kNoRank;
    }
    Host host(Rank rank) const {
      const auto at = hosts.find(rank);
      return at == hosts.end() ? Host() : at->second;
    }
  };

  KnownProcesses known_processes() const {
    KnownProcesses out;
    out.hosts = topology_.host_of;
    for (const RankRow& r : facts_.ranks)
      if (r.host) out.hosts.emplace(r.rank, *r.host);
    if (std::ranges::none_of(facts_.samples, [&](const StackSample& s) {
          return s.row.ranks.empty() && !rank_of(s);
        }))
      return out;  // every stack says which rank it is of
    for (const RankRow& r : facts_.ranks)
      if (r.pid) out.learn(r.host.value_or(Host()), *r.pid, r.rank);
    for (const ProcessRow& p : facts_.processes)
      if (p.rank) out.learn(p.host ? short_host(*p.host) : Host(), p.pid, *p.rank);
    for (const StackSample& s : facts_.samples)
      if (const auto rank = rank_of(s); rank && s.row.pid) out.learn(host_of(s), *s.row.pid, *rank);
    return out;
  }

  using SamplesByProcess = std::map<StackedKey, std::vector<std::size_t>>;

  SamplesByProcess samples_by_process(const KnownProcesses& known) const {
    const std::map<std::size_t, std::string> mains = main_threads();
    SamplesByProcess found;
    for (std::size_t i = 0; i < facts_.samples.size(); ++i) {
      const StackSample& s = facts_.samples[i];
      if (s.row.source == "traceback" || s.row.source == "recorder") continue;
      if (const MemberRow* member = facts_.member(s.row.place.member);
          member != nullptr && member->duplicate_of != 0)
        continue;
      StackedKey key;
      key.role = role_of(s);
      if (!s.row.ranks.empty()) {
        // An aggregate speaks for many; each gets the stack.
        for (const Rank r : from_ranges(s.row.ranks)) {
          key.rank = r;
          if (key.role != "trainer")
            if (const auto host = known.hosts.find(r); host != known.hosts.end())
              key.host = host->second;
          found[key].push_back(i);
        }
        continue;
      }
      key.host = host_of(s);
      if (s.row.pid) key.pid = *s.row.pid;
      if (const auto rank = rank_of(s))
        key.rank = *rank;
      else if (s.row.pid)
        key.rank = known.rank(key.host, *s.row.pid);
      if (key.host.empty() && key.rank != kNoRank) key.host = known.host(key.rank);
      if (const auto main = mains.find(i);
          main != mains.end() && key.rank == kNoRank && key.pid < 0)
        key.main = main->second;
      // A rank has one trainer: a dump whose process number was lost is of the same process.
      if (key.role == "trainer" && key.rank != kNoRank) {
        key.pid = -1;
        key.host.clear();
      }
      found[key].push_back(i);
    }
    return found;
  }

  // A process with its dumps in order; without dumps when none of its samples shows a main thread.
  Process process_of(const StackedKey& key, std::vector<std::size_t>& samples,
                     const KnownProcesses& known) {
    Process p;
    p.shown.role = key.role;
    p.shown.host = key.host;
    if (key.rank != kNoRank) p.shown.rank = key.rank;
    if (key.pid >= 0) p.shown.pid = key.pid;
    for (const auto& [threads, repeat] : dumps_of(samples)) {
      const auto main = main_thread(threads);
      if (!main) continue;
      const StackSample& s = facts_.samples[*main];
      if (!p.shown.pid && s.row.pid) p.shown.pid = s.row.pid;
      if (p.shown.host.empty()) p.shown.host = host_of(s);
      p.dumps.push_back({*main, "", "", repeat, 0});
    }
    if (p.dumps.size() > 1)
      for (Dump& d : p.dumps) {
        d.series = series_of(facts_.samples[d.sample]);
        d.stem = stem_of(facts_.samples[d.sample]);
      }
    if (p.shown.host.empty() && key.rank != kNoRank) p.shown.host = known.host(key.rank);
    sort_rows(p.dumps, [&](const Dump& a, const Dump& b) { return before(a, b); });
    if (p.dumps.size() > 1) number_rounds(p);
    return p;
  }

  void collect() {
    find_roles();
    const KnownProcesses known = known_processes();
    SamplesByProcess found = samples_by_process(known);
    for (auto& [key, samples] : found) {
      Process p = process_of(key, samples, known);
      if (!p.dumps.empty())
        processes_.push_back(std::move(p));
      else if (key.role == "trainer")
        ++without_stack_;
    }
    if (without_stack_ > 0) report_.notes.push_back(say(Phrase::dumps_failed, without_stack_));
  }

  // faulthandler names threads and no process. Several processes that write into one console are
  // told apart by their main threads: each dump ends with its own, and address spaces are random.
  // The same one again is the next dump of its process.
  std::map<std::size_t, std::string> main_threads() const {
    std::vector<std::size_t> nameless;
    for (std::size_t i = 0; i < facts_.samples.size(); ++i) {
      const StackRow& row = facts_.samples[i].row;
      if (row.source == "faulthandler" && !row.pid && row.ranks.empty() &&
          !rank_of(facts_.samples[i]))
        nameless.push_back(i);
    }
    const auto place = [&](std::size_t i) {
      const Place& p = facts_.samples[i].row.place;
      return std::tuple(p.member, p.line);
    };
    sort_by(nameless, [&](std::size_t a) { return place(a); });
    std::map<std::size_t, std::string> out;
    std::vector<std::size_t> open;
    for (const std::size_t i : nameless) {
      const StackRow& row = facts_.samples[i].row;
      if (!open.empty() && facts_.samples[open.front()].row.place.member != row.place.member)
        open.clear();
      open.push_back(i);
      if (!row.main || row.thread_id.empty()) continue;
      for (const std::size_t thread : open)
        out[thread] = fmt::format("{} {}", facts_.order(row.place.member), row.thread_id);
      open.clear();
    }
    return out;
  }

  bool before(const Dump& a, const Dump& b) const {
    const StackRow &ra = facts_.samples[a.sample].row, &rb = facts_.samples[b.sample].row;
    if (ra.time.clock != Clock::none && rb.time.clock == ra.time.clock && ra.time.ns != rb.time.ns)
      return ra.time.ns < rb.time.ns;
    if (a.series != b.series) return natural_less(a.series, b.series);
    if (a.stem != b.stem) return natural_less(a.stem, b.stem);
    // Text before JSON: its lines can be quoted.
    return std::tuple(-facts_.order(ra.place.member), ra.place.line, a.sample) <
           std::tuple(-facts_.order(rb.place.member), rb.place.line, b.sample);
  }

  // As printed; else of the file, when that is known to be of one rank.
  std::optional<Rank> rank_of(const StackSample& sample) const {
    if (sample.row.rank) return sample.row.rank;
    const MemberRow* member = facts_.member(sample.row.place.member);
    return member == nullptr ? std::nullopt : member->rank;
  }

  std::string_view path_of(const StackSample& s) const {
    const MemberRow* member = facts_.member(s.row.place.member);
    return member == nullptr ? std::string_view{} : std::string_view(member->path);
  }
  // A series is a tool in a folder.
  std::string series_of(const StackSample& s) const {
    const std::string_view path = path_of(s);
    const auto slash = path.rfind('/');
    return fmt::format("{}:{}", slash == std::string_view::npos ? "" : path.substr(0, slash),
                       s.row.source);
  }
  std::string stem_of(const StackSample& s) const {
    const std::string_view file = base_name(path_of(s));
    for (const std::string_view ending :
         {".txt", ".json", ".log", ".out", ".dot", ".raw", ".stack", ".stacks"})
      if (file.ends_with(ending)) return std::string(file.substr(0, file.size() - ending.size()));
    return std::string(file);
  }
  // The threads of one dump stand together in one file; a thread that comes again begins the next
  // dump.
  struct Threads {
    std::vector<std::size_t> samples;
    std::size_t repeat = 0;
  };
  std::vector<Threads> dumps_of(std::vector<std::size_t>& samples) const {
    const auto row = [&](std::size_t i) -> const StackRow& { return facts_.samples[i].row; };
    const auto head = [&](std::size_t i) {
      return std::tuple(facts_.order(row(i).place.member), row(i).place.member, row(i).source,
                        row(i).time.ns);
    };
    if (samples.size() > 1)
      sort_by(samples, [&](std::size_t a) {
        return std::tuple(head(a), std::tie(row(a).place.line, facts_.samples[a].stack));
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

  std::optional<std::size_t> main_thread(const std::vector<std::size_t>& threads) const {
    std::optional<std::size_t> best;
    int best_score = -1;
    for (const std::size_t i : threads) {
      const StackSample& s = facts_.samples[i];
      if (s.stack < 0 || static_cast<std::size_t>(s.stack) >= report_.normal.of.size()) continue;
      int score = 0;
      if (s.row.main)
        score = 4;
      else if (s.row.thread == "MainThread")
        score = 3;
      else if (s.row.tid && s.row.pid && *s.row.tid == *s.row.pid)
        score = 2;
      else if (has_program(s.stack))
        score = 1;
      const StackRow& row = s.row;
      if (score > best_score ||
          (score == best_score &&
           std::tuple(facts_.order(row.place.member), row.place.line) <
               std::tuple(facts_.order(facts_.samples[*best].row.place.member),
                          facts_.samples[*best].row.place.line))) {
        best = i;
        best_score = score;
      }
    }
    return best;
  }
  bool has_program(std::int32_t stack) const {
    for (const std::uint32_t f : facts_.stacks.stacks[static_cast<std::size_t>(stack)]) {
      if (f >= facts_.stacks.frames.size()) continue;
      const std::string& function = facts_.stacks.frames[f].function;
      if (function == "<module>" || function == "main" || function == "_start" ||
          function.starts_with("__libc_start"))
        return true;
    }
    return false;
  }

  // The k-th look of a series at a process is the series' round k; another file name is a look of
  // its own, another extension is not: rank0.txt and rank0.json come from one look.
  static void number_rounds(Process& p) {
    std::map<std::string, std::vector<std::pair<std::string, std::size_t>>> looks;
    for (Dump& d : p.dumps) {
      auto& seen = looks[d.series];
      const auto look = std::pair(d.stem, d.repeat);
      const auto at = std::ranges::find(seen, look);
      d.round = static_cast<std::size_t>(at - seen.begin());
      if (at == seen.end()) seen.push_back(look);
    }
  }

  // One dump speaks for the process. For all by the same tool if possible: equal stacks are
  // compared as text.
  void choose() {
    std::map<std::string, std::size_t> coverage;  // tool -> trainers
    for (const Process& p : processes_) {
      if (p.shown.role != "trainer") continue;
      std::set<std::string> sources;
      for (const Dump& d : p.dumps) sources.insert(facts_.samples[d.sample].row.source);
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
    for (Process& p : processes_) {
      // At the level of the favourite, the favourite first, then the richest; the first look of it.
      const auto rank_of = [&](const Dump& d) {
        const std::string& source = facts_.samples[d.sample].row.source;
        return std::tuple(source == favourite                               ? 0
                          : python_level(source) == python_level(favourite) ? 1
                                                                            : 2,
                          -richness(source));
      };
      const Dump* best = &p.dumps.front();
      for (const Dump& d : p.dumps)
        if (rank_of(d) < rank_of(*best)) best = &d;
      p.shown.sample = best->sample;
      p.shown.dumps = p.dumps.size();
      const std::int32_t stack = facts_.samples[best->sample].stack;
      p.shown.stack = report_.normal.of[static_cast<std::size_t>(stack)];
      p.shown.stage = stage(stack);
      refine(p);
    }
  }

  // Python's stack ends where C begins: what the process waits in only its machine code tells.
  void refine(Process& p) {
    Stage& s = p.shown.stage;
    const Dump* machine = nullptr;
    for (const Dump& d : p.dumps) {
      const auto& frames =
          facts_.stacks.stacks[static_cast<std::size_t>(facts_.samples[d.sample].stack)];
      if (frames.empty() || frames.front() >= facts_.stacks.frames.size() ||
          !facts_.stacks.frames[frames.front()].native)
        continue;
      // gdb's Python view shows one built-in function at best: better than nothing.
      const auto depth = [&](const Dump& dump) {
        const std::string& source = facts_.samples[dump.sample].row.source;
        return source == "gdb-py" ? 0 : richness(source);
      };
      if (machine == nullptr || depth(d) > depth(*machine)) machine = &d;
    }
    if (machine != nullptr) {
      const Stage& native = stage(facts_.samples[machine->sample].stack);
      if (native.decided >= 0)
        p.shown.native_reason = normal_function(
            facts_.stacks.frames[static_cast<std::size_t>(native.decided)].function, true);
      if (machine->sample == p.shown.sample) return;
      p.shown.native = machine->sample;
      const bool vague = s.doing == Doing::unknown || s.doing == Doing::compute ||
                         s.doing == Doing::lock || s.doing == Doing::checkpoint;
      // A lock says less than the code it was taken in; being idle is a matter of Python's frames.
      const bool telling = native.doing != Doing::unknown && native.doing != Doing::compute &&
                           native.doing != Doing::idle &&
                           !(native.doing == Doing::lock && s.doing == Doing::checkpoint);
      if (vague && telling) {
        s.doing = native.doing;
        s.operation = native.operation;
        if (s.dimension.empty()) s.dimension = native.dimension;
      }
    }
  }

  // A blocking read of a device's result is one call in C: Python shows the line it stands in and
  // nothing of the wait. Many ranks at the same place of the program stand in such a line; one
  // alone may compute there.
  void imply() {
    std::map<std::uint32_t, std::size_t> at;
    std::size_t trainers = 0;
    const auto own = [](const Process& p) {
      return p.shown.role == "trainer" &&
             (p.shown.stage.doing == Doing::compute || p.shown.stage.doing == Doing::unknown) &&
             p.shown.stage.operation != "leaving";
    };
    for (const Process& p : processes_) {
      trainers += p.shown.role == "trainer";
      if (own(p)) ++at[p.shown.stack];
    }
    for (Process& p : processes_) {
      if (!own(p)) continue;
      const std::size_t together = at[p.shown.stack];
      if (together < params_.implied ||
          static_cast<double>(together) < params_.implied_share * static_cast<double>(trainers))
        continue;
      p.shown.stage.doing = Doing::gpu;
      p.shown.stage.operation = "implied";
    }
  }

  void group() {
    std::map<std::tuple<int, std::string, std::uint32_t>, StackGroup> groups;
    std::map<std::string, std::map<std::uint32_t, StackTree::Leaf>> leaves;
    for (const Process& p : processes_) {
      const StackProcess& shown = p.shown;
      StackGroup& g = groups[{shown.role == "trainer" ? 0 : 1, shown.role, shown.stack}];
      if (g.processes == 0) {
        g.role = shown.role;
        g.stack = shown.stack;
        g.stage = shown.stage;
        g.sample = shown.sample;
      }
      ++g.processes;
      StackTree::Leaf& leaf = leaves[shown.role][shown.stack];
      leaf.stack = shown.stack;
      ++leaf.processes;
      if (shown.rank) {
        g.ranks.push_back(*shown.rank);
        leaf.ranks.push_back(*shown.rank);
      }
      if (!shown.host.empty()) g.hosts.push_back(shown.host);
      if (shown.role == "trainer") {
        ++report_.trainers;
        if (shown.rank && !host_of_.contains(*shown.rank)) host_of_[*shown.rank] = shown.host;
      }
    }
    const auto tidy = [](auto& list) { sort_unique(list); };
    for (auto& [role, of_role] : leaves) {
      std::vector<StackTree::Leaf> list;
      for (auto& [stack, leaf] : of_role) {
        tidy(leaf.ranks);
        list.push_back(std::move(leaf));
      }
      report_.trees.emplace(role, StackTree(report_.normal.stacks, std::move(list)));
    }
    for (auto& [key, g] : groups) {
      tidy(g.ranks);
      tidy(g.hosts);
      report_.groups.push_back(std::move(g));
    }
    sort_rows(report_.groups, [](const StackGroup& a, const StackGroup& b) {
      const bool ta = a.role != "trainer", tb = b.role != "trainer";
      return std::tuple(ta, a.role, -static_cast<std::int64_t>(a.processes), a.ranks, a.stack) <
             std::tuple(tb, b.role, -static_cast<std::int64_t>(b.processes), b.ranks, b.stack);
    });
    find_outliers();
    for (const ParallelGroup& g : topology_.groups)
      report_.topology = report_.topology || g.dimension != "world";
    if (!report_.topology) report_.notes.push_back(say(Phrase::no_parallel_groups));
  }

  // The largest group of each role does what is usual, and so do whole stages of a pipeline that
  // wait; trainers of the other groups are outliers. The groups are in order.
  void find_outliers() {
    std::string last_role;
    for (StackGroup& g : report_.groups) {
      const bool first = g.role != last_role;
      last_role = g.role;
      if (first) {
        g.dominant = true;
        g.why = say(Phrase::largest_group);
      } else if (g.role == "trainer")
        if (const Text stages = whole_stages(g.ranks); !stages.empty() && g.stage.waits()) {
          g.dominant = true;
          g.why = stages;
        }
      if (!g.dominant && g.role == "trainer")
        report_.outliers.insert(report_.outliers.end(), g.ranks.begin(), g.ranks.end());
    }
    sort_rows(report_.outliers);
  }

  // "pipeline stage 3": the ranks are exactly all of one or several stages of the pipeline. Those
  // may differ from others by schedule; but a stage that lies on one machine is also just that
  // machine, and then it is an exception.
  Text whole_stages(const std::vector<Rank>& ranks) {
    if (!stages_known_) {
      stages_known_ = true;
      for (const ParallelGroup& g : topology_.groups) {
        if (g.dimension != "pp") continue;
        for (std::size_t i = 0; i < g.ranks.size(); ++i) {
          stage_of_[g.ranks[i]] = i;
          ranks_of_stage_[i].insert(g.ranks[i]);
        }
      }
    }
    if (stage_of_.empty()) return {};
    std::set<std::size_t> stages;
    std::set<Host> hosts;
    std::size_t expected = 0;
    for (const Rank r : ranks) {
      const auto at = stage_of_.find(r);
      if (at == stage_of_.end()) return {};
      if (stages.insert(at->second).second) expected += ranks_of_stage_[at->second].size();
      hosts.insert(host_of_.contains(r) ? host_of_.at(r) : Host());
    }
    if (stages.empty() || expected != ranks.size() || hosts.size() < 2 ||
        stages.size() == ranks_of_stage_.size())
      return {};
    std::vector<std::int64_t> list(stages.begin(), stages.end());
    return say(Phrase::pipeline_stages, list.size(), to_ranges(list));
  }

  // Do looks at different moments show the same? Only dumps of one level compare, to the line.
  void judge_motion() {
    std::size_t standing = 0, moving = 0;
    bool waiter_moved = false;
    Nanoseconds longest = 0;
    std::size_t most = 0;
    for (const Process& p : processes_) {
      if (p.shown.role != "trainer" || p.dumps.size() < 2) continue;
      const bool python =
          report_.normal.python[static_cast<std::size_t>(facts_.samples[p.shown.sample].stack)];
      std::vector<const Dump*> looks;
      for (const Dump& d : p.dumps) {
        if (report_.normal.python[static_cast<std::size_t>(facts_.samples[d.sample].stack)] !=
            python)
          continue;
        if (!looks.empty() && !different_moment(*looks.front(), d)) continue;
        looks.push_back(&d);
      }
      if (looks.size() < 2) continue;
      most = std::max(most, looks.size());
      bool same = true;
      for (const Dump* d : looks) {
        same = same && exact(*d) == exact(*looks.front());
        const StackRow &a = facts_.samples[d->sample].row,
                       &b = facts_.samples[looks.front()->sample].row;
        if (a.time.clock != Clock::none && a.time.clock == b.time.clock)
          longest = std::max(longest, std::abs(a.time.ns - b.time.ns));
      }
      ++(same ? standing : moving);
      if (!same && p.shown.stage.waits()) waiter_moved = true;
    }
    const std::size_t seen = standing + moving;
    if (seen == 0) return;
    if (waiter_moved || standing == 0) {
      report_.motion = Motion::moving;
      report_.motion_why = say(Phrase::elsewhere_in_snapshot, moving, seen);
    } else if (2 * seen >= report_.trainers && seen >= 2 && standing * 2 >= seen) {
      report_.motion = Motion::standing;
      standing_for_ = longest;
      report_.motion_why = say(Phrase::same_lines_in_snapshots, standing, seen, most,
                               longest > 0 ? human_duration(longest) : std::string());
    }
  }
  std::uint64_t exact(const Dump& d) const {
    return report_.normal.exact[static_cast<std::size_t>(facts_.samples[d.sample].stack)];
  }
  // Two tools may have looked at the same instant; then they agree and it means nothing.
  bool different_moment(const Dump& a, const Dump& b) const {
    const StackRow &ra = facts_.samples[a.sample].row, &rb = facts_.samples[b.sample].row;
    if (a.series == b.series && a.round == b.round) return false;
    if (ra.time.clock != Clock::none && ra.time.clock == rb.time.clock)
      return std::abs(ra.time.ns - rb.time.ns) >= params_.apart;
    if (ra.source != rb.source) return false;
    return a.series == b.series || base_name(path_of(facts_.samples[a.sample])) ==
                                       base_name(path_of(facts_.samples[b.sample]));
  }

  // What tells the looks at one process apart: the part of their paths that differs.
  // snap0/rank_3.txt and snap1/rank_3.txt are looks 0 and 1, and so are n7/rank_3.t0.txt and
  // n7/rank_3.t1.txt; dumps in one file are looks 1, 2, 3.
  std::vector<std::string> names_of_looks(const std::vector<const Dump*>& dumps) const {
    std::vector<std::string> paths;
    for (const Dump* d : dumps) {
      const StackSample& s = facts_.samples[d->sample];
      const std::string_view path = path_of(s);
      paths.push_back(
          fmt::format("{}/{}", path.substr(0, path.size() - base_name(path).size()), stem_of(s)));
    }
    const auto digit = [](char c) { return c >= '0' && c <= '9'; };
    const std::string& first = paths.empty() ? std::string() : paths.front();
    std::size_t head = first.size(), tail = first.size();
    for (const std::string& path : paths) {
      std::size_t i = 0, j = 0;
      while (i < std::min(head, path.size()) && path[i] == first[i]) ++i;
      while (j < std::min(tail, path.size()) &&
             path[path.size() - 1 - j] == first[first.size() - 1 - j])
        ++j;
      head = i;
      tail = j;
    }
    // Whole numbers: snap9 and snap10 differ in 9 and 10, snap10 and snap11 in 10 and 11.
    while (head > 0 && digit(first[head - 1])) --head;
    while (tail > 0 && digit(first[first.size() - tail])) --tail;
    std::vector<std::string> out;
    for (std::size_t i = 0; i < dumps.size(); ++i) {
      const std::string& path = paths[i];
      out.push_back(path.size() > head + tail ? path.substr(head, path.size() - head - tail)
                                              : std::to_string(dumps[i]->repeat + 1));
    }
    return out;
  }

  // One look at the job: the stack of each rank at about one time.
  struct Look {
    std::string name;
    std::optional<Nanoseconds> time;
    std::map<Rank, std::uint32_t> stack;  // by rank
  };

  // The looks at the trainers by the tool that the first of them was seen with, in order of time.
  std::vector<Look> looks_at_trainers() const {
    std::string source;
    for (const Process& p : processes_)
      if (p.shown.role == "trainer") {
        source = facts_.samples[p.shown.sample].row.source;
        break;
      }
    struct Seen {
      Rank rank;
      std::vector<const Dump*> dumps;
      std::vector<std::string> names;
    };
    std::vector<Seen> seen;
    std::set<std::string> names;
    std::size_t most_looks = 0;
    for (const Process& p : processes_) {
      if (p.shown.role != "trainer" || !p.shown.rank) continue;
      std::vector<const Dump*> dumps;
      for (const Dump& d : p.dumps)
        if (facts_.samples[d.sample].row.source == source) dumps.push_back(&d);
      seen.push_back({*p.shown.rank, dumps, names_of_looks(dumps)});
      names.insert(seen.back().names.begin(), seen.back().names.end());
      most_looks = std::max(most_looks, dumps.size());
    }
    // Names that machines do not share (each its own time of day) tell nothing: then they are
    // counted.
    const bool named = names.size() <= 2 * most_looks;
    std::map<std::string, Look> looks;
    for (const Seen& one : seen)
      for (std::size_t i = 0; i < one.dumps.size(); ++i) {
        const StackSample& s = facts_.samples[one.dumps[i]->sample];
        const std::string name = named ? one.names[i] : std::to_string(i + 1);
        Look& look = looks[name];
        look.name = "look " + name;
        if (s.row.time.clock != Clock::none && (!look.time || s.row.time.ns < *look.time))
          look.time = s.row.time.ns;
        look.stack.emplace(one.rank, report_.normal.of[static_cast<std::size_t>(s.stack)]);
      }
    // A name that few ranks have is no look at the job: their files are named in another way.
    std::size_t widest = 0;
    for (const auto& [key, look] : looks) widest = std::max(widest, look.stack.size());
    std::vector<Look> order;
    for (auto& [key, look] : looks)
      if (2 * look.stack.size() >= widest) order.push_back(std::move(look));
    sort_rows(order, [](const Look& a, const Look& b) {
      if (a.time && b.time && *a.time != *b.time) return *a.time < *b.time;
      return natural_less(a.name, b.name);
    });
    return order;
  }

  // The ranks whose stack most others do not have; whole stages of a pipeline have their own.
  std::vector<Rank> outliers_of(const Look& look) {
    std::map<std::uint32_t, std::vector<Rank>> groups;
    for (const auto& [rank, stack] : look.stack) groups[stack].push_back(rank);
    const std::vector<Rank>* largest = nullptr;
    for (const auto& [stack, ranks] : groups)
      if (largest == nullptr || ranks.size() > largest->size() ||
          (ranks.size() == largest->size() && ranks < *largest))
        largest = &ranks;
    std::vector<Rank> out;
    for (const auto& [stack, ranks] : groups)
      if (&ranks != largest && whole_stages(ranks).empty())
        out.insert(out.end(), ranks.begin(), ranks.end());
    sort_rows(out);
    return out;
  }

  // The group with most of these ranks; of two with as many the smaller one, since more of it is
  // exceptional. "": none, or a tie.
  std::string group_of_most(const std::vector<Rank>& outliers) const {
    const ParallelGroup* flagged = nullptr;
    std::size_t most = 0;
    bool tie = false;
    for (const ParallelGroup& g : topology_.groups) {
      if (g.dimension == "world") continue;
      const auto n = static_cast<std::size_t>(std::ranges::count_if(
          g.ranks, [&](Rank r) { return std::ranges::binary_search(outliers, r); }));
      if (n == 0) continue;
      if (n > most || (n == most && g.ranks.size() < flagged->ranks.size())) {
        flagged = &g;
        most = n;
        tie = false;
      } else if (n == most && g.ranks.size() == flagged->ranks.size())
        tie = true;
    }
    return flagged == nullptr || tie ? "" : flagged->id;
  }

  // ByteRobust, section 5: in each round the parallel group with most outliers is flagged; the one
  // with most flags degrades the job.
  void find_rounds() {
    if (std::ranges::none_of(processes_, [](const Process& p) {
          return p.shown.role == "trainer" && p.dumps.size() > 1;
        })) {
      // One look at everybody, in however many files and folders it lies.
      report_.rounds.push_back({"", std::nullopt, report_.outliers, ""});
      return;
    }
    std::map<std::string, std::size_t> flags;
    for (const Look& look : looks_at_trainers()) {
      const auto outliers = outliers_of(look);
      const std::string flagged = group_of_most(outliers);
      if (!flagged.empty()) ++flags[flagged];
      report_.rounds.push_back({look.name, look.time, outliers, flagged});
    }
    if (report_.rounds.size() >= params_.slow_rounds) name_degrader(flags);
  }

  void name_degrader(const std::map<std::string, std::size_t>& flags) {
    std::size_t best = 0, second = 0;
    for (const auto& [id, n] : flags) {
      if (n > best) {
        second = best;
        best = n;
        report_.degrader = id;
      } else
        second = std::max(second, n);
    }
    report_.degrader_flags = best;
    if (best == second ||
        static_cast<double>(best) < params_.slow_share * static_cast<double>(report_.rounds.size()))
      report_.degrader.clear();
  }

  const Process* trainer(Rank rank) const {
    const auto at = trainers_.find(rank);
    return at == trainers_.end() ? nullptr : &processes_[at->second];
  }

  // Machine code below Python's interpreter, beside processes that are seen at Python's level: a
  // collective that the program makes in Python has no frame of its own there, so that none is seen
  // says nothing.
  bool blind(const StackProcess& p) const {
    const auto stack = static_cast<std::size_t>(facts_.samples[p.sample].stack);
    if (p.stage.waits() || report_.normal.python[stack] || 2 * seen_in_python_ <= processes_.size())
      return false;
    const auto& frames = facts_.stacks.stacks[stack];
    return std::ranges::any_of(frames, [&](std::uint32_t frame) {
      return contains(facts_.stacks.frames[frame].function, "PyEval_");
    });
  }

  void locate() {
    for (const Process& p : processes_)
      seen_in_python_ +=
          report_.normal.python[static_cast<std::size_t>(facts_.samples[p.shown.sample].stack)];
    std::vector<RankStage> stages;
    std::set<std::string> machines;
    for (std::size_t i = 0; i < processes_.size(); ++i) {
      const StackProcess& p = processes_[i].shown;
      if (p.role != "trainer" || !p.rank || !trainers_.emplace(*p.rank, i).second) continue;
      if (!blind(p)) stages.push_back({*p.rank, p.stage, p.stack});
      machines.insert(p.host.empty() ? "rank " + std::to_string(number_of(*p.rank))
                                     : std::string(p.host));
    }
    if (trainers_.empty()) {
      report_.notes.push_back(say(Phrase::no_stack_with_rank));
      name_exception();
      return;
    }
    sort_by(stages, &RankStage::rank);
    std::set<Rank> all;
    for (const RankRow& r : facts_.ranks) all.insert(r.rank);
    for (const auto& [rank, host] : topology_.host_of) all.insert(rank);
    for (const ParallelGroup& g : topology_.groups) all.insert(g.ranks.begin(), g.ranks.end());
    for (std::int64_t r = 0; r < std::min<std::int64_t>(facts_.world_size, 1 << 20); ++r)
      all.insert(Rank(r));
    add_numbers_left_out(all);
    for (const Rank r : all)
      if (const Process* p = trainer(r); p == nullptr || blind(p->shown))
        report_.unheard.push_back(r);

    // The topology may not know where ranks live; the stacks do.
    Topology placed = topology_;
    for (const auto& [rank, host] : host_of_)
      if (!host.empty()) placed.host_of.emplace(rank, host);
    if (!report_.outliers.empty())
      report_.cover =
          smallest_cover(report_.outliers, placed, std::max(machines.size(), hosts_in(placed)));
    wait_for(stages, report_.outliers, placed, report_.unheard, report_.waits, report_.sinks);
    const std::size_t everybody = std::max(all.size(), stages.size());
    const bool too_many_unheard = !few(report_.unheard.size(), everybody);
    const bool somebody_else = std::ranges::any_of(report_.sinks, &StackSink::elsewhere);
    std::erase_if(report_.sinks, [&](const StackSink& s) {
      return s.unheard && (too_many_unheard || somebody_else);
    });
    for (StackSink& sink : report_.sinks) fill(sink, placed);
    // Where no chain of waits has an end outside of all collectives, calls may have crossed.
    if (std::ranges::none_of(report_.sinks,
                             [](const StackSink& s) { return s.elsewhere || s.unheard; }))
      if (const auto crossed = crossed_calls(report_.waits)) blame_branch(*crossed, placed);
    find_storage(machines.size());
    report_.confidence = confidence();
  }
  // Nobody knows the ranks; still, where nearly all wait in collectives, the process that does not
  // is what they wait for.
  void name_exception() {
    const Process* odd = nullptr;
    std::size_t waiting = 0;
    for (const Process& p : processes_) {
      if (p.shown.role != "trainer") continue;
      if (p.shown.stage.doing == Doing::collective) {
        ++waiting;
        continue;
      }
      if (odd != nullptr || p.shown.stage.waits()) return;
      odd = &p;
    }
    if (odd == nullptr || waiting < 3) return;
    StackSink sink{.stage = odd->shown.stage,
                   .native_reason = odd->shown.native_reason,
                   .samples = {odd->shown.sample},
                   .waiting = waiting,
                   .elsewhere = true};
    if (!odd->shown.host.empty()) sink.hosts = {odd->shown.host};
    place(sink, sink.stage);
    report_.sinks.push_back(std::move(sink));
    report_.confidence = confidence();
  }

  // So few that it says something of them.
  bool few(std::size_t unheard, std::size_t everybody) const {
    return static_cast<double>(unheard) <= params_.unheard * static_cast<double>(everybody);
  }

  // Nothing may tell how large the job is. Numbers are given without gaps: those left out between
  // others, where they are few, are ranks of which nothing was collected. Beyond the lowest and the
  // highest nobody knows.
  void add_numbers_left_out(std::set<Rank>& all) const {
    for (const auto& [rank, at] : trainers_) all.insert(rank);
    if (all.empty() || !is_rank_of(1 << 20, *all.begin()) || !is_rank_of(1 << 20, *all.rbegin()))
      return;
    const std::int64_t first = number_of(*all.begin()), end = number_of(*all.rbegin()) + 1;
    if (!few(static_cast<std::size_t>(end - first) - all.size(),
             static_cast<std::size_t>(end - first)))
      return;
    for (std::int64_t r = first; r < end; ++r) all.insert(Rank(r));
  }

  static std::size_t hosts_in(const Topology& topology) {
    std::set<Host> hosts;
    for (const auto& [rank, host] : topology.host_of) hosts.insert(host);
    return hosts.size();
  }

  void fill(StackSink& sink, const Topology& placed) {
    std::set<Host> hosts;
    for (const Rank r : sink.ranks) {
      const Process* p = trainer(r);
      if (p != nullptr && !p->shown.host.empty())
        hosts.insert(p->shown.host);
      else if (const auto at = placed.host_of.find(r); at != placed.host_of.end())
        hosts.insert(at->second);
      if (p == nullptr || sink.samples.size() >= 6) continue;
      sink.samples.push_back(p->shown.sample);
      if (p->shown.native) sink.samples.push_back(*p->shown.native);
      if (sink.native_reason.empty()) sink.native_reason = p->shown.native_reason;
    }
    sink.hosts.assign(hosts.begin(), hosts.end());
    place(sink, sink.stage);
    if (sink.stage.doing == Doing::data) blame_worker(sink);
  }
  void place(StackSink& sink, const Stage& s) const {
    if (s.where < 0) return;
    const Frame& f = facts_.stacks.frames[static_cast<std::size_t>(s.where)];
    sink.function = normal_function(f.function, f.native);
    sink.file = f.file;
    sink.line = f.line;
    const bool own = !f.native && !rules::library_file(f.file) && sink.native_reason.empty();
    const bool runs = !sink.samples.empty() &&
                      facts_.samples[sink.samples.front()].row.state.starts_with("active");
    // A trainer that computes may as well stand on a machine that does not: only of a worker, which
    // touches neither GPU nor network, is it the code.
    sink.program = own && ((s.doing == Doing::compute && runs && sink.role == "dataloader") ||
                           (s.doing == Doing::lock && s.decided == s.where));
  }

  // The fewer are named, and the line at which their way parts from that of the others.
  void blame_branch(const CrossedCalls& crossed, const Topology& placed) {
    const Process* one = trainer(crossed.ranks.front());
    const Process* other = trainer(crossed.others.front());
    if (one == nullptr || other == nullptr) return;
    const auto stack_of = [&](const Process& p) {
      return static_cast<std::size_t>(facts_.samples[p.shown.sample].stack);
    };
    Stage at = one->shown.stage;
    at.where = branch_of(facts_.stacks, stack_of(*one), stack_of(*other));
    if (at.where < 0 ||
        rules::library_file(facts_.stacks.frames[static_cast<std::size_t>(at.where)].file))
      return;  // their ways part within a library: the program called it in one place
    StackSink sink{
        .ranks = crossed.ranks,
        .stage = at,
        .waiting = crossed.others.size(),
        .crossed = say(Phrase::calls_cross, to_ranges(crossed.ranks), crossed.ranks.size(),
                       crossed.operation, crossed.others.size(), crossed.operation_of_others)};
    fill(sink, placed);
    report_.sinks = {std::move(sink)};
  }

  // A trainer that waits for data waits for its own workers: one that is not idle is what it waits
  // for.
  void blame_worker(StackSink& sink) const {
    const Process* worker = nullptr;
    for (const Process& p : processes_) {
      if (p.shown.role != "dataloader" || p.shown.stage.doing == Doing::idle) continue;
      const bool of_rank = p.shown.rank && std::ranges::binary_search(sink.ranks, *p.shown.rank);
      const bool child = !of_rank && !p.shown.rank && std::ranges::any_of(sink.ranks, [&](Rank r) {
        const Process* t = trainer(r);
        return t != nullptr && t->shown.pid && parent_of(p.shown) == t->shown.pid &&
               t->shown.host == p.shown.host;
      });
      if (!of_rank && !child && !of_only_waiter(p.shown, sink.ranks)) continue;
      // Storage explains a stall; code that computes may be about to finish.
      if (worker == nullptr ||
          (worker->shown.stage.doing != Doing::storage && p.shown.stage.doing == Doing::storage))
        worker = &p;
    }
    if (worker == nullptr) return;
    sink.role = "dataloader";
    sink.stage = worker->shown.stage;
    sink.native_reason = worker->shown.native_reason;
    sink.samples.insert(sink.samples.begin(), worker->shown.sample);
    place(sink, sink.stage);
  }
  // A worker whose parent nothing tells is of the one trainer of its machine that waits for data.
  bool of_only_waiter(const StackProcess& worker, const std::vector<Rank>& ranks) const {
    if (worker.rank || worker.host.empty() || ranks.size() != 1 || parent_of(worker)) return false;
    std::size_t waiting = 0;
    for (const Process& p : processes_)
      waiting += p.shown.role == "trainer" && p.shown.host == worker.host &&
                 p.shown.stage.doing == Doing::data;
    const Process* own = trainer(ranks.front());
    return waiting == 1 && own != nullptr && own->shown.host == worker.host;
  }
  std::optional<std::int64_t> parent_of(const StackProcess& p) const {
    for (const ProcessRow& row : facts_.processes)
      if (p.pid && row.pid == *p.pid &&
          (!row.host || p.host.empty() || short_host(*row.host) == p.host))
        return row.parent;
    return std::nullopt;
  }

  // The same call on many machines is not the fault of any of them.
  void find_storage(std::size_t machines) {
    std::map<std::string, std::set<Host>> calls;
    for (const StackSink& s : report_.sinks)
      if (s.stage.doing == Doing::storage)
        calls[std::string(s.stage.operation)].insert(s.hosts.begin(), s.hosts.end());
    for (const auto& [operation, hosts] : calls) {
      if (hosts.size() < 2 || (hosts.size() < params_.storage_hosts &&
                               static_cast<double>(hosts.size()) <=
                                   params_.storage_share * static_cast<double>(machines)))
        continue;
      if (hosts.size() <= report_.storage_hosts.size()) continue;
      for (const StackSink& s : report_.sinks) {
        if (s.stage.doing != Doing::storage || s.stage.operation != operation) continue;
        report_.storage = fmt::format(
            "{} in {}{}", operation, s.function.empty() ? "?" : s.function,
            s.file.empty() ? ""
                           : fmt::format(" ({}{})", base_name(s.file),
                                         s.line > 0 ? ":" + std::to_string(s.line) : ""));
        break;
      }
      report_.storage_hosts.assign(hosts.begin(), hosts.end());
    }
  }

  double confidence() const {
    if (report_.sinks.empty()) return 0;
    if (!report_.hang) return confidence::kStacksNoHang;
    const StackSink& first = report_.sinks.front();
    const auto rivals =
        static_cast<double>(std::ranges::count_if(report_.sinks, [&](const StackSink& s) {
          return s.elsewhere == first.elsewhere && s.unheard == first.unheard;
        }));
    double c = first.elsewhere ? confidence::kStackElsewhere
               : first.unheard ? confidence::kNoStack
                               : confidence::kStackSays;
    // What blocks explains a hang; code that runs may merely have been caught at work.
    if (first.elsewhere && first.stage.doing != Doing::compute &&
        first.stage.doing != Doing::unknown)
      c += confidence::kStackBlocks;
    if (report_.motion == Motion::standing)
      c += standing_for_ > 0 ? confidence::kStillLater
                             : -confidence::kLooksUndated;  // looks without times may be close
    if (report_.motion == Motion::moving) c -= confidence::kStacksMove;
    // Half of the ranks waiting for it is what a hang looks like.
    if (2 * (first.waiting + first.ranks.size()) < report_.trainers) c -= confidence::kFewWait;
    return std::clamp(c / std::max(1.0, rivals), 0.1, 0.95);
  }

  const Facts& facts_;
  const Topology& topology_;
  const StackParams& params_;
  StackReport& report_;
  std::vector<Process> processes_;
  std::size_t seen_in_python_ = 0;  // of them
  std::map<std::tuple<std::string, MemberId, std::int64_t>, std::string>
      betrayed_;  // process -> role
  std::map<Rank, std::size_t> trainers_;
  std::map<Rank, Host> host_of_;
  bool stages_known_ = false;
  std::map<Rank, std::size_t> stage_of_;
  std::map<std::size_t, std::set<Rank>> ranks_of_stage_;
  std::size_t without_stack_ = 0;
  Nanoseconds standing_for_ = 0;
};

}  // namespace

Text describe(const Stage& stage) {
  const std::string operation(stage.operation);
  switch (stage.doing) {
    case Doing::collective: {
      Text out = operation.empty() ? say(Phrase::a_collective) : Text(operation);
      return stage.dimension.empty() ? out : out += say(Phrase::of_dimension, stage.dimension);
    }
    case Doing::compute:
      return say(operation == "leaving" ? Phrase::end_of_program : Phrase::own_code);
    case Doing::gpu:
      return operation == "implied" ? say(Phrase::shared_line)
                                    : say(Phrase::waits_for_gpu, operation);
    case Doing::communicator: return say(Phrase::makes_communicator, operation);
    case Doing::storage: return say(Phrase::in_storage, operation);
    case Doing::data: return say(Phrase::waits_for_loader);
    case Doing::checkpoint: return say(Phrase::in_checkpoint);
    case Doing::service: return say(Phrase::waits_for_service, operation);
    case Doing::lock_file: return say(Phrase::waits_for_lock_file);
    case Doing::lock: return operation.empty() ? say(Phrase::at_lock) : Text(operation);
    case Doing::idle: return say(Phrase::is_idle, operation);
    default: return Text(std::string(name(stage.doing)));
  }
}

HangWord hang_reported(const std::vector<Signal>& signals) {
  std::set<Rank> ranks;
  std::size_t lines = 0;
  for (const Signal* s : timeouts(signals)) {
    ++lines;
    if (s->rank) ranks.insert(*s->rank);
  }
  if (lines == 0) return {};
  if (ranks.empty()) return {true, say(Phrase::timeouts_in_logs), false};
  return {true, say(Phrase::ranks_reported_timeout, ranks.size()), false};
}

StackReport aggregate_stacks(const Facts& facts, const Topology& topology, const HangWord& hang,
                             const StackParams& params) {
  StackReport report;
  Aggregation(facts, topology, params, report).run(hang);
  return report;
}

}  // namespace culprit::analyze
