#include "analyze/hang/wait_source.hpp"

#include "analyze/hang/work_requests.hpp"

#include <algorithm>
#include <set>
#include <tuple>

namespace culprit::analyze {

namespace {

// Rows that the source has put itself.
WaitRows rows_of_source(CollectiveSource id, const Facts& facts, const Communicators&) {
  WaitRows out;
  for (const FrontierRow& f : facts.frontiers) {
    if (f.source != id) continue;
    out.frontiers.push_back(&f);
  }
  // Also where the last attempt has no such rows: those of the one before tell nothing of it.
  for (const MemberRow& m : facts.members)
    if (m.attempt && m.lines > 0 && facts.counts(&m))
      out.last_attempt = std::max(out.last_attempt, *m.attempt);
  for (const CollectiveSample& c : facts.collectives)
    if (c.row.source == id) out.launches.push_back(&c);
  for (const RecorderRow& d : facts.recorders)
    if (d.source == id) out.dumps.push_back(&d);
  return out;
}

// Where outputs count their steps: no rank makes any before all communicators are.
std::map<MemberId, std::uint64_t> first_steps(const Facts& facts) {
  constexpr std::int64_t kLeast = 3;
  std::map<MemberId, std::uint64_t> out;
  for (const ProgressSpan& p : facts.progress)
    if (p.framework != "tqdm" && p.first.iteration && p.last.iteration &&
        *p.last.iteration - *p.first.iteration >= kLeast) {
      std::uint64_t& line = out[p.member];
      line = std::max<std::uint64_t>(line, p.first.place.line);
    }
  return out;
}

// Communicators in the making: who has begun, who has finished (NCCL Init lines). Those that never
// began are waited for.
WaitRows rows_of_setup(CollectiveSource id, const Facts& facts,
                       const Communicators& communicators) {
  constexpr std::string_view kBegun = "nccl-init-start", kFinished = "nccl-init";
  std::map<std::tuple<std::string, std::int64_t, std::int64_t>, FrontierRow>
      rows;  // communicator, size, rank in it
  std::map<std::pair<std::string, std::int64_t>, GroupId> group_of;
  for (std::size_t i = 0; i < facts.groups.size(); ++i)
    group_of.try_emplace({facts.groups[i].name, facts.groups[i].size},
                         communicators.canonical(group_at(i)));
  for (const IdentityRow& i : facts.identities) {
    if (!i.communicator || !i.rank || !i.world_size || *i.world_size < 2 ||
        (i.source != kFinished && i.source != kBegun))
      continue;
    const auto group = group_of.find({*i.communicator, *i.world_size});
    if (group == group_of.end()) continue;
    FrontierRow& row = rows[{*i.communicator, *i.world_size, *i.rank}];
    if (row.source == CollectiveSource::none) {
      row.source = id;
      row.place = i.place;
      row.host = i.host;
      row.pid = i.pid;
      row.group_rank = *i.rank;
      row.group = group->second;
      row.enqueued = 1;
      row.completed = 0;
    }
    if (i.source == kFinished) row.completed = 1;
  }
  // One that any rank has finished was made; what is missing there are lines.
  std::set<GroupId> made;
  const auto steps = first_steps(facts);
  // A log that tells of no communicator that it was finished tells nothing of them, where another
  // log has steps.
  const bool none_told =
      std::ranges::none_of(rows, [](const auto& row) { return row.second.completed == 1; });
  if (none_told && !steps.empty()) return {};
  for (const auto& [key, row] : rows) {
    const auto trained = steps.find(row.place.member);
    if (row.completed == 1 || (trained != steps.end() && trained->second > row.place.line))
      made.insert(row.group);
  }
  WaitRows out;
  for (auto& [key, row] : rows)
    if (made.count(row.group) == 0) out.made.push_back(std::move(row));
  for (const FrontierRow& row : out.made) out.frontiers.push_back(&row);
  return out;
}

constexpr WaitSource kWaitSources[] = {
    {CollectiveSource::fingerprint, {.compared = true, .by_each_rank = true}, rows_of_source},
    {CollectiveSource::recorder,
     {.names_groups = true, .lists_unfinished = true, .by_each_rank = true},
     rows_of_source},
    {CollectiveSource::work_requests, {.by_each_rank = true}, rows_of_requests},
    {CollectiveSource::watchdog,
     {.names_groups = true, .is_log = true, .of_a_stall = true, .by_each_rank = true},
     rows_of_source},
    {CollectiveSource::desync, {.of_a_stall = true, .by_each_rank = true}, rows_of_source},
    {CollectiveSource::ras, {.exceptions = true}, rows_of_source},
    {CollectiveSource::barrier, {}, rows_of_source},
    {CollectiveSource::nccl_call, {.launches_only = true, .is_log = true}, rows_of_source},
    {CollectiveSource::nccl_init, {}, rows_of_setup},
};

}  // namespace

GroupId Communicators::canonical(GroupId id) const {
  if (facts_.group(id) == nullptr) return id;
  if (canonical_.empty()) {
    canonical_.assign(facts_.groups.size(), GroupId::none);
    std::map<std::string, std::string> id_of_pointer;
    for (const GroupRow& g : facts_.groups)
      if (g.description.rfind("0x", 0) == 0) id_of_pointer.emplace(g.description, g.name);
    std::map<std::pair<std::string, std::int64_t>, GroupId>
        first;  // the least row of each, whatever was read first
    const auto name_of = [&](const GroupRow& g) {
      const auto pointer = id_of_pointer.find(g.name);
      return pointer != id_of_pointer.end() ? pointer->second : g.name;
    };
    for (std::size_t i = 0; i < facts_.groups.size(); ++i) {
      const GroupRow& g = facts_.groups[i];
      const auto [it, fresh] = first.try_emplace({name_of(g), g.size}, group_at(i));
      if (!fresh && g < facts_.groups[index_of(it->second)]) it->second = group_at(i);
    }
    for (std::size_t i = 0; i < facts_.groups.size(); ++i) {
      const GroupRow& g = facts_.groups[i];
      canonical_[i] = g.name.empty() ? group_at(i) : first.at({name_of(g), g.size});
    }
  }
  return canonical_[index_of(id)];
}

std::span<const WaitSource> wait_sources() { return kWaitSources; }

}  // namespace culprit::analyze
