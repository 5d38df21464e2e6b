#include "analyze/hang/wait_members.hpp"

#include <algorithm>
#include <set>
#include <tuple>

#include "model/phrases.hpp"
#include "model/sort.hpp"

namespace culprit::analyze {

namespace {

constexpr Nanoseconds kStale =
    6 * 3600 * kSecond;  // apart by more: of another run. A time-out may be hours long
constexpr double kSilentShare =
    0.125;  // logs: more silent ranks than this are logs that nobody collected
constexpr std::string_view kGuessed = "default_pg?";  // as the watchdog's lines are read
constexpr Nanoseconds kRestart =
    600 * kSecond;  // logs: counters apart by more are of a run and the one before it

class MemberReader {
 public:
  MemberReader(const Facts& facts, const Topology& topology, const WaitSource& source,
               const WaitRows& rows, const Communicators& communicators)
      : facts_(facts),
        topology_(topology),
        source_(source.traits),
        rows_(rows),
        communicators_(communicators) {}

  WaitMembers run() {
    choose_dumps();
    make_groups();
    find_mixed();
    for (const FrontierRow* f : rows_.frontiers) take(*f);
    for (const CollectiveSample* c : rows_.launches) take(*c);
    infer_from_counts();
    match_calls();
    drop_guessed_groups();
    finish();
    return std::move(out_);
  }

 private:
  using Member = WaitMembers::Member;
  using Group = WaitMembers::Group;
  using OfRank = WaitMembers::OfRank;
  using Launch = WaitMembers::Launch;

  // Whose row it is: what the row says, whose file it is, which process, which place in the group.
  std::optional<Rank> rank_of(const std::optional<Rank>& printed, const Place& place,
                              const std::optional<Host>& host,
                              const std::optional<std::int64_t>& pid, std::int64_t group_rank,
                              GroupId group) {
    if (const MemberRow* m = facts_.member(place.member); m != nullptr && m->rank && !printed)
      return m->rank;
    if (printed) return printed;
    if (pid && host) {
      if (!by_process_known_) {
        by_process_known_ = true;
        for (const RankRow& r : facts_.ranks)
          if (r.pid && r.host) by_process_.emplace(std::pair(*r.host, *r.pid), r.rank);
      }
      if (const auto it = by_process_.find({short_host(*host), *pid}); it != by_process_.end())
        return it->second;
    }
    if (const GroupRow* found = facts_.group(group); found != nullptr && group_rank >= 0) {
      const GroupRow& g = *found;
      if (static_cast<std::size_t>(group_rank) < g.ranks.size())
        return g.ranks[static_cast<std::size_t>(group_rank)];
      if (g.description.rfind("default_pg", 0) == 0 || (g.size > 0 && g.size == world()))
        return Rank(group_rank);  // of the group of all
    }
    return std::nullopt;
  }

  GroupId canonical(GroupId id) const {
    return source_.names_groups ? id : communicators_.canonical(id);
  }

  std::int64_t world() const {
    std::int64_t most = facts_.world_size;
    if (most == 0)
      for (const GroupRow& g : facts_.groups)
        most = std::max({most, g.size, static_cast<std::int64_t>(g.ranks.size())});
    return most;
  }

  std::int64_t highest_rank() const {
    std::int64_t out = -1;
    for (const RankRow& r : facts_.ranks) out = std::max(out, number_of(r.rank));
    for (const FrontierRow* f : rows_.frontiers)
      if (f->rank) out = std::max(out, number_of(*f->rank));
    return out;
  }

  // Of a group that no line names: nearly all ranks of the job time out in it.
  bool has_nearly_all(GroupId id) const {
    std::set<Rank> in;
    for (const CollectiveSample* c : rows_.launches)
      if (c->row.group == id && c->row.rank) in.insert(*c->row.rank);
    const std::int64_t all = std::max(world(), highest_rank() + 1);
    return static_cast<double>(all) - static_cast<double>(in.size()) <=
           kSilentShare * static_cast<double>(all);
  }

  // A log names the group of all ranks and not its members.
  std::vector<Rank> members_of(GroupId id, const GroupRow& group) const {
    const bool of_all = group.description == "default_pg" ||
                        (group.description == kGuessed && has_nearly_all(id)) ||
                        (!source_.names_groups && group.size > 0 && group.size == world());
    if (!group.ranks.empty() || !of_all) return group.ranks;
    // Numbers are given from 0 without gaps: who prints that it is rank 7 is one of eight at least.
    std::int64_t size = std::max(facts_.world_size, group.size);
    if (size == 0 && group.description.starts_with("default_pg")) size = highest_rank() + 1;
    std::vector<Rank> all(static_cast<std::size_t>(std::clamp<std::int64_t>(size, 0, 1 << 20)));
    for (std::size_t i = 0; i < all.size(); ++i) all[i] = Rank(static_cast<std::int64_t>(i));
    return all;
  }

  // Counters of a pipeline group count sends, which do not compare between ranks; dumps tell sends
  // apart, logs do not.
  bool compares(GroupId id) const {
    const GroupRow* g = facts_.group(id);
    return source_.lists_unfinished || g == nullptr || dimension_of(g->description) != "pp";
  }

  std::uint32_t rank_index(Rank rank) {
    const auto [it, fresh] =
        out_.index.try_emplace(rank, static_cast<std::uint32_t>(out_.ranks.size()));
    if (fresh) {
      out_.ranks.push_back({});
      out_.ranks.back().rank = rank;
    }
    return it->second;
  }

  // The rows of a member stand together.
  bool usable(const Place& place) {
    if (place.member != asked_) {
      const MemberRow* m = facts_.member(place.member);
      asked_ = place.member;
      usable_ = facts_.counts(m) && facts_.earlier_output.count(place.member) == 0 &&
                (!m->attempt || *m->attempt == rows_.last_attempt);
    }
    return usable_;
  }

  // A rank with several dumps (pickle and JSON, a stale copy) speaks through the best: whole, then
  // longest, then first by path: rows come in that order (put_in_order).
  void choose_dumps() {
    for (const CollectiveSample* c : rows_.launches)
      if (c->row.time.clock == Clock::utc) {
        Nanoseconds& at = newest_[c->row.place.member];
        at = std::max({at, c->row.time.ns, c->row.completed_ns.value_or(0)});
      }
    std::set<Rank> contested;
    for (const RecorderRow* d : rows_.dumps) {
      if (!usable(d->place)) continue;
      const auto rank =
          rank_of(d->rank, d->place, d->host, d->pid, kUnknownSequence, GroupId::none);
      if (!rank) continue;
      if (d->unresponsive) {
        out_.notes.push_back(say(Phrase::host_silent_to_ras, topology_.where(*rank)));
        out_.unresponsive.insert(*rank);
        continue;
      }
      const RecorderRow*& kept = best_[*rank];
      if (kept == nullptr)
        kept = d;
      else if (rival(*d, kept))
        contested.insert(*rank);
    }
    for (const Rank rank : contested) {
      out_.notes.push_back(say(Phrase::several_dumps_differ, topology_.where(rank)));
      best_.erase(rank);
    }
    drop_left_over();
    for (const auto& [rank, dump] : best_) {
      OfRank& r = out_.ranks[rank_index(rank)];
      r.dumped = true;
      r.whole = !dump->truncated;
      r.recorder = dump;
      if (dump->truncated) out_.cut.push_back(rank);
    }
    last_ = best_.cend();
  }

  Nanoseconds newest(const RecorderRow& dump) const {
    const auto it = newest_.find(dump.place.member);
    return it == newest_.end() ? 0 : it->second;
  }

  // Keeps the better of two dumps of one rank. True where both are whole, of one time, and differ.
  bool rival(const RecorderRow& d, const RecorderRow*& kept) const {
    const Nanoseconds a = newest(d), b = newest(*kept);
    if (a != 0 && b != 0 && std::abs(a - b) > kStale) {  // the other is of an earlier time
      if (a > b) kept = &d;
      return false;
    }
    const bool differ = d.encoding == kept->encoding && !d.truncated && !kept->truncated &&
                        (d.entries != kept->entries || a != b);
    const auto key = [](const RecorderRow& r) {
      return std::tuple(r.truncated, -r.entries, !r.has_status);
    };
    if (key(d) < key(*kept)) kept = &d;
    return differ;
  }

  // A dump left over from another day says nothing of this one.
  void drop_left_over() {
    std::vector<Nanoseconds> times;
    for (const auto& [rank, dump] : best_)
      if (const Nanoseconds at = newest(*dump); at != 0) times.push_back(at);
    if (times.size() <= 2) return;
    std::nth_element(times.begin(), times.begin() + static_cast<std::ptrdiff_t>(times.size() / 2),
                     times.end());
    const Nanoseconds median = times[times.size() / 2];
    std::erase_if(best_, [&](const auto& one) {
      const Nanoseconds at = newest(*one.second);
      if (at == 0 || at + kStale >= median) return false;
      out_.notes.push_back(
          say(Phrase::dump_left_over, topology_.where(one.first), human_duration(median - at)));
      return true;
    });
  }

  // Where a rank left a dump, only that dump speaks for it.
  bool speaks(Rank rank, const Place& place) {
    if (best_.empty()) return true;
    if (last_ == best_.cend() || last_->first != rank) last_ = best_.find(rank);
    return last_ != best_.cend() && last_->second->place.member == place.member;
  }

  Group& group(GroupId id, const std::string& counter) {
    const bool is_plain = counter.empty() && index_of(id) < plain_.size();
    if (is_plain && plain_[index_of(id)] != kNew) return out_.groups[plain_[index_of(id)]];
    const auto [it, fresh] =
        known_.try_emplace({id, counter}, static_cast<std::uint32_t>(out_.groups.size()));
    if (fresh) {
      Group g{.id = id, .counter = counter};
      if (const GroupRow* row = facts_.group(id))
        for (const Rank r : members_of(id, *row)) {
          Member& m = g.members.emplace_back();
          m.rank = r;
          m.index = rank_index(r);
        }
      out_.groups.push_back(std::move(g));
    }
    if (is_plain) plain_[index_of(id)] = it->second;
    return out_.groups[it->second];
  }

  Member& member(Group& g, Rank rank) {
    if (Member* m = g.find(rank)) return *m;
    Member m{.rank = rank, .index = rank_index(rank)};
    return *g.members.insert(std::ranges::lower_bound(g.members, rank, {}, &Member::rank), m);
  }

  // In an order of their own: whatever comes first in the bundle, the answer is the same.
  void make_groups() {
    plain_.assign(facts_.groups.size(), kNew);
    std::set<std::pair<GroupId, std::string>> used;
    std::vector<bool> plain_used(facts_.groups.size(), false);
    const auto use = [&](GroupId id, const std::string& counter) {
      if (counter.empty() && index_of(id) < plain_used.size()) {
        if (plain_used[index_of(id)]) return;
        plain_used[index_of(id)] = true;
      }
      used.insert({id, counter});
    };
    for (const FrontierRow* f : rows_.frontiers)
      if (usable(f->place)) use(canonical(f->group), f->operation);
    for (const CollectiveSample* c : rows_.launches)
      if (usable(c->row.place)) use(canonical(c->row.group), "");
    std::vector<std::pair<GroupId, std::string>> ordered(used.begin(), used.end());
    static const GroupRow kNameless{};
    const auto row_of = [&](GroupId id) -> const GroupRow& {
      const GroupRow* row = facts_.group(id);
      return row != nullptr ? *row : kNameless;
    };
    sort_by(ordered, [&](const auto& a) { return std::tie(row_of(a.first), a.second); });
    for (const auto& [id, counter] : ordered)
      if (compares(id)) group(id, counter);
  }

  // Where a group carries sends on some rank, a plain count of another rank may count sends too: it
  // says nothing.
  void find_mixed() {
    if (source_.launches_only) return;
    for (const FrontierRow* f : rows_.frontiers)
      if (f->p2p) mixed_.insert(f->group);
    for (const CollectiveSample* c : rows_.launches)
      if (!c->row.p2p) mixed_.erase(c->row.group);
  }

  void take(const FrontierRow& f) {
    if (!usable(f.place) || mixed_.count(f.group) != 0 || !compares(f.group)) return;
    const auto rank = rank_of(f.rank, f.place, f.host, f.pid, f.group_rank, f.group);
    if (!rank && source_.exceptions) {
      Group& g = group(canonical(f.group), f.operation);
      g.crowd = std::max(g.crowd, f.enqueued);
    }
    if (rank && f.pid && f.host) by_process_.emplace(std::pair(short_host(*f.host), *f.pid), *rank);
    if (!rank || !speaks(*rank, f.place) || out_.unresponsive.count(*rank) != 0) return;
    OfRank& r = out_.ranks[rank_index(*rank)];
    if (best_.empty() && !r.dumped) {
      r.dumped = r.whole = true;
      r.counters = &f;
    }
    if (f.p2p && !source_.launches_only) return;
    Member& m = member(group(canonical(f.group), f.operation), *rank);
    if (m.row != nullptr && !counts_more(f, m)) return;
    m.row = &f;
    m.enqueued =
        f.enqueued == kUnknownSequence ? f.started : f.enqueued;  // what has started was launched
    m.completed = f.completed;
  }

  // Logs run through restarts, and counters begin anew: the last word counts, not the highest.
  bool counts_more(const FrontierRow& f, const Member& m) const {
    if (source_.is_log) {
      if (f.place.member == m.row->place.member) return f.place.line >= m.row->place.line;
      const bool timed = f.time.clock != Clock::none && f.time.clock == m.row->time.clock;
      if (timed && std::abs(f.time.ns - m.row->time.ns) > kRestart)
        return f.time.ns >= m.row->time.ns;
    }
    return std::tie(f.enqueued, f.completed) > std::tie(m.enqueued, m.completed);
  }

  void take(const CollectiveSample& c) {
    if (!usable(c.row.place) || !compares(c.row.group)) return;
    const auto rank =
        rank_of(c.row.rank, c.row.place, c.row.host, c.row.pid, kUnknownSequence, c.row.group);
    if (!rank || !speaks(*rank, c.row.place)) return;
    OfRank& r = out_.ranks[rank_index(*rank)];
    Group& g = group(canonical(c.row.group), "");
    const Launch launch{rank_index(*rank), static_cast<std::uint32_t>(&g - out_.groups.data()), &c};
    if (!c.row.p2p && c.row.sequence >= 0) {
      std::string& operation = g.operations[c.row.sequence];
      if (operation.empty() || c.row.operation < operation) operation = c.row.operation;
    }
    if (c.row.state == "completed") return;
    // A call log tells launches, not what is unfinished.
    if (!source_.lists_unfinished && c.row.state != "timeout") {
      calls_.push_back(launch);
      return;
    }
    ++out_.pending;
    out_.timed_out += c.row.retired || c.row.state == "timeout";
    r.clear = false;
    // Releases that print no counters say no more than which operation they gave up.
    if (source_.is_log && best_.empty()) r.dumped = r.whole = true;
    if (c.row.p2p) {
      out_.sends.push_back(launch);
      return;
    }
    Member& m = member(g, *rank);
    if (m.head == kUnknownSequence || c.row.sequence < m.head ||
        (c.row.sequence == m.head && c.row.record < m.sample->row.record)) {
      m.head = c.row.sequence;
      m.sample = &c;
    }
    if (source_.is_log && m.row != nullptr && m.completed >= 0 &&
        (c.row.sequence <= m.completed || c.row.sequence > m.enqueued)) {  // of an earlier attempt
      m.head = kUnknownSequence;
      m.sample = nullptr;
      return;
    }
    m.last = std::max(m.last, c.row.sequence);
    if (m.enqueued != kUnknownSequence) m.enqueued = std::max(m.enqueued, c.row.sequence);
  }

  // Where a source counts and does not list, what is unfinished follows from the counts.
  void infer_from_counts() {
    if (source_.lists_unfinished) return;
    for (Group& g : out_.groups) {
      std::int64_t high = kUnknownSequence, low = kUnknownSequence;
      for (const Member& m : g.members) {
        if (m.enqueued < 0) continue;
        high = std::max(high, m.enqueued);
        low = low == kUnknownSequence ? m.enqueued : std::min(low, m.enqueued);
      }
      for (Member& m : g.members) {
        if (m.enqueued < 0 || m.head != kUnknownSequence) continue;
        const bool open = m.completed == kUnknownSequence ? m.enqueued == high && low < high
                                                          : m.completed < m.enqueued;
        if (!open) continue;
        m.head = m.completed == kUnknownSequence ? m.enqueued : m.completed + 1;
        m.last = m.enqueued;
        ++out_.pending;
        out_.ranks[m.index].clear = false;
      }
    }
  }

  // Of equal counts a call log cannot say whether the last call is over; whether all made the same
  // call it can.
  void match_calls() {
    std::vector<std::int64_t> most_launched(out_.groups.size(), kUnknownSequence);
    for (std::size_t g = 0; g < out_.groups.size(); ++g)
      for (const Member& m : out_.groups[g].members)
        most_launched[g] = std::max(most_launched[g], m.enqueued);
    for (const Launch& l : calls_) {
      Member* m = out_.groups[l.group].find(out_.ranks[l.rank].rank);
      if (m == nullptr || m->enqueued != l.sample->row.sequence || l.sample->row.p2p) continue;
      m->sample = l.sample;
      // A launch says nothing of an end: who has launched less than its peers may have finished all
      // of it.
      const bool behind = m->enqueued < most_launched[l.group];
      if (m->head == kUnknownSequence && !behind) {
        m->head = m->last = m->enqueued;
        out_.ranks[m->index].clear = false;
      }
    }
  }

  // A group that a log does not name is one group only if what its members have in flight meets.
  void drop_guessed_groups() {
    std::erase_if(out_.groups, [&](const Group& g) {
      if (const GroupRow* row = facts_.group(g.id);
          row == nullptr || !row->description.ends_with('?'))
        return false;
      std::int64_t done = kUnknownSequence, launched = kUnknownSequence, window = 0;
      for (const Member& m : g.members) {
        // What stands before the first unfinished one is over.
        const std::int64_t over = m.completed < 0 && m.head > 0 ? m.head - 1 : m.completed;
        const std::int64_t begun = std::max(m.enqueued, m.last);
        if (begun < 0 || over < 0) continue;
        done = std::max(done, over);
        launched = launched == kUnknownSequence ? begun : std::min(launched, begun);
        window = std::max(window, begun - over);
      }
      return launched >= 0 && done > launched + 2 * window + 4;
    });
  }

  void finish() {
    for (Group& g : out_.groups) {
      std::size_t silent = 0;
      for (const Member& m : g.members) silent += !out_.ranks[m.index].dumped;
      g.whole = source_.lists_unfinished ||
                static_cast<double>(silent) <= kSilentShare * static_cast<double>(g.members.size());
    }
    for (const OfRank& r : out_.ranks) (r.dumped ? out_.seen : out_.unseen).push_back(r.rank);
    sort_rows(out_.seen);
    sort_rows(out_.unseen);
    if (out_.seen.empty()) out_.groups.clear();
  }

  static constexpr std::uint32_t kNew = 0xffffffff;

  const Facts& facts_;
  const Topology& topology_;
  const WaitTraits& source_;
  const WaitRows& rows_;
  const Communicators& communicators_;
  WaitMembers out_;
  MemberId asked_ = -1;
  bool usable_ = false;
  std::map<std::pair<std::string, std::int64_t>, Rank> by_process_;
  bool by_process_known_ = false;
  std::map<MemberId, Nanoseconds> newest_;  // what the dump itself saw last
  std::map<Rank, const RecorderRow*> best_;
  std::map<Rank, const RecorderRow*>::const_iterator last_;  // that was asked for
  std::map<std::pair<GroupId, std::string>, std::uint32_t> known_;
  std::vector<std::uint32_t> plain_;  // the known ones without a counter's name: nearly all
  std::set<GroupId> mixed_;
  std::vector<Launch> calls_;
};

}  // namespace

WaitMembers::Member* WaitMembers::Group::find(Rank rank) {
  const auto at = std::ranges::lower_bound(members, rank, {}, &Member::rank);
  return at != members.end() && at->rank == rank ? &*at : nullptr;
}

WaitMembers wait_members(const Facts& facts, const Topology& topology, const WaitSource& source,
                         const WaitRows& rows, const Communicators& communicators) {
  return MemberReader(facts, topology, source, rows, communicators).run();
}

}  // namespace culprit::analyze
