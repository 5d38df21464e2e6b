#include "analyze/hang/collectives.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <unordered_map>

#include <fmt/format.h>

#include "analyze/hang/wait_graph.hpp"
#include "analyze/hang/wait_members.hpp"
#include "analyze/hang/work_requests.hpp"
#include "model/contains.hpp"
#include "model/ranges.hpp"
#include "model/confidence.hpp"
#include "model/phrases.hpp"
#include "model/sort.hpp"

namespace culprit::analyze {

namespace {

constexpr std::size_t kMostLeaves = 64;
constexpr std::size_t kHeadsPerGroup =
    8;  // distinct first unfinished operations of one group that are looked at

// Operations that no rank can finish before every member has given its part.
bool symmetric(std::string_view operation) {
  for (const std::string_view word :
       {"all_reduce", "allreduce", "all_gather", "allgather", "reduce_scatter", "reducescatter",
        "barrier", "all_to_all", "alltoall"})
    if (contains(operation, word)) return true;
  return false;
}

bool sizes_may_differ(std::string_view operation) {
  for (const std::string_view word : {"to_all", "toall", "gather", "scatter", "coalesced"})
    if (contains(operation, word) && !contains(operation, "all_gather_base") &&
        !contains(operation, "reduce_scatter_base"))
      return true;
  return false;
}

// Elements of "in [[4, 16], [8]] out [[72]]", and of "numel in 72 out 72": 72 and 72. Nothing where
// it is not of either form.
std::optional<std::pair<double, double>> elements(std::string_view sizes) {
  if (double in = 0, given = 0;
      std::sscanf(std::string(sizes).c_str(), "numel in %lf out %lf", &in, &given) == 2)
    return std::pair(in, given);
  const std::size_t out = sizes.find(" out ");
  if (!sizes.starts_with("in ") || out == std::string_view::npos) return std::nullopt;
  const auto count = [](std::string_view list) {
    double sum = 0, product = 1, number = 0;
    bool inside = false, digits = false;
    for (const char c : list) {
      if (c >= '0' && c <= '9') {
        number = number * 10 + (c - '0');
        digits = true;
        continue;
      }
      if (digits) {
        product *= number;
        inside = true;
      }
      number = 0;
      digits = false;
      if (c == ']' && inside) {
        sum += product;
        product = 1;
        inside = false;
      }
    }
    return sum;
  };
  return std::pair(count(sizes.substr(3, out - 3)), count(sizes.substr(out + 5)));
}

struct Op {
  std::uint32_t group = 0;
  std::int64_t sequence = 0;
  bool p2p = false, weak = false;
  Rank from{}, to{};              // p2p
  std::uint32_t other_end = ~0u;  // p2p: the operation of the peer that it meets
  std::string operation;
  const CollectiveSample* sample = nullptr;
  std::vector<std::uint32_t> in, missing, done;  // ranks
  bool surely_done = false;                      // on some rank, by its own word
  bool partial = false;                          // of many members nothing is known
  bool stuck = false;  // all are in it, nobody is out, nothing earlier holds anybody
};

class WaitFor {
 public:
  WaitFor(const Facts& facts, const Topology& topology, const WaitSource& source)
      : facts_(facts), topology_(topology), source_(source.traits) {
    report_.source = source.id;
  }

  // members: what the source tells; without groups there is nothing to say.
  CollectiveReport run(WaitMembers members) {
    report_.seen = std::move(members.seen);
    report_.unseen = std::move(members.unseen);
    report_.cut = std::move(members.cut);
    report_.notes = std::move(members.notes);
    report_.pending = members.pending;
    report_.timed_out = members.timed_out;
    ranks_ = std::move(members.ranks);
    groups_ = std::move(members.groups);
    index_ = std::move(members.index);
    sends_ = std::move(members.sends);
    unresponsive_ = std::move(members.unresponsive);
    find_motion();
    make_operations();
    make_graph();
    find_leaves();
    summarise();
    return std::move(report_);
  }

 private:
  using Member = WaitMembers::Member;
  using Group = WaitMembers::Group;
  using OfRank = WaitMembers::OfRank;
  using Launch = WaitMembers::Launch;

  // In a hang nothing moves, and a collective that needs everybody cannot be finished on one rank
  // before all have launched it. Where that is so, the dumps are of different moments of a job that
  // ran.
  void find_motion() {
    if (source_.of_a_stall) return;
    for (Group& g : groups_) {
      std::int64_t done = kUnknownSequence, launched = kUnknownSequence;
      const Member* ahead = nullptr;
      const Member* behind = nullptr;
      for (const Member& m : g.members) {
        if (m.completed >= 0 && m.completed > done) {
          done = m.completed;
          ahead = &m;
        }
        if (m.enqueued >= 0 && (behind == nullptr || m.enqueued < launched)) {
          launched = m.enqueued;
          behind = &m;
        }
      }
      if (ahead == nullptr || behind == nullptr || done <= launched) continue;
      const auto known = g.operations.find(done);
      const std::int64_t gap = known == g.operations.end() || known->second.empty() ? 3
                               : symmetric(known->second)                           ? 1
                                                                                    : 8;
      if (done - launched < gap) continue;
      report_.moving = true;
      report_.moving_why = say(Phrase::counters_of_moments, done, group_name(g.id), ahead->rank,
                               behind->rank, launched);
      return;
    }
  }

  std::string group_name(GroupId id) const { return analyze::group_name(facts_, id); }

  void make_operations() {
    for (std::uint32_t gi = 0; gi < groups_.size(); ++gi) make_collectives(gi);
    make_sends();
  }

  // The first unfinished operations of a group's members: who is in them, who never came, who is
  // through.
  void make_collectives(std::uint32_t gi) {
    Group& g = groups_[gi];
    std::map<std::int64_t, std::uint32_t> heads;
    for (const Member& m : g.members)
      if (m.head != kUnknownSequence) heads.emplace(m.head, 0);
    if (g.crowd >= 0 && std::ranges::any_of(g.members, [&](const Member& m) {
          return m.enqueued >= 0 && m.enqueued < g.crowd;
        }))
      heads.emplace(g.crowd, 0);
    if (heads.size() > kHeadsPerGroup)
      heads.erase(std::next(heads.begin(), kHeadsPerGroup), heads.end());
    for (auto& [sequence, op] : heads) {
      op = static_cast<std::uint32_t>(ops_.size());
      ops_.push_back(collective(gi, sequence));
    }
    for (Member& m : g.members) {
      if (m.head == kUnknownSequence) continue;
      const auto it = heads.find(m.head);
      if (it == heads.end()) continue;
      enters_.push_back({m.index, it->second});
      first(ranks_[m.index], m.sample != nullptr ? m.sample->row.record : 0, it->second);
    }
  }

  // One of them, by what each member of the group has launched and finished.
  Op collective(std::uint32_t gi, std::int64_t sequence) const {
    const Group& g = groups_[gi];
    Op o{.group = gi, .sequence = sequence};
    if (const auto it = g.operations.find(sequence); it != g.operations.end())
      o.operation = it->second;
    if (o.operation.empty()) o.operation = g.counter;
    std::vector<const Member*> unknown;
    for (const Member& m : g.members) {
      const OfRank& r = ranks_[m.index];
      if (m.head != kUnknownSequence && m.head <= sequence &&
          (m.head == sequence || m.last >= sequence || m.enqueued >= sequence)) {
        o.in.push_back(m.index);
        if (m.sample != nullptr && m.head == sequence && o.sample == nullptr) o.sample = m.sample;
      } else if (m.head != kUnknownSequence && m.head > sequence)
        (r.whole ? (o.surely_done = true, o.done) : o.missing)
            .push_back(m.index);  // a cut dump may have lost it: nobody knows
      else if (m.completed >= sequence) {
        o.done.push_back(m.index);
        o.surely_done = true;
      } else if (m.enqueued >= 0 && m.enqueued < sequence)
        o.missing.push_back(m.index);
      else if (m.enqueued == kNoSequence)
        o.missing.push_back(m.index);
      else if (!r.dumped && g.crowd >= 0)
        continue;  // one of the crowd
      else if (!r.dumped) {
        if (g.whole)
          o.missing.push_back(m.index);
        else
          o.partial = true;
      } else if (m.enqueued >= sequence)
        (r.whole ? (o.surely_done = true, o.done) : o.missing)
            .push_back(m.index);  // launched, not listed as unfinished
      else
        unknown.push_back(&m);
    }
    // A dump of active operations says nothing of a group in which nothing is unfinished. A
    // rank with nothing unfinished at all is idle, so it has not come here; else the company it
    // keeps tells.
    for (const Member* m : unknown) {
      const bool never =
          ranks_[m->index].clear ||
          (o.done.empty() && (!o.missing.empty() || 2 * o.in.size() >= g.members.size()));
      (never ? o.missing : o.done).push_back(m->index);
    }
    return o;
  }

  void make_sends() {
    sort_by(sends_, [](const Launch& a) {
      return std::tie(a.rank, a.group, a.sample->row.record, a.sample->row.sequence);
    });
    std::map<std::tuple<std::uint32_t, std::uint32_t, Rank, bool>,
             std::vector<std::uint32_t>>
        pairs;  // group, rank, peer, is a send -> operations
    for (const Launch& l : sends_) {
      const CollectiveRow& row = l.sample->row;
      Op o{.group = l.group, .sequence = row.sequence, .p2p = true, .operation = row.operation};
      o.weak = contains(row.operation,
                        "send");  // a send may be left behind; nothing goes on without a receive
      o.from = ranks_[l.rank].rank;
      o.to = row.peer;
      o.sample = l.sample;
      o.in.push_back(l.rank);
      const auto op = static_cast<std::uint32_t>(ops_.size());
      pairs[{l.group, l.rank, row.peer, o.weak}].push_back(op);
      ops_.push_back(std::move(o));
      enters_.push_back({l.rank, op});
      if (!ops_[op].weak)
        first(ranks_[l.rank], row.record, op);
      else if (OfRank& r = ranks_[l.rank];
               r.first_send == ~0u || row.record < r.first_send_record) {
        r.first_send_record = row.record;
        r.first_send = op;
      }
    }
    for (auto& [key, ops] : pairs) {
      const auto& [gi, rank, peer, send] = key;
      if (number_of(peer) < 0) continue;
      const auto at = index_.find(peer);
      if (at == index_.end()) continue;
      const auto other = pairs.find({gi, at->second, ranks_[rank].rank, !send});
      const std::size_t joined = other == pairs.end() ? 0 : other->second.size();
      for (std::size_t i = 0; i < ops.size(); ++i) {
        (i < joined ? ops_[ops[i]].in : ops_[ops[i]].missing).push_back(at->second);
        if (i < joined) ops_[ops[i]].other_end = other->second[i];
      }
    }
  }

  static void first(OfRank& r, std::int64_t record, std::uint32_t op) {
    if (r.first_op == ~0u || record < r.first_record) {
      r.first_record = record;
      r.first_op = op;
    }
  }

  std::uint32_t node(std::uint32_t op) const {
    return static_cast<std::uint32_t>(ranks_.size()) + op;
  }

  void make_graph() {
    graph_ = WaitGraph(ranks_.size() + ops_.size());
    for (const Op& o : ops_) {
      if (o.p2p || o.done.empty() || !o.surely_done) continue;
      // A broadcast can be over for most and not for a few: those did not get it.
      const bool few = 4 * o.in.size() <= o.done.size() && !contains(o.operation, "reduce") &&
                       !contains(o.operation, "gather");
      if (!symmetric(o.operation) && !few) continue;
      // One alone that did not finish what all others did has stopped; of several, one may hold up
      // the rest.
      for (const std::uint32_t r : o.in) {
        const bool doubt = !symmetric(o.operation) || o.in.size() > 1;
        ranks_[r].doubtful = (!ranks_[r].device_behind || ranks_[r].doubtful) && doubt;
        ranks_[r].device_behind = true;
      }
    }
    for (const auto& [rank, op] : enters_)
      if (!ranks_[rank].device_behind) graph_.add(rank, node(op), ops_[op].weak);
    for (std::uint32_t i = 0; i < ops_.size(); ++i) {
      Op& o = ops_[i];
      for (const std::uint32_t r : o.missing) graph_.add(node(i), r);
      if (!o.missing.empty()) continue;
      bool held = false;
      for (const std::uint32_t r : o.in) {
        if (ranks_[r].device_behind || !ranks_[r].whole) {
          graph_.add(node(i), r);
          held = true;
        }  // of a cut dump nobody knows what came first
        else if (o.done.empty() && ranks_[r].first_op != ~0u && ranks_[r].first_op != i &&
                 !twin(ranks_[r].first_op, i)) {
          graph_.add(node(i), node(ranks_[r].first_op));
          held = true;
        }
      }
      o.stuck = !held && !o.partial && o.done.empty() && o.in.size() > 1;
      // A send that a member launched before may be what its device is in. It may also be left
      // behind: a weak hold.
      for (const std::uint32_t r : o.in) {
        const OfRank& member = ranks_[r];
        if (member.first_send == ~0u || member.first_send == i || twin(member.first_send, i))
          continue;
        if (const auto record = record_of(o, r); record && member.first_send_record < *record)
          graph_.add(node(i), node(member.first_send), true);
      }
    }
  }

  // Where a rank's launch of an operation stands among all its launches; nothing where the source
  // does not say.
  std::optional<std::int64_t> record_of(const Op& o, std::uint32_t rank) {
    if (o.p2p) {
      if (ranks_[rank].rank == o.from) return o.sample->row.record;
      if (o.other_end == ~0u) return std::nullopt;
      return ops_[o.other_end].sample->row.record;
    }
    const Member* m = groups_[o.group].find(ranks_[rank].rank);
    if (m == nullptr || m->sample == nullptr || m->head != o.sequence) return std::nullopt;
    return m->sample->row.record;
  }

  // The two sides of one send and receive.
  bool twin(std::uint32_t a, std::uint32_t b) const {
    const Op& x = ops_[a];
    const Op& y = ops_[b];
    return x.p2p && y.p2p && x.group == y.group && x.from == y.to && x.to == y.from;
  }

  void find_leaves() {
    if (report_.moving) return;
    std::vector<std::uint32_t> all(graph_.size());
    for (std::uint32_t i = 0; i < all.size(); ++i) all[i] = i;
    std::uint32_t count = 0;
    const auto component = graph_.components(all, true, count);
    std::vector<char> has_out(count, 0);
    std::vector<std::vector<std::uint32_t>> nodes(count);
    for (std::uint32_t n = 0; n < graph_.size(); ++n) {
      nodes[component[n]].push_back(n);
      for (const WaitGraph::Edge& e : graph_.out(n))
        has_out[component[n]] |= component[e.to] != component[n];
    }
    std::vector<std::vector<std::uint32_t>> in(graph_.size());
    for (std::uint32_t n = 0; n < graph_.size(); ++n)
      for (const WaitGraph::Edge& e : graph_.out(n)) in[e.to].push_back(n);
    reverse_ = std::move(in);
    for (std::uint32_t c = 0; c < count; ++c) {
      if (has_out[c]) continue;
      if (report_.leaves.size() >= kMostLeaves) {
        report_.notes.push_back(say(Phrase::leaves_not_all_seen, kMostLeaves));
        break;
      }
      if (nodes[c].size() == 1) {
        sink(nodes[c][0]);
        continue;
      }
      // Everybody waits in a ring. A send that was left behind does not hold its sender: without
      // those the ring may open.
      std::uint32_t inner = 0;
      const auto parts = graph_.components(nodes[c], false, inner);
      std::vector<char> out(inner, 0);
      std::vector<std::vector<std::uint32_t>> part(inner);
      for (const std::uint32_t n : nodes[c]) {
        part[parts[n]].push_back(n);
        for (const WaitGraph::Edge& e : graph_.out(n))
          out[parts[n]] |= !e.weak && parts[e.to] != parts[n];
      }
      for (std::uint32_t p = 0; p < inner; ++p) {
        if (out[p]) continue;
        if (part[p].size() == 1)
          sink(part[p][0], true);
        else
          ring(part[p]);
      }
    }
    // Different calls at one place of one group are the program's, wherever the waiting leads.
    std::vector<Leaf> mismatches;
    for (std::uint32_t i = 0; i < ops_.size() && mismatches.size() < kMostLeaves; ++i) {
      Leaf leaf;
      if (!ops_[i].p2p && disagree(ops_[i], leaf, true)) {
        leaf.waiting = static_cast<std::int64_t>(report_.seen.size()) -
                       static_cast<std::int64_t>(leaf.tie ? 0 : leaf.ranks.size());
        leaf.confidence = 1;
        mismatches.push_back(std::move(leaf));
      }
    }
    if (!mismatches.empty()) {
      report_.leaves = std::move(mismatches);
      chains_.assign(report_.leaves.size(), {});
    }
    weigh();
  }

  void sink(std::uint32_t n, bool opened = false) {
    if (n < ranks_.size()) {
      const OfRank& r = ranks_[n];
      if (reverse_[n].empty()) return;  // nobody waits for it
      Leaf leaf{.kind = r.device_behind         ? StopKind::device_stopped
                        : !r.dumped || !r.whole ? StopKind::no_dump
                                                : StopKind::host_stopped,
                .ranks = {r.rank}};
      const Op* from = nullptr;
      for (const std::uint32_t p : reverse_[n])
        if (p >= ranks_.size()) {
          const Op& o = ops_[p - ranks_.size()];
          if (from == nullptr || std::tuple(from->p2p, from->group, from->sequence) >
                                     std::tuple(o.p2p, o.group, o.sequence))
            from = &o;
        }
      if (from != nullptr) {
        leaf.group = groups_[from->group].id;
        leaf.sequence = from->sequence;
        leaf.operation = from->operation;
        if (from->sample != nullptr) leaf.places.push_back(cited(facts_, *from->sample));
      }
      if (r.recorder != nullptr)
        leaf.places.push_back(cited(facts_, *r.recorder));
      else if (r.counters != nullptr)
        leaf.places.push_back(cited(facts_, *r.counters));
      // A buffered send may be over before its receive begins: who is waited for in receives only
      // may have sent.
      const bool receives_only = std::ranges::all_of(reverse_[n], [&](std::uint32_t p) {
        return p >= ranks_.size() && ops_[p - ranks_.size()].p2p;
      });
      if (leaf.kind == StopKind::host_stopped)
        for (const ExitRow& x : facts_.exits)
          if (x.rank == r.rank && x.code == 0) {
            leaf.kind = StopKind::left_early;
            leaf.places.push_back({x.place});
            break;
          }
      const std::string where = topology_.where(r.rank);
      const Text what = from == nullptr ? Text()
                                        : say(Phrase::operation_of, leaf.operation, leaf.sequence,
                                              group_name(leaf.group));
      if (leaf.kind == StopKind::device_stopped)
        leaf.why = say(Phrase::peers_finished_it_did_not, what);
      else if (leaf.kind == StopKind::no_dump)
        leaf.why = say(r.dumped                           ? Phrase::own_dump_cut
                       : unresponsive_.count(r.rank) != 0 ? Phrase::does_not_answer
                                                          : Phrase::there_is_no_dump,
                       what);
      else if (leaf.kind == StopKind::left_early)
        leaf.why = say(Phrase::had_ended_with_success, what);
      else
        leaf.why = say(Phrase::never_launched_what_peers, what);
      add(std::move(leaf), n,
          (opened ? confidence::kOpenedLate : 1) *
              (r.device_behind && r.doubtful ? confidence::kDoubtful : 1) *
              (!r.device_behind && receives_only ? confidence::kDoubtful : 1));
      return;
    }
    const std::uint32_t op = n - static_cast<std::uint32_t>(ranks_.size());
    if (ops_[op].stuck) stuck(op);
  }

  // All are in it and nobody gets out.
  void stuck(std::uint32_t op) {
    const Op& o = ops_[op];
    if (o.p2p) {
      const std::uint32_t n = node(op);
      const Rank a = std::min(o.from, o.to), b = std::max(o.from, o.to);
      for (const Leaf& other : report_.leaves)
        if (other.group == groups_[o.group].id && other.ranks == std::vector<Rank>{a, b}) return;
      Leaf leaf{.kind = StopKind::network,
                .ranks = {a, b},
                .group = groups_[o.group].id,
                .sequence = o.sequence,
                .operation = o.operation};
      leaf.within = machine_of(leaf.ranks);
      leaf.why =
          say(Phrase::both_ends_of_send, leaf.within, topology_.where(a), topology_.where(b));
      leaf.places.push_back(cited(facts_, *o.sample));
      add(std::move(leaf), n, 1);
      return;
    }
    Leaf leaf{.group = groups_[o.group].id, .sequence = o.sequence, .operation = o.operation};
    if (disagree(o, leaf)) {
      add(std::move(leaf), node(op), 1);
      return;
    }
    if (source_.launches_only) return;  // nobody knows whether they are still in it
    {
      leaf.kind = StopKind::network;
      for (const std::uint32_t r : o.in) leaf.ranks.push_back(ranks_[r].rank);
      sort_rows(leaf.ranks);
      if (all_known(leaf.group, leaf.ranks.size())) leaf.within = machine_of(leaf.ranks);
      leaf.why = say(Phrase::all_ranks_in, leaf.ranks.size(), group_name(leaf.group), o.operation,
                     o.sequence, leaf.within);
      if (o.sample != nullptr) leaf.places.push_back(cited(facts_, *o.sample));
    }
    add(std::move(leaf), node(op), 1);
  }

  // Whether the ranks in one operation do not do the same; fills the leaf with the smaller party.
  // anywhere: not all are known to be in it. What moves is then compared, not how it is shaped, and
  // only where each of them tells.
  bool disagree(const Op& o, Leaf& leaf, bool anywhere = false) const {
    const auto here = [&](const Member& m) { return m.head == o.sequence && m.sample != nullptr; };
    const bool by_amount = anywhere && !source_.compared;
    const auto& members = groups_[o.group].members;
    const bool counted = std::ranges::all_of(members, [&](const Member& m) {
      return !here(m) || elements(m.sample->row.sizes).has_value();
    });
    std::map<std::string, std::vector<Rank>> kinds;
    std::map<std::string, const CollectiveSample*> shown;
    for (const Member& m : members) {
      if (!here(m)) continue;
      const CollectiveRow& row = m.sample->row;
      const bool loose = !source_.compared && sizes_may_differ(row.operation);
      std::string kind = row.operation;
      if (by_amount) {
        if (counted && !loose) kind += fmt::format(" of {:.0f}", elements(row.sizes)->first);
      } else if (!loose) {
        kind +=
            (row.sizes.empty() ? "" : " " + row.sizes) + (row.types.empty() ? "" : " " + row.types);
      }
      kinds[kind].push_back(m.rank);
      shown.emplace(kind, m.sample);
    }
    if (kinds.size() < 2) return !by_amount && uneven(o, leaf);
    std::vector<std::pair<std::string, std::vector<Rank>>> sides(kinds.begin(), kinds.end());
    sort_rows(sides,
              [](const auto& a, const auto& b) { return a.second.size() > b.second.size(); });
    leaf.kind = StopKind::mismatch;
    leaf.group = groups_[o.group].id;
    leaf.sequence = o.sequence;
    leaf.operation = o.operation;
    leaf.tie = sides[0].second.size() == sides[1].second.size();
    leaf.against = sides[0].second;
    for (std::size_t i = leaf.tie ? 0 : 1; i < sides.size(); ++i)
      leaf.ranks.insert(leaf.ranks.end(), sides[i].second.begin(), sides[i].second.end());
    sort_rows(leaf.ranks);
    leaf.why =
        say(Phrase::ranks_do_not_the_same, o.sequence, group_name(leaf.group), sides[0].first,
            to_ranges(sides[0].second), sides[1].first, to_ranges(sides[1].second));
    leaf.places = {cited(facts_, *shown[sides[1].first]), cited(facts_, *shown[sides[0].first])};
    return true;
  }

  // Sizes of an all-to-all may differ from rank to rank; what all give together is what all expect
  // together.
  bool uneven(const Op& o, Leaf& leaf) const {
    const Group& g = groups_[o.group];
    if ((!contains(o.operation, "to_all") && !contains(o.operation, "alltoall")) ||
        o.in.size() != g.members.size())
      return false;
    double given = 0, expected = 0;
    std::vector<Rank> ranks;
    for (const Member& m : g.members) {
      if (m.sample == nullptr || m.head != o.sequence) return false;
      const auto sizes = elements(m.sample->row.sizes);
      if (!sizes) return false;
      given += sizes->first;
      expected += sizes->second;
      ranks.push_back(m.rank);
      if (leaf.places.size() < 4) leaf.places.push_back(cited(facts_, *m.sample));
    }
    if (given == expected) {
      leaf.places.clear();
      return false;
    }
    leaf.kind = StopKind::mismatch;
    leaf.group = g.id;
    leaf.sequence = o.sequence;
    leaf.operation = o.operation;
    leaf.tie = true;
    leaf.ranks = std::move(ranks);
    leaf.why = say(Phrase::split_sizes_disagree, o.operation, o.sequence, group_name(leaf.group),
                   given, expected);
    return true;
  }

  // Ranks that wait for each other in different groups: they call them in different order.
  void ring(const std::vector<std::uint32_t>& nodes) {
    Leaf leaf{.kind = StopKind::mismatch, .tie = true};
    std::vector<const Op*> ops;
    bool missing = false;
    for (const std::uint32_t n : nodes) {
      if (n < ranks_.size()) {
        leaf.ranks.push_back(ranks_[n].rank);
        continue;
      }
      const Op& o = ops_[n - ranks_.size()];
      ops.push_back(&o);
      missing = missing || !o.missing.empty();
    }
    sort_rows(leaf.ranks);
    sort_by(ops, [](const Op* a) { return std::tie(a->p2p, a->group, a->sequence); });
    if (ops.empty()) return;
    leaf.group = groups_[ops[0]->group].id;
    leaf.sequence = ops[0]->sequence;
    leaf.operation = ops[0]->operation;
    std::vector<Rank> doubtful;
    for (const std::uint32_t n : nodes)
      if (n < ranks_.size() && !ranks_[n].whole) doubtful.push_back(ranks_[n].rank);
    for (const Op* o : ops)
      if (leaf.places.size() < 4 && o->sample != nullptr)
        leaf.places.push_back(cited(facts_, *o->sample));
    if (!doubtful.empty()) {
      sort_rows(doubtful);
      leaf.kind = StopKind::no_dump;
      leaf.ranks = std::move(doubtful);
      leaf.why = say(Phrase::dump_does_not_explain);
    } else if (!missing || leaf.ranks.size() < 2) {
      // Only the order on the devices makes the ring, and streams may overtake: one of these
      // operations is stuck.
      leaf.kind = StopKind::network;
      std::set<Rank> members;
      for (const Op* o : ops)
        for (const std::uint32_t r : o->in) members.insert(ranks_[r].rank);
      leaf.ranks.assign(members.begin(), members.end());
      leaf.why = say(Phrase::all_in_and_none_out, ops.size());
    } else {
      leaf.why = say(Phrase::wait_for_each_other, to_ranges(leaf.ranks));
    }
    add(std::move(leaf), nodes.front(), 0.8);
  }

  void add(Leaf leaf, std::uint32_t n, double factor) {
    // Everybody who waits for it, and the longest way there.
    std::vector<std::uint32_t> queue{n}, parent(graph_.size(), ~0u);
    std::vector<char> seen(graph_.size(), 0);
    seen[n] = 1;
    for (std::size_t at = 0; at < queue.size(); ++at)
      for (const std::uint32_t p : reverse_[queue[at]])
        if (!seen[p]) {
          seen[p] = 1;
          parent[p] = queue[at];
          queue.push_back(p);
        }
    std::uint32_t farthest = n;
    for (const std::uint32_t q : queue) {
      if (q >= ranks_.size() || q == n) continue;
      if (!contains(leaf.ranks, ranks_[q].rank)) ++leaf.waiting;
      farthest = q;  // breadth first: the last is one of the farthest
    }
    leaf.confidence = factor;
    std::vector<Wait> chain;
    for (std::uint32_t at = farthest; at != n && chain.size() < 8;) {
      const std::uint32_t op = parent[at];
      if (op == ~0u || op < ranks_.size()) break;
      const Op& o = ops_[op - ranks_.size()];
      std::uint32_t next = op;
      while (next != ~0u && next >= ranks_.size() && next != n) next = parent[next];
      if (next == ~0u) break;
      Wait w{.from = ranks_[at].rank,
             .group = groups_[o.group].id,
             .sequence = o.sequence,
             .operation = o.operation};
      if (o.sample != nullptr) w.place = cited(facts_, *o.sample);
      if (next >= ranks_.size()) break;
      w.to = ranks_[next].rank;
      w.because = !ranks_[next].dumped        ? "left no dump of"
                  : contains(o.missing, next) ? "never launched"
                                              : "holds up";
      chain.push_back(std::move(w));
      at = next;
    }
    chains_.push_back(std::move(chain));
    report_.leaves.push_back(std::move(leaf));
  }

  // The machine that all of these run on, of a job that runs on several; "" when they are on more,
  // or nobody knows.
  Host machine_of(const std::vector<Rank>& ranks) const {
    Host out;
    for (const Rank r : ranks) {
      const auto at = topology_.host_of.find(r);
      if (at == topology_.host_of.end() || (!out.empty() && at->second != out)) return {};
      out = at->second;
    }
    const bool several = std::ranges::any_of(
        topology_.host_of, [&](const auto& placed) { return placed.second != out; });
    return several ? out : Host();
  }

  // No member of a group is unknown, so none of them can be elsewhere.
  bool all_known(GroupId id, std::size_t members) const {
    const GroupRow* g = facts_.group(id);
    return g != nullptr &&
           std::max<std::int64_t>(g->size, static_cast<std::int64_t>(g->ranks.size())) ==
               static_cast<std::int64_t>(members);
  }

  void weigh() {
    std::vector<std::size_t> order(report_.leaves.size());
    for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
    const auto witnessed = [&](const Leaf& l) {
      return l.kind != StopKind::no_dump && l.kind != StopKind::network;
    };
    const bool any_witnessed = std::ranges::any_of(report_.leaves, witnessed);
    // What several leaves share is one cause seen twice: a stuck operation beside a rank that
    // stopped is its consequence only when the graph says so, but a rank without a dump may simply
    // wait like the others.
    std::erase_if(order, [&](std::size_t i) {
      const Leaf& l = report_.leaves[i];
      if (l.kind != StopKind::no_dump || !any_witnessed) return false;
      report_.notes.push_back(say(Phrase::no_whole_dump_of, topology_.where(l.ranks[0])));
      return true;
    });
    sort_rows(order, [&](std::size_t a, std::size_t b) {
      const Leaf& x = report_.leaves[a];
      const Leaf& y = report_.leaves[b];
      return std::tuple(-x.waiting, x.ranks) < std::tuple(-y.waiting, y.ranks);
    });
    std::vector<Leaf> leaves;
    const std::size_t share = std::max<std::size_t>(1, order.size());
    for (const std::size_t i : order) {
      Leaf l = std::move(report_.leaves[i]);
      // Where all members of a stuck operation are on one machine, which of them it is no longer
      // matters.
      const double base =
          l.kind == StopKind::host_stopped || l.kind == StopKind::left_early
              ? confidence::kNeverLaunched
          : l.kind == StopKind::device_stopped || !l.within.empty() ? confidence::kNeverFinished
          : l.kind == StopKind::mismatch ? (l.tie ? confidence::kTie : confidence::kMismatch)
                                         : confidence::kTie;
      // A desynchronisation report and fingerprints hold what each rank wrote itself; a barrier is
      // one rank's word on others.
      const double source = source_.lists_unfinished ? 1
                            : source_.by_each_rank   ? confidence::kLastOfEachRank
                                                     : confidence::kLastOfSome;
      const double alone = share <= 2   ? 1
                           : share <= 4 ? confidence::kFewCulprits
                                        : confidence::kManyCulprits;
      l.confidence *=
          base * source * alone * (any_witnessed && !report_.cut.empty() ? confidence::kCutOff : 1);
      leaves.push_back(std::move(l));
    }
    // Who does not answer explains why the others are not equally far.
    if (!unresponsive_.empty() && 8 * unresponsive_.size() <= report_.seen.size()) {
      leaves.clear();
      order.clear();
      for (const Rank rank : unresponsive_) {
        leaves.push_back(Leaf{
            .kind = StopKind::no_dump,
            .ranks = {rank},
            .waiting = static_cast<std::int64_t>(report_.seen.size()),
            .confidence = confidence::kUnresponsive / static_cast<double>(unresponsive_.size()),
            .why = say(Phrase::no_answer_to_ras)});
      }
      chains_.assign(leaves.size(), {});
    }
    std::int64_t waiting = 0;
    for (const OfRank& r : ranks_) waiting += !r.clear;
    report_.scattered = leaves.size() >= 3 && 2 * leaves.front().waiting < waiting;
    if (!order.empty()) report_.chain = std::move(chains_[order[0]]);
    report_.leaves = std::move(leaves);
  }

  void summarise() {
    std::vector<std::vector<const Op*>> ops_of(groups_.size());
    for (const Op& o : ops_)
      if (!o.p2p) ops_of[o.group].push_back(&o);
    for (const Group& g : groups_) {
      GroupFrontier f;
      f.group = g.id;
      bool open = false;
      f.enqueued_low = f.enqueued_high = f.completed_low = f.completed_high = kUnknownSequence;
      const auto spread = [](std::int64_t value, std::int64_t& low, std::int64_t& high) {
        if (value < 0) return;
        low = low == kUnknownSequence ? value : std::min(low, value);
        high = std::max(high, value);
      };
      for (const Member& m : g.members) {
        spread(m.enqueued, f.enqueued_low, f.enqueued_high);
        spread(m.completed, f.completed_low, f.completed_high);
        if (m.head != kUnknownSequence && (!open || m.head < f.sequence)) {
          open = true;
          f.sequence = m.head;
        }
      }
      if (!open) continue;
      for (const Op* one : ops_of[static_cast<std::size_t>(&g - groups_.data())]) {
        const Op& o = *one;
        if (o.sequence != f.sequence) continue;
        f.operation = o.operation;
        for (const std::uint32_t r : o.in)
          (ranks_[r].device_behind ? f.behind : f.pending).push_back(ranks_[r].rank);
        for (const std::uint32_t r : o.missing) f.missing.push_back(ranks_[r].rank);
        for (auto* list : {&f.behind, &f.pending, &f.missing}) sort_rows(*list);
      }
      report_.groups.push_back(std::move(f));
    }
    sort_by(report_.groups, [&](const GroupFrontier& f) {
      const GroupRow& g = facts_.groups[index_of(f.group)];
      return std::tuple(f.missing.empty() && f.behind.empty(), g.description, g.ranks, g.name);
    });
  }

  const Facts& facts_;
  const Topology& topology_;
  const WaitTraits& source_;
  CollectiveReport report_;
  std::set<Rank> unresponsive_;
  std::unordered_map<Rank, std::uint32_t> index_;
  std::vector<OfRank> ranks_;
  std::vector<Group> groups_;
  std::vector<Launch> sends_;
  std::vector<Op> ops_;
  std::vector<std::pair<std::uint32_t, std::uint32_t>> enters_;  // rank, operation
  WaitGraph graph_{0};
  std::vector<std::vector<std::uint32_t>> reverse_;
  std::vector<std::vector<Wait>> chains_;
};

}  // namespace

std::string group_name(const Facts& facts, GroupId id) {
  const GroupRow* found = facts.group(id);
  if (found == nullptr) return "a group";
  const GroupRow& g = *found;
  // A pointer is one process's name for it and tells nobody else anything.
  if (g.description.empty() || g.description.rfind("0x", 0) == 0) return "group " + g.name;
  return g.name.empty() ? g.description : g.description + " " + g.name;
}

CollectiveReport wait_for(const Facts& facts, const Topology& topology) {
  CollectiveReport kept;
  const Communicators communicators(facts);
  for (const WaitSource& source : wait_sources()) {
    const WaitRows rows = source.read(source.id, facts, communicators);
    if (rows.frontiers.empty() && rows.launches.empty()) continue;
    WaitMembers members = wait_members(facts, topology, source, rows, communicators);
    if (members.groups.empty()) continue;
    CollectiveReport report = WaitFor(facts, topology, source).run(std::move(members));
    if (!report.leaves.empty()) {
      narrow_to_requests(report, facts, topology, communicators);
      return report;
    }
    if (kept.source == CollectiveSource::none ||
        (!kept.moving && kept.pending == 0 && report.pending > 0))
      kept = std::move(report);
    if (kept.moving) return kept;
  }
  return kept;
}

}  // namespace culprit::analyze
