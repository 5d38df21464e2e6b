#include "analyze/hang/hang_pictures.hpp"

#include <algorithm>
#include <deque>
#include <iterator>
#include <limits>
#include <map>
#include <set>

#include "model/hostlist.hpp"
#include "model/ranges.hpp"
#include "model/phrases.hpp"
#include "model/sort.hpp"

namespace culprit::analyze {

namespace {

constexpr std::size_t kMostNodes = 24, kMostOdd = 6;

bool share_any(const std::vector<Rank>& a, const std::vector<Rank>& b) {
  for (auto x = a.begin(), y = b.begin(); x != a.end() && y != b.end();) {
    if (*x == *y) return true;
    *x < *y ? ++x : ++y;
  }
  return false;
}

// Of everybody whom a fired finding of a hang names.
std::vector<Rank> blamed(std::span<const Finding> findings) {
  std::set<Rank> out;
  for (const Finding& f : findings) {
    if (!f.fired()) continue;
    if (const auto* hang = std::get_if<HangFacts>(&f.facts)) {
      const auto ranks = from_ranges(hang->ranks);
      out.insert(ranks.begin(), ranks.end());
    }
    const bool waits = f.analysis == Analysis::hang || f.analysis == Analysis::collectives ||
                       f.analysis == Analysis::stacks;
    if (waits) out.insert(f.ranks.begin(), f.ranks.end());
  }
  return {out.begin(), out.end()};
}

WaitPicture::Node node_of(const Topology& topology, std::vector<Rank> ranks, Text doing) {
  WaitPicture::Node node;
  node.size = static_cast<std::int64_t>(ranks.size());
  node.hosts = fold_hostlist(topology.hosts_of(ranks));
  node.ranks = std::move(ranks);
  node.doing = std::move(doing);
  return node;
}

Text state_of(StopKind kind) {
  switch (kind) {
    case StopKind::host_stopped: return say(Phrase::never_launched_it);
    case StopKind::device_stopped: return say(Phrase::launched_gpu_does_not_finish);
    case StopKind::network: return say(Phrase::all_in_no_progress);
    case StopKind::mismatch: return say(Phrase::launched_another);
    case StopKind::left_early: return say(Phrase::has_left);
    case StopKind::no_dump: return say(Phrase::left_no_dump);
    case StopKind::storage: return say(Phrase::waits_for_storage);
    case StopKind::lock_file: return say(Phrase::waits_for_lock_file);
  }
  return {};
}

// A chain, hop by hop, with all who wait in front of it.
WaitPicture graph_of_calls(const Topology& topology, const Facts& facts,
                           const CollectiveReport& report) {
  WaitPicture out;
  const Leaf& leaf = report.leaves.front();
  out.source = "collectives";
  std::vector<const Wait*> hops;
  for (const Wait& w : report.chain)
    if (std::binary_search(leaf.ranks.begin(), leaf.ranks.end(), w.from))
      break;
    else
      hops.push_back(&w);
  const auto is_in = [&](const Wait& w) {
    return say(Phrase::is_in_of, w.operation,
               w.group != GroupId::none ? group_name(facts, w.group) : std::string());
  };
  const std::int64_t others = leaf.waiting - static_cast<std::int64_t>(hops.size());
  if (others > 0) {
    WaitPicture::Node node;
    node.size = others;
    node.doing = hops.empty() ? say(Phrase::wait_in, leaf.operation) : say(Phrase::wait_too);
    out.nodes.push_back(std::move(node));
  }
  for (const Wait* w : hops) out.nodes.push_back(node_of(topology, {w->from}, is_in(*w)));
  out.nodes.push_back(node_of(topology, leaf.ranks, state_of(leaf.kind)));
  out.nodes.back().end = true;
  if (out.nodes.size() > kMostNodes) {
    out.hidden = out.nodes.size() - kMostNodes;
    out.nodes.erase(out.nodes.begin() + 1,
                    out.nodes.begin() + 1 + static_cast<std::ptrdiff_t>(out.hidden));
  }
  const std::size_t n = out.nodes.size();
  for (std::size_t i = 0; i < n; ++i) {
    out.nodes[i].layer = n - 1 - i;
    if (i + 1 < n) out.edges.push_back({i, i + 1, ""});
  }
  return out;
}

// Groups of equal stacks, and what they wait for.
WaitPicture graph_of_stacks(const Topology& topology, const StackReport& report) {
  WaitPicture out;
  out.source = "stacks";
  std::vector<WaitPicture::Node> nodes;
  for (const StackGroup& g : report.groups)
    if (g.role == "trainer" && !g.ranks.empty())
      nodes.push_back(node_of(topology, g.ranks, describe(g.stage)));
  if (!report.unheard.empty())
    nodes.push_back(node_of(topology, report.unheard, say(Phrase::left_no_stack)));
  // Who is named stands for itself: a group whose stack is equal to that of others is parted.
  const StackSink& sink = report.sinks.front();
  for (std::size_t i = 0, n = nodes.size(); i < n; ++i) {
    if (!share_any(nodes[i].ranks, sink.ranks)) continue;
    std::vector<Rank> named, rest;
    for (const Rank r : nodes[i].ranks)
      (std::binary_search(sink.ranks.begin(), sink.ranks.end(), r) ? named : rest).push_back(r);
    const Text doing = nodes[i].doing;
    nodes[i] = node_of(topology, std::move(named), doing);
    nodes[i].end = true;
    if (!rest.empty()) nodes.push_back(node_of(topology, std::move(rest), doing));
  }
  std::set<std::pair<std::size_t, std::size_t>> known;
  std::vector<WaitPicture::Edge> edges;
  for (const StackWait& w : report.waits)
    for (std::size_t a = 0; a < nodes.size(); ++a) {
      if (nodes[a].end || !share_any(nodes[a].ranks, w.from)) continue;
      for (std::size_t b = 0; b < nodes.size(); ++b)
        if (a != b && share_any(nodes[b].ranks, w.to) && known.emplace(a, b).second)
          edges.push_back({a, b, w.operation});
    }
  // Layers: how many waits from the end.
  constexpr std::size_t kFar = std::numeric_limits<std::size_t>::max();
  std::vector<std::size_t> layer(nodes.size(), kFar);
  std::deque<std::size_t> queue;
  for (std::size_t i = 0; i < nodes.size(); ++i)
    if (nodes[i].end) layer[i] = 0, queue.push_back(i);
  for (; !queue.empty(); queue.pop_front())
    for (const WaitPicture::Edge& e : edges)
      if (e.to == queue.front() && layer[e.from] == kFar)
        layer[e.from] = layer[e.to] + 1, queue.push_back(e.from);
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < nodes.size(); ++i)
    if (layer[i] != kFar) order.push_back(i);
  sort_rows(order, [&](std::size_t a, std::size_t b) {
    return std::tuple(layer[a], -nodes[a].size, nodes[a].ranks) <
           std::tuple(layer[b], -nodes[b].size, nodes[b].ranks);
  });
  if (order.size() > kMostNodes) {
    out.hidden = order.size() - kMostNodes;
    order.resize(kMostNodes);
  }
  std::ranges::reverse(order);
  std::map<std::size_t, std::size_t> place;
  for (const std::size_t i : order) {
    place[i] = out.nodes.size();
    nodes[i].layer = layer[i];
    out.nodes.push_back(std::move(nodes[i]));
  }
  // A wait within a layer, or away from the end, would only cross the others.
  for (WaitPicture::Edge& e : edges)
    if (place.count(e.from) != 0 && place.count(e.to) != 0 && layer[e.from] > layer[e.to])
      out.edges.push_back({place[e.from], place[e.to], std::move(e.what)});
  return out;
}

}  // namespace

WaitPicture wait_graph(const Topology& topology, const Facts& facts,
                       const CollectiveReport& collectives, const StackReport& stacks,
                       std::span<const Finding> findings) {
  const auto named = blamed(findings);
  if (named.empty()) return {};
  WaitPicture out;
  if (!collectives.leaves.empty() && !collectives.scattered && !collectives.moving &&
      share_any(collectives.leaves.front().ranks, named))
    out = graph_of_calls(topology, facts, collectives);
  if (out.nodes.size() < 2 && stacks.hang && !stacks.sinks.empty() &&
      share_any(stacks.sinks.front().ranks, named))
    out = graph_of_stacks(topology, stacks);
  return out.nodes.size() < 2 ? WaitPicture{} : out;
}

StackIcicle stack_icicle(const Topology& topology, const StackReport& stacks, std::size_t most) {
  StackIcicle out;
  const auto it = stacks.trees.find("trainer");
  if (it == stacks.trees.end() || it->second.nodes().size() < 2) return out;
  const StackTree& tree = it->second;
  const auto& nodes = tree.nodes();
  // Whom all wait for, when somebody stands still; else those that stand where the others do not.
  std::vector<Rank> odd = stacks.outliers;
  if (stacks.hang && !stacks.sinks.empty()) odd = stacks.sinks.front().ranks;
  out.processes = tree.processes(0);
  if (odd.size() * 2 > out.processes) odd.clear();
  std::vector<std::size_t> depth(nodes.size(), 0);
  for (std::uint32_t i = 1; i < nodes.size();) {
    // The chain below i that everybody goes.
    std::uint32_t last = i;
    while (!tree.ends_here(last) && last + 1 < nodes[last].end &&
           nodes[last + 1].end == nodes[last].end)
      ++last;
    for (std::uint32_t child = last + 1; child < nodes[last].end; child = nodes[child].end)
      depth[child] = depth[i] + 1;
    if (out.nodes.size() >= most) {
      ++out.hidden;
      i = last + 1;
      continue;
    }
    StackIcicle::Node node;
    for (std::uint32_t k = i; k <= last; ++k)
      node.frames.push_back(stacks.normal.names[nodes[k].frame]);
    node.depth = depth[i];
    node.processes = tree.processes(i);
    const auto ranks = tree.ranks(i);
    std::vector<Rank> both;
    std::set_intersection(ranks.begin(), ranks.end(), odd.begin(), odd.end(),
                          std::back_inserter(both));
    node.odd = both.size();
    node.ranks = to_ranges(ranks);
    out.nodes.push_back(std::move(node));
    i = last + 1;
  }
  for (const StackGroup& g : stacks.groups) {
    if (g.role != "trainer" || !share_any(g.ranks, odd)) continue;
    if (out.odd.size() >= kMostOdd) break;
    StackIcicle::Odd one;
    std::vector<Rank> ranks;
    std::set_intersection(g.ranks.begin(), g.ranks.end(), odd.begin(), odd.end(),
                          std::back_inserter(ranks));
    one.ranks = to_ranges(ranks);
    one.hosts = fold_hostlist(topology.hosts_of(ranks));
    one.doing = describe(g.stage);
    const auto& frames = stacks.normal.stacks[g.stack];
    for (auto f = frames.rbegin(); f != frames.rend(); ++f)
      one.frames.push_back(stacks.normal.names[*f]);
    out.odd.push_back(std::move(one));
  }
  return out;
}

}  // namespace culprit::analyze
