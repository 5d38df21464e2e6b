#include "plan/isolate.hpp"

#include <algorithm>
#include <iterator>
#include <optional>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "model/contains.hpp"
#include "model/sort.hpp"

namespace culprit::plan {

namespace {

constexpr std::size_t kMostTried = 16;  // pods that a cut may go through; each costs a search

// Hosts that stay together.
struct Bundle {
  std::string key;
  HostSet hosts;
};

std::vector<Bundle> bundles_by(const HostSet& set, const std::vector<std::string>& keys) {
  std::vector<Bundle> out;
  std::map<std::string, std::size_t> at;
  for (std::size_t i = 0; i < set.size(); ++i) {
    const auto [it, fresh] = at.emplace(keys[i], out.size());
    if (fresh) out.push_back({keys[i], {}});
    out[it->second].hosts.push_back(set[i]);
  }
  return out;
}

HostSet without(const HostSet& set, const HostSet& part) {
  HostSet out;
  std::set_difference(set.begin(), set.end(), part.begin(), part.end(), std::back_inserter(out));
  return out;
}

// Whole bundles whose hosts are as near as possible to half of all, neither side above `most`. The
// first bundle is among them, so that the answer does not depend on which side is called first.
std::optional<HostSet> choose(const std::vector<Bundle>& bundles, std::size_t all,
                              std::size_t most) {
  if (bundles.size() < 2) return std::nullopt;
  constexpr std::size_t kNone = static_cast<std::size_t>(-1);
  std::vector<std::size_t> by(all + 1, kNone);  // the bundle that first made this sum
  const std::size_t begin = bundles[0].hosts.size();
  by[begin] = 0;
  for (std::size_t b = 1; b < bundles.size(); ++b) {
    const std::size_t size = bundles[b].hosts.size();
    for (std::size_t sum = all - size + 1; sum-- > begin;)
      if (by[sum] != kNone && by[sum] < b && by[sum + size] == kNone) by[sum + size] = b;
  }
  std::optional<std::size_t> best;
  for (std::size_t sum = all - std::min(all, most); sum <= std::min(all - 1, most); ++sum)
    if (sum >= begin && by[sum] != kNone &&
        (!best || std::max(sum, all - sum) < std::max(*best, all - *best)))
      best = sum;
  if (!best) return std::nullopt;
  HostSet out;
  for (std::size_t sum = *best;;) {
    const Bundle& bundle = bundles[by[sum]];
    out.insert(out.end(), bundle.hosts.begin(), bundle.hosts.end());
    if (by[sum] == 0) break;
    sum -= bundle.hosts.size();
  }
  sort_rows(out);
  return out;
}

std::vector<std::string> common(const std::vector<std::string>& a,
                                const std::vector<std::string>& b) {
  std::vector<std::string> out;
  std::set_intersection(a.begin(), a.end(), b.begin(), b.end(), std::back_inserter(out));
  return out;
}

bool overlap(const std::vector<std::string>& a, const std::vector<std::string>& b) {
  return !common(a, b).empty();
}

// A ToR of another pod may have the same name.
std::string tor_key(const IsolateHost& host) { return host.pod + "\x1f" + host.tor; }

std::set<std::string> names_of(const std::vector<IsolateHost>& hosts, const HostSet& set,
                               std::string IsolateHost::*what) {
  std::set<std::string> out;
  for (const std::size_t h : set) out.insert(hosts[h].*what);
  return out;
}

// Data centers; most networks are in one, and nobody names it.
std::set<std::string> centers_of(const std::vector<IsolateHost>& hosts, const HostSet& set) {
  const auto named = [&](std::size_t h) { return !hosts[h].center.empty(); };
  return std::ranges::any_of(set, named) ? names_of(hosts, set, &IsolateHost::center)
                                         : std::set<std::string>();
}

Cut described(const std::vector<IsolateHost>& hosts, const HostSet& set, HostSet first) {
  Cut cut;
  cut.second = without(set, first);
  cut.first = std::move(first);
  const auto pods = names_of(hosts, set, &IsolateHost::pod);
  std::set<std::string> tors[2];
  for (const std::size_t h : cut.first) tors[0].insert(tor_key(hosts[h]));
  for (const std::size_t h : cut.second) tors[1].insert(tor_key(hosts[h]));
  std::vector<std::string> shared_tors, shared_pods;
  std::set_intersection(tors[0].begin(), tors[0].end(), tors[1].begin(), tors[1].end(),
                        std::back_inserter(shared_tors));
  const auto first_pods = names_of(hosts, cut.first, &IsolateHost::pod),
             second_pods = names_of(hosts, cut.second, &IsolateHost::pod);
  std::set_intersection(first_pods.begin(), first_pods.end(), second_pods.begin(),
                        second_pods.end(), std::back_inserter(shared_pods));
  const auto centers = centers_of(hosts, set);
  const bool between_centers =
      centers.size() > 1 &&
      centers_of(hosts, cut.first).size() + centers_of(hosts, cut.second).size() == centers.size();
  cut.border = between_centers       ? "datacenter"
               : shared_pods.empty() ? "pod"
               : shared_tors.empty() ? "tor"
                                     : "host";
  const bool tors_known = names_of(hosts, set, &IsolateHost::tor).count("") == 0,
             pods_known = pods.count("") == 0;
  if (centers.size() > 1)
    cut.between.push_back(between_centers ? "links between data centers"
                                          : "links between data centers (in part)");
  if (pods_known && pods.size() > 1 && !between_centers)
    cut.between.push_back(shared_pods.size() == 0
                              ? "core switches"
                              : "core switches (in part: the line goes through a pod)");
  if (pods_known)
    for (const std::string& pod : shared_pods)
      cut.between.push_back("aggregation switches of pod " + pod);
  else if (tors_known && tors[0] != tors[1])
    cut.between.push_back("aggregation and core switches");
  if (tors_known)
    for (const std::string& key : shared_tors)
      cut.between.push_back("switches of tor " + key.substr(key.find('\x1f') + 1));
  if (!pods_known && !tors_known) cut.between.push_back("switches between the halves");
  return cut;
}

std::size_t shared_links(const std::vector<IsolateHost>& hosts, const Cut& cut) {
  return common(links_used(hosts, cut.first), links_used(hosts, cut.second)).size();
}

}  // namespace

std::int64_t halving_rounds(std::size_t hosts) {
  std::int64_t rounds = 0;
  while ((std::size_t{1} << rounds) < hosts) ++rounds;
  return rounds;
}

std::vector<std::string> links_used(const std::vector<IsolateHost>& hosts, const HostSet& set) {
  std::set<std::string> tors, pods;
  for (const std::size_t h : set) {
    tors.insert(tor_key(hosts[h]));
    pods.insert(hosts[h].pod);
  }
  const auto centers = centers_of(hosts, set);
  // Within one ToR or pod nothing goes up.
  std::vector<std::string> out;
  if (tors.size() > 1)
    for (const std::string& key : tors)
      if (const std::string tor = key.substr(key.find('\x1f') + 1); !tor.empty())
        out.push_back("uplinks of tor " + tor);
  if (pods.size() > 1)
    for (const std::string& pod : pods)
      if (!pod.empty()) out.push_back("uplinks of pod " + pod);
  if (centers.size() > 1)
    for (const std::string& center : centers)
      if (!center.empty()) out.push_back("uplinks of data center " + center);
  sort_rows(out);
  return out;
}

Cut cut_in_half(const std::vector<IsolateHost>& hosts, const HostSet& set) {
  const std::size_t all = set.size();
  const std::size_t most = std::size_t{1} << (halving_rounds(all) - 1);
  std::vector<std::string> centers, pods, tors;
  for (const std::size_t h : set) {
    centers.push_back(hosts[h].center);
    pods.push_back(hosts[h].pod);
    tors.push_back(tor_key(hosts[h]));
  }
  const auto of_pods = bundles_by(set, pods);
  std::optional<Cut> best;
  std::size_t fewest = 0;
  // True when it is good enough to stop: no shared link.
  const auto consider = [&](std::optional<HostSet> first) {
    if (!first) return false;
    Cut cut = described(hosts, set, std::move(*first));
    const std::size_t shared = shared_links(hosts, cut);
    if (!best || shared < fewest) {
      best = std::move(cut);
      fewest = shared;
    }
    return fewest == 0;
  };
  if (centers_of(hosts, set).size() > 1 && consider(choose(bundles_by(set, centers), all, most)))
    return *best;
  if (consider(choose(of_pods, all, most))) return *best;
  // Through one pod, along its ToR groups: the largest pods first, where the line is needed most.
  std::vector<std::size_t> order(of_pods.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  sort_rows(order, [&](std::size_t a, std::size_t b) {
    return of_pods[a].hosts.size() > of_pods[b].hosts.size();
  });
  for (std::size_t i = 0; i < order.size() && i < kMostTried; ++i) {
    std::vector<std::string> keys;
    for (std::size_t j = 0; j < all; ++j)
      keys.push_back(pods[j] == of_pods[order[i]].key ? "t" + tors[j] : "p" + pods[j]);
    if (consider(choose(bundles_by(set, keys), all, most))) return *best;
  }
  if (consider(choose(bundles_by(set, tors), all, most))) return *best;
  // Through a ToR group. Hosts of one group stand together, so that one group is cut at most.
  HostSet sorted;
  for (const Bundle& pod : of_pods) {
    std::vector<std::string> keys;
    for (const std::size_t h : pod.hosts) keys.push_back(tor_key(hosts[h]));
    for (const Bundle& tor : bundles_by(pod.hosts, keys))
      sorted.insert(sorted.end(), tor.hosts.begin(), tor.hosts.end());
  }
  HostSet first(sorted.begin(), sorted.begin() + static_cast<std::ptrdiff_t>((all + 1) / 2));
  sort_rows(first);
  consider(std::move(first));
  return *best;
}

Result<IsolateState> start_isolation(std::vector<IsolateHost> hosts, std::size_t smallest) {
  if (hosts.empty()) return usage_error("there are no hosts to look among");
  if (hosts.size() > kMostIsolated)
    return usage_error(fmt::format("{} hosts are more than {}", hosts.size(), kMostIsolated));
  std::set<std::string> seen;
  for (const IsolateHost& host : hosts) {
    if (host.name.empty()) return usage_error("a host has no name");
    if (!seen.insert(host.name).second)
      return usage_error(fmt::format("host {} is named twice", host.name));
  }
  IsolateState out{.hosts = std::move(hosts), .smallest = std::max<std::size_t>(1, smallest)};
  IsolateSet all;
  for (std::size_t i = 0; i < out.hosts.size(); ++i) all.hosts.push_back(i);
  out.active.push_back(std::move(all));
  return out;
}

std::vector<IsolateTest> tests_of(const IsolateState& state) {
  std::vector<IsolateTest> out;
  for (std::size_t s = 0; s < state.active.size(); ++s) {
    const IsolateSet& set = state.active[s];
    if (set.hosts.size() == 1) {
      out.push_back(
          {set.name.empty() ? "confirm" : set.name + ".confirm", s, set.hosts, {}, 0, false});
    } else {
      Cut cut = cut_in_half(state.hosts, set.hosts);
      out.push_back({set.name + "A", s, std::move(cut.first), {}, 0, false});
      out.push_back({set.name + "B", s, std::move(cut.second), {}, 0, false});
    }
  }
  // Fillers as near as possible, so that they bring no new links: the same ToR group, the same pod,
  // then anybody.
  std::vector<bool> used(state.hosts.size(), false);
  for (IsolateTest& test : out) {
    const std::size_t wanted =
        std::max<std::size_t>(state.smallest, test.name.ends_with("confirm") ? 2 : 1);
    const IsolateHost& near = state.hosts[test.hosts.front()];
    for (int distance = 0; distance < 4 && test.hosts.size() + test.fillers.size() < wanted;
         ++distance)
      for (const std::size_t h : state.cleared) {
        if (test.hosts.size() + test.fillers.size() >= wanted) break;
        const IsolateHost& host = state.hosts[h];
        const int away = tor_key(host) == tor_key(near) ? 0
                         : host.pod == near.pod         ? 1
                         : host.center == near.center   ? 2
                                                        : 3;
        if (used[h] || away != distance) continue;
        used[h] = true;
        test.fillers.push_back(h);
      }
    sort_rows(test.fillers);
    test.short_of_hosts = test.hosts.size() + test.fillers.size() < state.smallest;
  }
  std::vector<std::vector<std::string>> busy;  // links, by wave
  for (IsolateTest& test : out) {
    HostSet everybody = test.hosts;
    everybody.insert(everybody.end(), test.fillers.begin(), test.fillers.end());
    const auto links = links_used(state.hosts, everybody);
    while (static_cast<std::size_t>(test.wave) < busy.size() &&
           overlap(busy[static_cast<std::size_t>(test.wave)], links))
      ++test.wave;
    if (static_cast<std::size_t>(test.wave) == busy.size()) busy.emplace_back();
    auto& wave = busy[static_cast<std::size_t>(test.wave)];
    wave.insert(wave.end(), links.begin(), links.end());
    sort_rows(wave);
  }
  return out;
}

Result<IsolateState> step(const IsolateState& state, const std::map<std::string, bool>& failed) {
  const auto tests = tests_of(state);
  std::vector<std::string> names, missing;
  for (const IsolateTest& test : tests) {
    names.push_back(test.name);
    if (failed.count(test.name) == 0) missing.push_back(test.name);
  }
  for (const auto& [name, outcome] : failed)
    if (!contains(names, name))
      return usage_error(fmt::format("round {} has no test '{}'", state.round, name))
          .hint(fmt::format("its tests are {}", fmt::join(names, ", ")));
  if (!missing.empty())
    return usage_error(fmt::format("round {} needs the outcome of {} too", state.round,
                                   fmt::join(missing, ", ")))
        .hint("--outcome NAME=pass or NAME=fail, each once");

  IsolateState out = state;
  out.active.clear();
  ++out.round;
  for (const IsolateTest& test : tests)
    out.history.push_back({state.round, test.name, failed.at(test.name), test.hosts.size()});
  for (std::size_t t = 0; t < tests.size(); ++t) {
    const IsolateSet& set = state.active[tests[t].set];
    if (set.hosts.size() == 1) {
      if (failed.at(tests[t].name))
        out.faulty.push_back(set.hosts[0]);
      else
        out.clues.push_back({set.name,
                             set.hosts,
                             {},
                             fmt::format("{} failed in its half and passed alone: the fault does "
                                         "not always show, or it needs a host that was with it",
                                         state.hosts[set.hosts[0]].name)});
      continue;
    }
    const IsolateTest &a = tests[t], &b = tests[t + 1];
    ++t;
    if (!failed.at(a.name) && !failed.at(b.name)) {
      const Cut cut = cut_in_half(state.hosts, set.hosts);
      out.clues.push_back(
          {set.name, set.hosts, cut.between,
           fmt::format("{} fails as a whole and in neither half: the hosts are not at fault each "
                       "by itself. Suspect what only the whole uses: {}",
                       set.name.empty() ? "the job" : set.name, fmt::join(cut.between, ", "))});
      continue;
    }
    for (const IsolateTest* half : {&a, &b}) {
      if (failed.at(half->name))
        out.active.push_back({half->name, half->hosts});
      else
        out.cleared.insert(out.cleared.end(), half->hosts.begin(), half->hosts.end());
    }
  }
  sort_rows(out.cleared);
  sort_rows(out.faulty);
  return out;
}

}  // namespace culprit::plan
