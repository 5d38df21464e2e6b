// Ranks by what is most trusted: manifest, communicators, environment, launchers, lines, paths.
#include "analyze/facts/rank_table.hpp"

#include <algorithm>
#include <array>

#include "analyze/facts/host_files.hpp"
#include "analyze/facts/member_hosts.hpp"
#include "analyze/facts/path_facts.hpp"
#include "analyze/facts/rank_blocks.hpp"
#include "model/address.hpp"
#include "model/number.hpp"
#include "model/sort.hpp"

namespace culprit::analyze {

namespace {

// Who says where a rank stood, in order of trust.
constexpr std::array<std::string_view, 8> kPlaces{"nccl-init",  "nccl-init-start", "environment",
                                                  "torchrun",   "rank line",       "prefix",
                                                  "rank table", "rank map"};

template <class T>
void offer(std::optional<T>& slot, const std::optional<T>& value) {
  if (!slot && value) slot = value;
}

std::optional<std::int64_t> task_of(const SeriesRow& s) {
  std::int64_t task = 0;
  if (s.rank || !s.labels.starts_with(kTaskLabel)) return std::nullopt;
  const std::string_view text = std::string_view(s.labels).substr(kTaskLabel.size());
  return parse_whole(text.substr(0, text.find(',')), task) ? std::optional(task) : std::nullopt;
}

template <class Number>
std::optional<Rank> look(const std::map<std::pair<std::string, Number>, Rank>& index,
                         const std::optional<Host>& host, const std::optional<Number>& key) {
  if (!key) return std::nullopt;
  const auto it = index.find({name_of(host), *key});
  return it == index.end() ? std::nullopt : std::optional(it->second);
}

}  // namespace

RankTable::RankTable(Facts& facts, const HostNames& names) : facts_(facts), names_(names) {
  // The world: the manifest, or the largest communicator, or the largest rank.
  for (const auto& i : facts_.identities)
    facts_.world_size = std::max(facts_.world_size, i.world_size.value_or(0));
  if (facts_.manifest && facts_.manifest->world_size)
    facts_.world_size = *facts_.manifest->world_size;
  for (const auto& i : facts_.identities) identities_.push_back(&i);
  sort_by(identities_, [&](const IdentityRow* i) {
    return std::tuple(std::string_view(facts_.member(i->place.member)->path), i->place.line);
  });
  // In order of trust; within a source the order of paths, so that the answer does not depend on
  // the order of reading.
  read_manifest();
  read_places_of_runs();
  read_orders_of_runs();
  read_identities();
  read_rows();
  count_world();
  place_small_job();
  place_by_blocks(ranks_, facts_.world_size);
  index_processes();
  read_task_labels();
}

std::optional<Host> RankTable::host_of(const std::optional<Rank>& rank) const {
  const auto it = rank ? ranks_.find(*rank) : ranks_.end();
  return it == ranks_.end() ? std::nullopt : it->second.host;
}

std::optional<Rank> RankTable::by_local(const std::optional<Host>& host,
                                        const std::optional<LocalRank>& local) const {
  return look(by_local_, host ? host : only_, local);
}

std::optional<Rank> RankTable::by_pid(const std::optional<Host>& host,
                                      const std::optional<std::int64_t>& pid) const {
  return look(by_pid_, host ? host : only_, pid);
}

std::optional<RunPlaces::Seat> RankTable::in_log(const Place& line,
                                                 const std::optional<Rank>& rank) const {
  return rank ? facts_.run_places.in_log(line.member, line.line, *rank) : std::nullopt;
}

std::optional<RunPlaces::Seat> RankTable::in_run(const Place& line,
                                                 const std::optional<Rank>& rank) const {
  const MemberRow* m = facts_.member(line.member);
  return rank && m != nullptr ? facts_.run_places.in_run(*m, line.line, *rank) : std::nullopt;
}

std::optional<Host> RankTable::host_of_task(MemberId member,
                                            const std::optional<std::int64_t>& task,
                                            std::uint64_t line) const {
  const auto it = task ? tasks_.find({member, *task}) : tasks_.end();
  return it == tasks_.end() || line > it->second.until ? std::nullopt
                                                       : std::optional(it->second.host);
}

// The numbers on lines with such a label.
void RankTable::place_by_label(SeriesRow& s) const {
  const std::optional<std::int64_t> task = task_of(s);
  if (!task) return;
  if (tasks_are_ranks_) s.rank = Rank(*task);
  if (!s.host) s.host = host_of_task(s.member, task);
}

void RankTable::add(Rank rank, const std::optional<Host>& host,
                    const std::optional<LocalRank>& local, const std::optional<std::int64_t>& pid,
                    const std::optional<std::string>& gpu, std::string_view source) {
  if (!is_rank_of(10'000'001, rank)) return;
  RankRow& row = ranks_[rank];
  row.rank = rank;
  if (row.source.empty()) row.source = source;
  offer(row.host, host);
  offer(row.local_rank, local);
  offer(row.pid, pid);
  offer(row.gpu, gpu);
}

void RankTable::read_manifest() {
  if (!facts_.manifest) return;
  const auto& manifest = *facts_.manifest;
  for (const RankRow& row : manifest.ranks)
    add(row.rank, names_.canonical(*row.host), row.local_rank, {}, {}, "manifest");
  const std::int64_t per = manifest.gpus_per_node.value_or(0);
  std::int64_t next = 0;
  for (const Host& host : manifest.hosts)
    for (std::int64_t l = 0; l < per; ++l)
      add(Rank(next++), names_.canonical(host), LocalRank(l), {}, {}, "manifest");
}

// A rank of a smaller group than the job.
bool RankTable::of_smaller_group(const IdentityRow& i) const {
  return i.communicator &&
         (!i.world_size || *i.world_size != facts_.world_size || facts_.world_size < 2);
}

// What each log says of the ranks of its own run.
void RankTable::read_places_of_runs() {
  for (const IdentityRow* i : identities_) {
    if (!i->rank || std::ranges::find(kPlaces, i->source) == kPlaces.end() || of_smaller_group(*i))
      continue;
    const MemberRow* m = facts_.member(i->place.member);
    const std::optional<Host> host = names_.speaker(i->host, m);
    if (!host || m == nullptr) continue;
    const RunPlaces::Seat seat{*host, i->local_rank ? i->local_rank : maybe<LocalRank>(i->device)};
    facts_.run_places.add_of_folder(folder_of(m->path), Rank(*i->rank), seat);
    facts_.run_places.add_of_log(m->id, i->place.line, Rank(*i->rank), seat);
  }
}

// Host files that say how many ranks each host has, and logs that list the hosts.
void RankTable::read_orders_of_runs() {
  for (const auto& [member, file] : host_files(facts_)) {
    RunPlaces::Order order;
    for (std::size_t h = 0; h < file.hosts.size(); ++h)
      order.emplace_back(names_.canonical(file.hosts[h]),
                         std::clamp<std::int64_t>(file.slots[h], 0, 10'000'001));
    facts_.run_places.add_order(folder_of(facts_.member(member)->path), std::move(order));
  }
  // Logs that list their machines in the order of the ranks, as many on each.
  std::map<std::pair<MemberId, std::uint64_t>, std::map<std::int64_t, Host>> listed;
  for (const IdentityRow* i : identities_)
    if (i->source == "host order" && i->host && i->node_rank)
      listed[{i->place.member, i->place.line}].emplace(*i->node_rank, names_.canonical(*i->host));
  for (const auto& [at, hosts] : listed) {
    const auto count = static_cast<std::int64_t>(hosts.size());
    if (facts_.world_size <= 0 || facts_.world_size % count != 0) continue;
    RunPlaces::Order order;
    for (const auto& [n, host] : hosts) order.emplace_back(host, facts_.world_size / count);
    facts_.run_places.add_order(facts_.member(at.first)->path, std::move(order));
  }
}

// Runs that give a rank other machines say nothing of the job as a whole in a map of theirs.
void RankTable::read_identities() {
  for (const std::string_view source : kPlaces)
    for (const IdentityRow* i : identities_) {
      if (i->source != source || !i->rank || of_smaller_group(*i)) continue;
      if (i->source == "rank map" && facts_.run_places.moved(Rank(*i->rank))) continue;
      const MemberRow* m = facts_.member(i->place.member);
      add(Rank(*i->rank), names_.speaker(i->host, m),
          i->local_rank || m == nullptr ? i->local_rank : m->local_rank, i->pid, i->gpu, source);
    }
}

void RankTable::read_rows() {
  // Lines that print both, and files that are one rank's on one host.
  for (const auto& e : facts_.events)
    if (e.rank)
      if (const auto host = names_.speaker(e.host, facts_.member(e.place.member)))
        add(*e.rank, host, e.local_rank, {}, {}, "log line");
  // Records of a rank that print its machine.
  for (const auto& s : facts_.series)
    if (s.rank && s.host && !nameless_host(*s.host))
      add(*s.rank, names_.canonical(*s.host), s.local_rank, {}, {}, "record");
  for (const auto& m : facts_.members)
    if (m.rank) add(*m.rank, m.host, m.local_rank, {}, {}, "path");
  // What speaks of a rank proves that there is one.
  const auto exists = [&](const auto& rows, const char* source) {
    for (const auto& row : rows)
      if (row.rank && (facts_.world_size == 0 || number_of(*row.rank) < facts_.world_size))
        add(*row.rank, {}, {}, {}, {}, source);
  };
  exists(facts_.events, "log line");
  exists(facts_.tracebacks, "traceback");
  exists(facts_.exits, "exit");
  exists(facts_.frontiers, "dump");
  exists(facts_.recorders, "dump");
  // Where a heading places what is dumped, if nothing else places the rank: it may be a proxy.
  for (const IdentityRow& i : facts_.identities)
    if (i.source == "dump heading" && i.rank && i.host && !is_address(*i.host))
      add(Rank(*i.rank), names_.canonical(*i.host), {}, {}, {}, "dump");
}

// Nothing tells the size of the job: where at least half of the ranks up to the largest were seen,
// the others exist, too. A rank 1 that timed out proves a rank 0.
void RankTable::count_world() {
  if (facts_.world_size != 0 || ranks_.empty()) return;
  const std::int64_t size = number_of(ranks_.rbegin()->first) + 1;
  facts_.world_counted = static_cast<std::int64_t>(ranks_.size()) * 2 >= size;
  if (facts_.world_counted) facts_.world_size = size;
}

// A job of a handful of ranks, all local ranks too, in a bundle that names one machine and no
// other: they ran there. Of rank 0 alone most jobs have a log, wherever the others ran.
void RankTable::place_small_job() {
  constexpr std::size_t kMostOfMachine = 8;
  std::set<Host> named;
  for (const auto& i : facts_.identities)
    if (i.host && !nameless_host(*i.host)) named.insert(names_.canonical(*i.host));
  for (const auto& m : facts_.members)
    if (m.host) named.insert(*m.host);
  const bool local = std::ranges::all_of(ranks_, [](const auto& one) {
    return !one.second.host &&
           (!one.second.local_rank || number_of(*one.second.local_rank) == number_of(one.first));
  });
  if (named.size() == 1 && local && !ranks_.empty() && ranks_.size() <= kMostOfMachine &&
      number_of(ranks_.rbegin()->first) < static_cast<std::int64_t>(ranks_.size()) &&
      (facts_.world_counted ? ranks_.size() > 1
                            : static_cast<std::size_t>(facts_.world_size) == ranks_.size()))
    for (auto& [rank, row] : ranks_) row.host = *named.begin();
}

void RankTable::index_processes() {
  std::set<std::pair<std::string, LocalRank>> torn_local;  // of several ranks
  std::set<std::pair<std::string, std::int64_t>> torn_pid;
  for (const auto& [rank, row] : ranks_) {
    const std::string& host = name_of(row.host);
    if (row.local_rank && !by_local_.emplace(std::pair(host, *row.local_rank), rank).second)
      torn_local.insert({host, *row.local_rank});
    if (row.pid && !by_pid_.emplace(std::pair(host, *row.pid), rank).second)
      torn_pid.insert({host, *row.pid});
  }
  for (const auto& key : torn_local) by_local_.erase(key);
  for (const auto& key : torn_pid) by_pid_.erase(key);
  number_by_local_ranks();
  // All ranks of the job on one machine: what names no machine is of that one.
  if (!ranks_.empty() &&
      (facts_.world_size == 0 || static_cast<std::size_t>(facts_.world_size) <= ranks_.size()) &&
      std::ranges::all_of(
          ranks_, [&](const auto& one) { return one.second.host == ranks_.begin()->second.host; }))
    only_ = ranks_.begin()->second.host;
}

// A launcher gives the processes of a machine consecutive ranks: where all known pairs agree on the
// first, it gives the others, too.
void RankTable::number_by_local_ranks() {
  std::map<std::string, std::set<std::int64_t>> first_of;  // numbers of ranks
  for (const auto& [key, rank] : by_local_)
    first_of[key.first].insert(number_of(rank) - number_of(key.second));
  for (const MemberRow& m : facts_.members) {
    if (m.rank || !m.local_rank || !m.host) continue;
    const auto it = first_of.find(*m.host);
    if (it == first_of.end() || it->second.size() != 1) continue;
    const Rank rank{*it->second.begin() + number_of(*m.local_rank)};
    if (number_of(rank) >= 0 && !ranks_.contains(rank) &&
        (facts_.world_size <= 0 || number_of(rank) < facts_.world_size) &&
        by_local_.emplace(std::pair(*m.host, *m.local_rank), rank).second)
      add(rank, m.host, m.local_rank, {}, {}, "path");
  }
}

// Labels are ranks when there is one task a GPU. Lines that print both a label and a rank decide;
// without such lines, labels that run up to the world size and no further do.
void RankTable::read_task_labels() {
  std::size_t agree = 0, differ = 0;
  std::int64_t highest = -1;
  const auto compare = [&](const std::optional<std::int64_t>& task,
                           const std::optional<std::int64_t>& rank) {
    if (task) highest = std::max(highest, *task);
    if (task && rank) ++(*task == *rank ? agree : differ);
  };
  for (const auto& e : facts_.events) compare(e.task, number_of(e.rank));
  for (const SeriesRow& s : facts_.series) compare(task_of(s), number_of(s.rank));
  for (const auto& i : facts_.identities)
    if (i.source != kSrunExit)
      compare(i.task, i.communicator && i.world_size != facts_.world_size ? std::nullopt : i.rank);
  // Where a task of a log ran holds for its lines, ranks or not.
  std::set<std::pair<MemberId, std::int64_t>> torn;
  for (const IdentityRow* i : identities_)
    if (i->task && i->host) {
      const std::pair key(i->place.member, *i->task);
      const Host host = names_.speaker(i->host, facts_.member(i->place.member)).value_or(Host());
      // The last word on a step says nothing of the steps behind it.
      const std::uint64_t until = i->source == kSrunExit ? i->place.line : UINT64_MAX;
      TaskPlace& at = tasks_.emplace(key, TaskPlace{host, until}).first->second;
      if (at.host != host) torn.insert(key);
      at.until = std::max(at.until, until);
    }
  for (const auto& key : torn) tasks_.erase(key);
  tasks_are_ranks_ =
      differ == 0 && (agree > 0 || (facts_.world_size > 1 && highest + 1 == facts_.world_size) ||
                      a_task_each_device());
  if (tasks_are_ranks_)
    for (const IdentityRow* i : identities_)
      if (i->task && i->host && i->source != kSrunExit)
        add(Rank(*i->task), names_.speaker(i->host, facts_.member(i->place.member)), {}, i->pid,
            i->gpu, "srun label");
}

// Several tasks of one machine each name another local rank there.
bool RankTable::a_task_each_device() const {
  std::map<Host, std::map<LocalRank, std::int64_t>> devices;
  bool several = false;
  for (const IdentityRow* i : identities_) {
    if (!i->task || !i->host || !i->local_rank) continue;
    auto& of_host = devices[*i->host];
    if (of_host.emplace(*i->local_rank, *i->task).first->second != *i->task) return false;
    several = several || of_host.size() > 1;
  }
  return several;
}

}  // namespace culprit::analyze
