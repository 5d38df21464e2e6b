#include "analyze/metrics/group_compare.hpp"

#include <algorithm>
#include <tuple>
#include <cmath>

#include "analyze/metrics/crowd.hpp"
#include "model/phrases.hpp"
#include "model/sort.hpp"

namespace culprit::analyze {

namespace {

using Against = GroupCluster::Against;

void compare(std::vector<const GroupTime*> members, const GroupCompareParams& params,
             GroupComparison& out) {
  GroupCluster cluster;
  cluster.kind = members[0]->kind;
  std::vector<double> volumes, times;
  for (const GroupTime* g : members) {
    cluster.groups.push_back(g->name);
    volumes.push_back(g->volume);
    times.push_back(g->time);
  }
  sort_rows(cluster.groups);
  cluster.volume = median_in_place(volumes);
  const double fastest = *std::ranges::min_element(times);
  const auto slow = [&](const GroupTime& g, double reference, Against against) {
    if (g.time > reference * params.factor)
      out.slow.push_back({g.name, g.kind, g.time, reference, g.time / reference, against});
  };
  const auto by_past = [&](const Text& why) {
    std::size_t known = 0;
    for (const GroupTime* g : members)
      if (g->past && std::isfinite(*g->past) && *g->past > 0) {
        ++known;
        slow(*g, *g->past, Against::past);
      }
    cluster.against = known > 0 ? Against::past : Against::nothing;
    if (known < members.size())
      cluster.why =
          known == 0 ? say(Phrase::no_past_times, why)
                     : say(Phrase::some_without_past, why, members.size() - known, members.size());
  };
  if (members.size() == 1) {
    by_past(say(Phrase::no_other_group));
  } else if (members.size() == 2) {
    cluster.against = Against::faster;
    cluster.reference = fastest;
    for (const GroupTime* g : members) slow(*g, fastest, Against::faster);
  } else {
    const double median = median_in_place(times);
    // Slow ones within the median hide themselves. Of those that are well, half at least lie within
    // the factor of the fastest.
    std::size_t far = 0;
    for (const GroupTime* g : members) far += g->time > fastest * params.factor;
    if (2 * far >= members.size() && median > fastest * params.factor) {
      by_past(say(Phrase::median_no_reference, far, members.size(), 100 * (params.factor - 1)));
      // Who stands out even against that median is slow whatever the reference.
      if (cluster.against == Against::nothing)
        for (const GroupTime* g : members) slow(*g, median, Against::median);
    } else {
      cluster.against = Against::median;
      cluster.reference = median;
      for (const GroupTime* g : members) slow(*g, median, Against::median);
    }
  }
  out.clusters.push_back(std::move(cluster));
}

}  // namespace

GroupComparison compare_groups(std::span<const GroupTime> groups,
                               const GroupCompareParams& params) {
  GroupComparison out;
  std::vector<const GroupTime*> usable;
  for (const GroupTime& g : groups) {
    if (std::isfinite(g.time) && std::isfinite(g.volume) && g.time > 0 && g.volume > 0)
      usable.push_back(&g);
    else
      out.unusable.push_back(g.name);
  }
  sort_rows(out.unusable);
  sort_by(usable,
          [](const GroupTime* g) { return std::tie(g->kind, g->volume, g->name, g->time); });
  for (std::size_t first = 0, last = 0; first < usable.size(); first = last) {
    // From the smallest of a cluster on, so that a chain of small steps does not join what is not
    // equal.
    while (last < usable.size() && usable[last]->kind == usable[first]->kind &&
           usable[last]->volume <= usable[first]->volume * (1 + params.volume_tolerance))
      ++last;
    compare({usable.begin() + static_cast<std::ptrdiff_t>(first),
             usable.begin() + static_cast<std::ptrdiff_t>(last)},
            params, out);
  }
  sort_rows(out.slow, [](const SlowGroup& a, const SlowGroup& b) {
    return a.factor != b.factor ? a.factor > b.factor : a.name < b.name;
  });
  return out;
}

}  // namespace culprit::analyze
