// Precision and recall of blaming hosts and links by the times of transfers: each link for itself
// (over 1.1 of the median), hosts most of whose links are slow, and the least squares.
//   link_accuracy [SEEDS] [-v]
#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <map>
#include <numeric>
#include <random>
#include <set>
#include <string>
#include <string_view>

#include <fmt/format.h>

#include "plan/link_times.hpp"
#include "plan/links.hpp"

namespace {

using namespace culprit::plan;

struct Random {  // the library's distributions differ from one standard library to the next
  std::mt19937_64 engine;
  double uniform() { return static_cast<double>(engine() >> 11) * 0x1p-53; }
  double normal() {
    double sum = -6;
    for (int i = 0; i < 12; ++i) sum += uniform();
    return sum;
  }
  std::size_t below(std::size_t n) { return engine() % n; }
};

enum class Shape { ring, ring_and_trees, all };
struct Case {
  const char* name;
  Shape shape;
  std::size_t hosts, slow_hosts, slow_links;
  double factor, noise;
  bool heavy = false;  // one transfer in fifty is late by chance
  bool sends = false;  // only what the slow host sends is slow
  double spread = 0;   // of healthy hosts
};

double middle(std::vector<double> v) {
  std::sort(v.begin(), v.end());
  return v[v.size() / 2];
}

struct Count {
  std::size_t right = 0, wrong = 0, missed = 0;
};

}  // namespace

int main(int argc, char** argv) {
  std::uint64_t seeds = 50;
  bool verbose = false;
  for (int i = 1; i < argc; ++i)
    if (std::string_view(argv[i]) == "-v")
      verbose = true;
    else
      seeds = std::strtoull(argv[i], nullptr, 10);
  const Case cases[] = {
      {"ring, a slow link", Shape::ring, 24, 0, 1, 1.5, 0.03},
      {"ring, a slow host", Shape::ring, 24, 1, 0, 1.5, 0.03},
      {"ring and trees, a slow link", Shape::ring_and_trees, 24, 0, 1, 1.4, 0.03},
      {"ring and trees, a slow host", Shape::ring_and_trees, 24, 1, 0, 1.4, 0.03},
      {"ring and trees, two hosts, two links", Shape::ring_and_trees, 64, 2, 2, 1.4, 0.03},
      {"ring and trees, 20 %, noise 5 %", Shape::ring_and_trees, 48, 1, 1, 1.2, 0.05},
      {"ring and trees, nothing", Shape::ring_and_trees, 48, 0, 0, 1, 0.05},
      {"ring and trees, late by chance", Shape::ring_and_trees, 48, 1, 0, 1.4, 0.03, true},
      {"all pairs, a slow link", Shape::all, 16, 0, 1, 1.4, 0.05},
      {"all pairs, a slow host", Shape::all, 16, 1, 0, 1.2, 0.05},
      {"all pairs, a slow sender", Shape::all, 16, 1, 0, 1.3, 0.05, false, true},
      {"all pairs, hosts differ by 5 %", Shape::all, 16, 0, 0, 1, 0.03, false, false, 0.05},
      {"all pairs, nothing, noise 10 %", Shape::all, 24, 0, 0, 1, 0.1},
      {"all pairs, two hosts and three links", Shape::all, 32, 2, 3, 1.3, 0.05},
  };
  std::map<std::string, Count> total;
  for (const Case& c : cases) {
    std::map<std::string, Count> here;
    for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
      Random random{std::mt19937_64(seed * 1000003 + c.hosts)};
      std::set<Link> links;
      const auto add = [&](const std::vector<Pass>& passes) {
        for (const Pass& p : passes) links.insert(p.links.begin(), p.links.end());
      };
      if (c.shape == Shape::all)
        for (std::size_t a = 0; a < c.hosts; ++a)
          for (std::size_t b = 0; b < c.hosts; ++b)
            if (a != b) links.insert({a, b});
      if (c.shape != Shape::all) add(ring_passes(c.hosts));
      if (c.shape == Shape::ring_and_trees)
        for (const auto& tree : double_binary_tree(c.hosts)) add(*tree_passes(tree));
      const std::vector<Link> list(links.begin(), links.end());
      std::set<std::size_t> hosts;
      while (hosts.size() < c.slow_hosts) hosts.insert(random.below(c.hosts));
      std::set<Link> slow;
      while (slow.size() < c.slow_links) {
        const Link l = list[random.below(list.size())];
        if (!hosts.contains(l.from) && !hosts.contains(l.to)) slow.insert(l);
      }
      std::vector<double> own(c.hosts);
      for (double& o : own) o = std::exp(c.spread / 2 * random.normal());
      std::vector<LinkTime> times;
      for (const Link& l : list) {
        double t = 10 * own[l.from] * own[l.to];
        if (hosts.contains(l.from) || (!c.sends && hosts.contains(l.to))) t *= c.factor;
        if (slow.contains(l)) t *= c.factor;
        t *= std::exp(c.noise * random.normal());
        if (c.heavy && random.below(50) == 0) t *= 1.6;
        times.push_back({l.from, l.to, t});
      }
      std::set<std::string> truth;
      for (const std::size_t h : hosts) truth.insert(fmt::format("h{}", h));
      for (const Link& l : slow) truth.insert(fmt::format("{}-{}", l.from, l.to));
      const auto score = [&](const char* rule, const std::set<std::string>& named) {
        for (const auto& n : named) ++(truth.contains(n) ? here[rule].right : here[rule].wrong);
        for (const auto& t : truth) here[rule].missed += !named.contains(t);
      };
      std::vector<double> values;
      for (const LinkTime& t : times) values.push_back(t.time);
      const double usual = middle(values);
      std::set<std::string> each, most;
      std::vector<std::size_t> of(c.hosts), late(c.hosts);
      for (const LinkTime& t : times) {
        const bool is = t.time > 1.1 * usual;
        ++of[t.from], ++of[t.to];
        late[t.from] += is, late[t.to] += is;
        if (is) each.insert(fmt::format("{}-{}", t.from, t.to));
      }
      for (std::size_t h = 0; h < c.hosts; ++h)
        if (3 * late[h] > 2 * of[h]) most.insert(fmt::format("h{}", h));
      for (const LinkTime& t : times)
        if (t.time > 1.1 * usual && !most.contains(fmt::format("h{}", t.from)) &&
            !most.contains(fmt::format("h{}", t.to)))
          most.insert(fmt::format("{}-{}", t.from, t.to));
      std::set<std::string> fitted;
      const LinkTimes answer = attribute_link_times(times, c.hosts);
      for (const SlowEnd& h : answer.hosts) fitted.insert(fmt::format("h{}", h.host));
      for (const SlowLink& l : answer.links) fitted.insert(fmt::format("{}-{}", l.from, l.to));
      score("1 each link over 1.1 x median", each);
      score("2 hosts with two thirds slow, then links", most);
      score("3 least squares", fitted);
    }
    for (const auto& [rule, n] : here) {
      total[rule].right += n.right;
      total[rule].wrong += n.wrong;
      total[rule].missed += n.missed;
      if (verbose && n.wrong + n.missed > 0)
        fmt::print("  {:<40} {:<44} {:5} right {:5} wrong {:5} missed\n", c.name, rule, n.right,
                   n.wrong, n.missed);
    }
  }
  for (const auto& [rule, n] : total)
    fmt::print("{:<44} precision {:.3f}  recall {:.3f}   ({} right, {} wrong, {} missed)\n", rule,
               static_cast<double>(n.right) /
                   static_cast<double>(std::max<std::size_t>(1, n.right + n.wrong)),
               static_cast<double>(n.right) /
                   static_cast<double>(std::max<std::size_t>(1, n.right + n.missed)),
               n.right, n.wrong, n.missed);
}
