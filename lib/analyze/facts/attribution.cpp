#include "analyze/facts/attribution.hpp"

#include <algorithm>
#include <map>
#include <set>

#include "model/phrases.hpp"
#include "model/sort.hpp"

namespace culprit::analyze {

namespace {

using ProcessKey = std::pair<std::string, std::int64_t>;

void from_file(const Facts& facts, auto& row) {
  const MemberRow* m = facts.member(row.place.member);
  if (m == nullptr) return;
  if (row.host)
    row.host = nameless_host(*row.host) ? m->host : std::optional(short_host(*row.host));
  if (!row.host) row.host = m->host;
  if constexpr (requires { row.local_rank; }) {
    if (!row.local_rank) row.local_rank = m->local_rank;
  }
}

// Threads that serve collectives; a forked worker has none of them.
bool serves_collectives(const Facts& facts, std::int32_t stack) {
  if (stack < 0) return false;
  for (const std::uint32_t f : facts.stacks.stacks[static_cast<std::size_t>(stack)]) {
    const std::string& function = facts.stacks.frames[f].function;
    if (function.find("ProcessGroup") != std::string::npos ||
        function.find("ncclProxy") != std::string::npos ||
        function.find("ncclIbAsync") != std::string::npos ||
        function.find("gloo::transport") != std::string::npos)
      return true;
  }
  return false;
}

}  // namespace

void put_in_order(Facts& facts) {
  const auto before = [&](const Place& a, const Place& b) {
    return std::tuple(facts.order(a.member), a.line, a.offset) <
           std::tuple(facts.order(b.member), b.line, b.offset);
  };
  // Rows are large and mostly in order: the sort would copy them all.
  const auto sort_by = [](auto& rows, const auto& less) {
    if (!std::ranges::is_sorted(rows, less)) sort_rows(rows, less);
  };
  const auto sort = [&](auto& rows) {
    sort_by(rows, [&](const auto& a, const auto& b) { return before(a.place, b.place); });
  };
  sort(facts.processes);
  sort(facts.frontiers);
  sort(facts.recorders);
  sort(facts.networks);
  const auto sort_samples = [&](auto& rows) {
    sort_by(rows, [&](const auto& a, const auto& b) { return before(a.row.place, b.row.place); });
  };
  sort_samples(facts.samples);
  sort_samples(facts.collectives);

  std::vector<std::uint32_t> frames(facts.stacks.frames.size()), place_of(frames.size());
  for (std::uint32_t i = 0; i < frames.size(); ++i) frames[i] = i;
  sort_rows(frames, [&](std::uint32_t a, std::uint32_t b) {
    return facts.stacks.frames[a] < facts.stacks.frames[b];
  });
  std::vector<Frame> sorted;
  sorted.reserve(frames.size());
  for (std::uint32_t i = 0; i < frames.size(); ++i) {
    place_of[frames[i]] = i;
    sorted.push_back(std::move(facts.stacks.frames[frames[i]]));
  }
  facts.stacks.frames = std::move(sorted);
  for (auto& stack : facts.stacks.stacks)
    for (std::uint32_t& f : stack) f = place_of[f];
  std::vector<std::uint32_t> stacks(facts.stacks.stacks.size());
  std::vector<std::int32_t> now(stacks.size());
  for (std::uint32_t i = 0; i < stacks.size(); ++i) stacks[i] = i;
  sort_rows(stacks, [&](std::uint32_t a, std::uint32_t b) {
    return facts.stacks.stacks[a] < facts.stacks.stacks[b];
  });
  std::vector<std::vector<std::uint32_t>> table;
  table.reserve(stacks.size());
  for (std::uint32_t i = 0; i < stacks.size(); ++i) {
    now[stacks[i]] = static_cast<std::int32_t>(i);
    table.push_back(std::move(facts.stacks.stacks[stacks[i]]));
  }
  facts.stacks.stacks = std::move(table);
  for (StackSample& s : facts.samples)
    if (s.stack >= 0) s.stack = now[static_cast<std::size_t>(s.stack)];
  for (CollectiveSample& c : facts.collectives)
    if (c.stack >= 0) c.stack = now[static_cast<std::size_t>(c.stack)];
}

void attribute_dumps(Facts& facts) {
  for (StackSample& s : facts.samples) from_file(facts, s.row);
  for (ProcessRow& p : facts.processes) from_file(facts, p);
  for (FrontierRow& f : facts.frontiers) from_file(facts, f);
  for (CollectiveSample& c : facts.collectives) from_file(facts, c.row);
  for (RecorderRow& r : facts.recorders) from_file(facts, r);

  // Who is a process number? Twice the same number on different machines is two processes.
  std::map<ProcessKey, Rank> rank_of;
  std::map<std::int64_t, std::set<std::pair<std::string, Rank>>>
      anywhere;  // of a number: who has it, and where
  const auto learn = [&](const std::optional<Host>& host, std::int64_t pid, Rank rank) {
    rank_of.emplace(ProcessKey(name_of(host), pid), rank);
    anywhere[pid].insert({name_of(host), rank});
  };
  for (const RankRow& r : facts.ranks)
    if (r.pid) learn(r.host, *r.pid, r.rank);
  for (const ProcessRow& p : facts.processes)
    if (p.rank) learn(p.host, p.pid, *p.rank);
  const auto member_rank = [&](const Place& place) {
    const MemberRow* m = facts.member(place.member);
    return m != nullptr ? m->rank : std::nullopt;
  };
  for (const StackSample& s : facts.samples)
    if (s.row.pid)
      if (const auto rank = s.row.rank ? s.row.rank : member_rank(s.row.place))
        learn(s.row.host, *s.row.pid, *rank);
  const auto fill = [&](auto& row, const std::optional<std::int64_t>& pid) {
    if (row.rank) return;
    row.rank = member_rank(row.place);
    if (row.rank || !pid) return;
    if (const auto it = rank_of.find({name_of(row.host), *pid}); it != rank_of.end())
      row.rank = it->second;
    else if (const auto all = anywhere.find(*pid);
             all != anywhere.end() && all->second.size() == 1 &&
             (!row.host || all->second.begin()->first.empty()))
      row.rank = all->second.begin()->second;
  };
  for (StackSample& s : facts.samples)
    if (s.row.ranks.empty()) fill(s.row, s.row.pid);
  for (ProcessRow& p : facts.processes) fill(p, p.pid);
  for (FrontierRow& f : facts.frontiers)
    if (f.source == CollectiveSource::recorder || f.source == CollectiveSource::watchdog ||
        f.source == CollectiveSource::desync || f.pid)
      fill(f, f.pid);
  for (CollectiveSample& c : facts.collectives) fill(c.row, c.row.pid);
  for (RecorderRow& r : facts.recorders) fill(r, r.pid);
}

void guess_trainers(Facts& facts) {
  struct Process {
    bool serves = false;
    std::optional<Rank> rank;
    std::string role;
  };
  std::map<ProcessKey, Process> processes;
  for (const StackSample& s : facts.samples) {
    if (!s.row.pid || !s.row.ranks.empty()) continue;
    Process& p = processes[{name_of(s.row.host), *s.row.pid}];
    p.serves = p.serves || serves_collectives(facts, s.stack);
    if (s.row.rank) p.rank = s.row.rank;
    if (!s.role.empty()) p.role = s.role;
  }
  std::size_t serving = 0;
  std::map<Rank, std::size_t> of_rank;
  for (const auto& [key, p] : processes) {
    serving += p.serves;
    if (p.rank) ++of_rank[*p.rank];
  }
  // What is beside them is the launcher and its helpers; the only process of a rank is neither:
  // it is the trainer that does something else than all the others.
  if (serving >= 2)
    for (auto& [key, p] : processes)
      if (p.role.empty())
        p.role = p.serves || (p.rank && of_rank[*p.rank] == 1) ? "trainer" : "noise";
  for (StackSample& s : facts.samples)
    if (s.role.empty() && s.row.pid)
      if (const auto it = processes.find({name_of(s.row.host), *s.row.pid}); it != processes.end())
        s.role = it->second.role;

  std::vector<const ProcessKey*> trainers;
  std::set<std::string> hosts;
  for (const auto& [key, p] : processes) {
    if (p.rank) return;
    if (p.role != "trainer") continue;
    trainers.push_back(&key);
    hosts.insert(key.first);
  }
  if (hosts.size() != 1 || trainers.size() < 2 ||
      (facts.world_size > 0 && static_cast<std::size_t>(facts.world_size) != trainers.size()))
    return;
  std::map<ProcessKey, Rank> rank_of;
  for (std::size_t i = 0; i < trainers.size(); ++i)
    rank_of.emplace(*trainers[i], Rank(static_cast<std::int64_t>(i)));
  for (StackSample& s : facts.samples) {
    if (s.role != "trainer" || !s.row.pid) continue;
    if (const auto it = rank_of.find({name_of(s.row.host), *s.row.pid}); it != rank_of.end())
      s.row.rank = it->second;
  }
  facts.notes.push_back(say(Phrase::stack_ranks_guessed, trainers.size()));
}

}  // namespace culprit::analyze
