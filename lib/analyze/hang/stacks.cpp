// Who stands where, who is the exception, and what looks at different moments show.
#include "analyze/hang/stacks.hpp"

#include <algorithm>
#include <set>
#include <tuple>

#include <fmt/format.h>

#include "analyze/hang/stack_processes.hpp"
#include "analyze/hang/stack_sinks.hpp"
#include "model/phrases.hpp"
#include "model/ranges.hpp"
#include "model/sort.hpp"

namespace culprit::analyze {

namespace {

class PipelineStages {
 public:
  PipelineStages(const Topology& topology, std::map<Rank, Host> host_of)
      : host_of_(std::move(host_of)) {
    for (const ParallelGroup& g : topology.groups)
      for (std::size_t i = 0; g.dimension == "pp" && i < g.ranks.size(); ++i) {
        stage_of_[g.ranks[i]] = i;
        ranks_of_[i].insert(g.ranks[i]);
      }
  }

  // "pipeline stage 3": the ranks are exactly all of one or several stages of the pipeline. Those
  // may differ from others by schedule; but a stage that lies on one machine is also just that
  // machine, and then it is an exception.
  Text whole(const std::vector<Rank>& ranks) const {
    std::set<std::size_t> stages;
    std::set<Host> hosts;
    std::size_t expected = 0;
    for (const Rank r : ranks) {
      const auto at = stage_of_.find(r);
      if (at == stage_of_.end()) return {};
      if (stages.insert(at->second).second) expected += ranks_of_.at(at->second).size();
      const auto host = host_of_.find(r);
      hosts.insert(host == host_of_.end() ? Host() : host->second);
    }
    if (expected != ranks.size() || hosts.size() < 2 || stages.size() == ranks_of_.size())
      return {};
    std::vector<std::int64_t> list(stages.begin(), stages.end());
    return say(Phrase::pipeline_stages, list.size(), to_ranges(list));
  }

 private:
  std::map<Rank, Host> host_of_;  // by the stacks
  std::map<Rank, std::size_t> stage_of_;
  std::map<std::size_t, std::set<Rank>> ranks_of_;
};

// The largest group of each role does what is usual, and so do whole stages of a pipeline that
// wait; trainers of the other groups are outliers. The groups are in order.
void find_outliers(const PipelineStages& stages, StackReport& report) {
  std::string last_role;
  for (StackGroup& g : report.groups) {
    g.dominant = g.role != last_role;
    last_role = g.role;
    if (g.dominant) {
      g.why = say(Phrase::largest_group);
    } else if (g.role == "trainer") {
      if (g.stage.waits()) g.why = stages.whole(g.ranks);
      g.dominant = !g.why.empty();
      if (!g.dominant)
        report.outliers.insert(report.outliers.end(), g.ranks.begin(), g.ranks.end());
    }
  }
  sort_rows(report.outliers);
}

void group(StackReport& report) {
  std::map<std::tuple<int, std::string, std::uint32_t>, StackGroup> groups;
  std::map<std::string, std::vector<StackTree::Leaf>> leaves;
  for (const StackProcess& p : report.processes) {
    StackGroup& g = groups[{p.role == "trainer" ? 0 : 1, p.role, p.stack}];
    if (g.processes++ == 0) {
      g.role = p.role;
      g.stack = p.stack;
      g.stage = p.stage;
      g.sample = p.sample;
    }
    if (p.rank) g.ranks.push_back(*p.rank);
    if (!p.host.empty()) g.hosts.push_back(p.host);
    report.trainers += p.role == "trainer";
  }
  for (auto& [key, g] : groups) {
    sort_unique(g.ranks);
    sort_unique(g.hosts);
    leaves[g.role].push_back({g.stack, g.ranks, g.processes});
    report.groups.push_back(std::move(g));
  }
  for (auto& [role, of_role] : leaves)
    report.trees.emplace(role, StackTree(report.normal.stacks, std::move(of_role)));
  sort_by(report.groups, [](const StackGroup& g) {
    return std::tuple(g.role != "trainer", g.role, -static_cast<std::int64_t>(g.processes), g.ranks,
                      g.stack);
  });
}

// Looks at the same processes at different moments.
struct Looks {
  const Facts& facts;
  const Topology& topology;
  const StackParams& params;
  const std::vector<DumpedProcess>& processes;
  const PipelineStages& stages;

  // Do they show the same? Only dumps of one level compare, to the line.
  void judge_motion(StackReport& report) const {
    const NormalStacks& normal = report.normal;
    std::size_t standing = 0, moving = 0, most = 0;
    bool waiter_moved = false;
    Nanoseconds longest = 0;
    for (const DumpedProcess& p : processes) {
      if (p.shown.role != "trainer" || p.dumps.size() < 2) continue;
      const bool python = normal.python[stack_of(facts, p.shown)];
      std::vector<const Dump*> looks;
      for (const Dump& d : p.dumps)
        if (normal.python[d.stack] == python &&
            (looks.empty() || different_moment(*looks.front(), d)))
          looks.push_back(&d);
      if (looks.size() < 2) continue;
      most = std::max(most, looks.size());
      const Dump& first = *looks.front();
      const Timestamp& a = row(first).time;
      bool same = true;
      for (const Dump* d : looks) {
        same = same && normal.exact[d->stack] == normal.exact[first.stack];
        const Timestamp& b = row(*d).time;
        if (a.clock != Clock::none && a.clock == b.clock)
          longest = std::max(longest, std::abs(a.ns - b.ns));
      }
      ++(same ? standing : moving);
      waiter_moved = waiter_moved || (!same && p.shown.stage.waits());
    }
    const std::size_t seen = standing + moving;
    if (seen == 0) return;
    if (waiter_moved || standing == 0) {
      report.motion = Motion::moving;
      report.motion_why = say(Phrase::elsewhere_in_snapshot, moving, seen);
    } else if (2 * seen >= report.trainers && seen >= 2 && standing * 2 >= seen) {
      report.motion = Motion::standing;
      report.standing_for = longest;
      report.motion_why = say(Phrase::same_lines_in_snapshots, standing, seen, most,
                              longest > 0 ? human_duration(longest) : std::string());
    }
  }

  // ByteRobust, section 5: in each round the parallel group with most outliers is flagged; the one
  // with most flags degrades the job.
  void find_rounds(StackReport& report) const {
    if (std::ranges::none_of(processes, [](const DumpedProcess& p) {
          return p.shown.role == "trainer" && p.dumps.size() > 1;
        })) {
      // One look at everybody, in however many files and folders it lies.
      report.rounds.push_back({"", std::nullopt, report.outliers, ""});
      return;
    }
    std::map<std::string, std::size_t> flags;
    for (const Look& look : at_trainers(report.normal)) {
      const auto outliers = outliers_of(look);
      const std::string flagged = group_of_most(outliers);
      if (!flagged.empty()) ++flags[flagged];
      report.rounds.push_back({look.name, look.time, outliers, flagged});
    }
    if (report.rounds.size() >= params.slow_rounds) name_degrader(flags, report);
  }

  // One look at the job: the stack of each rank at about one time.
  struct Look {
    std::string name;
    std::optional<Nanoseconds> time;
    std::map<Rank, std::uint32_t> stack;  // by rank
  };

  const StackRow& row(const Dump& d) const { return facts.samples[d.sample].row; }

  // Two tools may have looked at the same instant; then they agree and it means nothing.
  bool different_moment(const Dump& a, const Dump& b) const {
    const StackRow &ra = row(a), &rb = row(b);
    if (a.series == b.series && a.round == b.round) return false;
    if (ra.time.clock != Clock::none && ra.time.clock == rb.time.clock)
      return std::abs(ra.time.ns - rb.time.ns) >= params.apart;
    return ra.source == rb.source &&
           (a.series == b.series ||
            base_name(path_of(facts, a.sample)) == base_name(path_of(facts, b.sample)));
  }

  // What tells the looks at one process apart: the part of their paths that differs.
  // snap0/rank_3.txt and snap1/rank_3.txt are looks 0 and 1, and so are n7/rank_3.t0.txt and
  // n7/rank_3.t1.txt; dumps in one file are looks 1, 2, 3.
  std::vector<std::string> names_of(const std::vector<const Dump*>& dumps) const {
    std::vector<std::string> paths;
    for (const Dump* d : dumps) {
      const std::string_view path = path_of(facts, d->sample);
      paths.push_back(
          fmt::format("{}/{}", path.substr(0, path.size() - base_name(path).size()), d->stem));
    }
    const auto digit = [](char c) { return c >= '0' && c <= '9'; };
    const std::string first = paths.empty() ? std::string() : paths.front();
    std::size_t head = first.size(), tail = first.size();
    for (const std::string& path : paths) {
      const auto from = std::ranges::mismatch(path, first).in1;
      const auto to = std::mismatch(path.rbegin(), path.rend(), first.rbegin(), first.rend()).first;
      head = std::min(head, static_cast<std::size_t>(from - path.begin()));
      tail = std::min(tail, static_cast<std::size_t>(to - path.rbegin()));
    }
    // Whole numbers: snap9 and snap10 differ in 9 and 10, snap10 and snap11 in 10 and 11.
    while (head > 0 && digit(first[head - 1])) --head;
    while (tail > 0 && digit(first[first.size() - tail])) --tail;
    std::vector<std::string> out;
    for (std::size_t i = 0; i < dumps.size(); ++i)
      out.push_back(paths[i].size() > head + tail
                        ? paths[i].substr(head, paths[i].size() - head - tail)
                        : std::to_string(dumps[i]->repeat + 1));
    return out;
  }

  // The looks at the trainers by the tool that the first of them was seen with, in order of time.
  std::vector<Look> at_trainers(const NormalStacks& normal) const {
    const auto first = std::ranges::find_if(
        processes, [](const DumpedProcess& p) { return p.shown.role == "trainer"; });
    const std::string& source = facts.samples[first->shown.sample].row.source;
    struct Seen {
      Rank rank;
      std::vector<const Dump*> dumps;
      std::vector<std::string> names;
    };
    std::vector<Seen> seen;
    std::set<std::string> names;
    std::size_t most_looks = 0;
    for (const DumpedProcess& p : processes) {
      if (p.shown.role != "trainer" || !p.shown.rank) continue;
      std::vector<const Dump*> dumps;
      for (const Dump& d : p.dumps)
        if (row(d).source == source) dumps.push_back(&d);
      seen.push_back({*p.shown.rank, dumps, names_of(dumps)});
      names.insert(seen.back().names.begin(), seen.back().names.end());
      most_looks = std::max(most_looks, dumps.size());
    }
    // Names that machines do not share (each its own time of day) tell nothing: then they are
    // counted.
    const bool named = names.size() <= 2 * most_looks;
    std::map<std::string, Look> looks;
    for (const Seen& one : seen)
      for (std::size_t i = 0; i < one.dumps.size(); ++i) {
        const std::string name = named ? one.names[i] : std::to_string(i + 1);
        Look& look = looks[name];
        look.name = "look " + name;
        const Timestamp& time = row(*one.dumps[i]).time;
        if (time.clock != Clock::none && (!look.time || time.ns < *look.time)) look.time = time.ns;
        look.stack.emplace(one.rank, normal.of[one.dumps[i]->stack]);
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
  std::vector<Rank> outliers_of(const Look& look) const {
    std::map<std::uint32_t, std::vector<Rank>> groups;
    for (const auto& [rank, stack] : look.stack) groups[stack].push_back(rank);
    const std::vector<Rank>* largest = nullptr;
    for (const auto& [stack, ranks] : groups)
      if (largest == nullptr || ranks.size() > largest->size() ||
          (ranks.size() == largest->size() && ranks < *largest))
        largest = &ranks;
    std::vector<Rank> out;
    for (const auto& [stack, ranks] : groups)
      if (&ranks != largest && stages.whole(ranks).empty())
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
    for (const ParallelGroup& g : topology.groups) {
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

  void name_degrader(const std::map<std::string, std::size_t>& flags, StackReport& report) const {
    std::size_t best = 0, second = 0;
    for (const auto& [id, n] : flags) {
      if (n > best) {
        second = best;
        best = n;
        report.degrader = id;
      } else
        second = std::max(second, n);
    }
    report.degrader_flags = best;
    if (best == second ||
        static_cast<double>(best) < params.slow_share * static_cast<double>(report.rounds.size()))
      report.degrader.clear();
  }
};

}  // namespace

std::size_t stack_of(const Facts& facts, const StackProcess& p) {
  return static_cast<std::size_t>(facts.samples[p.sample].stack);
}

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
  report.normal = normal_stacks(facts.stacks, params.keep_lines);
  const DumpedProcesses dumped = dumped_processes(facts, report.normal, topology.host_of, params);
  if (dumped.failed > 0) report.notes.push_back(say(Phrase::dumps_failed, dumped.failed));
  if (dumped.all.empty()) return report;
  std::map<Rank, Host> host_of;
  for (const DumpedProcess& p : dumped.all) {
    report.processes.push_back(p.shown);
    if (p.shown.role == "trainer" && p.shown.rank) host_of.emplace(*p.shown.rank, p.shown.host);
  }
  group(report);
  const PipelineStages stages(topology, std::move(host_of));
  find_outliers(stages, report);
  report.topology = std::ranges::any_of(
      topology.groups, [](const ParallelGroup& g) { return g.dimension != "world"; });
  if (!report.topology) report.notes.push_back(say(Phrase::no_parallel_groups));
  const Looks looks{facts, topology, params, dumped.all, stages};
  looks.judge_motion(report);
  looks.find_rounds(report);
  const bool known = hang.known && !(hang.inferred && report.motion == Motion::moving);
  const bool standing = report.motion == Motion::standing;
  report.hang = known || standing;
  report.hang_why = known ? hang.why : standing ? report.motion_why : Text();
  find_sinks(facts, topology, params, report);
  return report;
}

}  // namespace culprit::analyze
