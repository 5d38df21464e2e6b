#include "plan/zones.hpp"

#include <algorithm>
#include <map>
#include <numeric>
#include <set>
#include <tuple>

#include <fmt/format.h>

#include "model/sort.hpp"

namespace culprit::plan {

namespace {

constexpr std::int32_t kNoHost = -1;

struct SeatedHosts {
  const Shape& shape;
  std::int32_t of(std::int64_t rank) const {
    return shape.host.empty() ? static_cast<std::int32_t>(rank)
                              : shape.host[static_cast<std::size_t>(rank)];
  }
  std::size_t count() const {
    if (shape.host.empty()) return static_cast<std::size_t>(shape.ranks());
    return static_cast<std::size_t>(*std::ranges::max_element(shape.host)) + 1;
  }
};

// What the members of a group have in common so far.
struct InCommon {
  std::int32_t host = kNoHost;
  Reach reach = Reach::host;
  void add(std::int32_t other, std::span<const HostPlace> places) {
    if (host == kNoHost) host = other;
    if (other == host) return;
    const HostPlace& a = places[static_cast<std::size_t>(host)];
    const HostPlace& b = places[static_cast<std::size_t>(other)];
    const Reach apart = !a.rack.empty() && a.rack == b.rack && a.zone == b.zone ? Reach::rack
                        : a.zone == b.zone && a.center == b.center              ? Reach::zone
                        : a.center == b.center                                  ? Reach::center
                                                                                : Reach::beyond;
    reach = std::max(reach, apart);
  }
};

struct Axes {
  std::size_t dp = 0;
  bool has_dp = false;
};

Axes axes_of(const Shape& shape) {
  for (std::size_t d = 0; d < shape.dimensions.size(); ++d)
    if (shape.dimensions[d].name == "dp" && shape.dimensions[d].size > 1) return {d, true};
  return {};
}

std::vector<DimensionReach> reaches(const Shape& shape, const std::vector<std::int32_t>& order,
                                    std::span<const HostPlace> places) {
  const SeatedHosts hosts{shape};
  const auto at = [&](std::int64_t rank) {
    return order[static_cast<std::size_t>(hosts.of(rank))];
  };
  std::vector<DimensionReach> out;
  const auto count = [&](const std::string& name, const std::vector<InCommon>& groups) {
    DimensionReach one{name, {}};
    for (const InCommon& group : groups) ++one.groups[static_cast<std::size_t>(group.reach)];
    out.push_back(std::move(one));
  };
  const std::int64_t ranks = shape.ranks();
  std::int64_t stride = 1;
  for (const Dimension& d : shape.dimensions) {
    if (d.size > 1) {
      std::vector<InCommon> groups(static_cast<std::size_t>(ranks / d.size));
      for (std::int64_t r = 0; r < ranks; ++r)
        groups[static_cast<std::size_t>(r / (stride * d.size) * stride + r % stride)].add(at(r),
                                                                                          places);
      count(d.name, groups);
    }
    stride *= d.size;
  }
  if (const Axes axes = axes_of(shape); axes.has_dp) {
    std::vector<InCommon> groups(static_cast<std::size_t>(shape.dimensions[axes.dp].size));
    for (std::int64_t r = 0; r < ranks; ++r)
      groups[static_cast<std::size_t>(shape.coordinate(Rank(r), axes.dp))].add(at(r), places);
    count("replica", groups);
  }
  return out;
}

// Hosts of replicas that share some: sorted, by their first host.
std::vector<std::vector<std::int32_t>> units_of(const Shape& shape) {
  const SeatedHosts hosts{shape};
  std::vector<std::int32_t> root(hosts.count());
  std::iota(root.begin(), root.end(), 0);
  const auto find = [&](std::int32_t h) {
    while (root[static_cast<std::size_t>(h)] != h)
      h = root[static_cast<std::size_t>(h)] =
          root[static_cast<std::size_t>(root[static_cast<std::size_t>(h)])];
    return h;
  };
  const Axes axes = axes_of(shape);
  std::map<std::int64_t, std::int32_t> first;  // of a replica
  std::set<std::int32_t> used;
  for (std::int64_t r = 0; r < shape.ranks(); ++r) {
    const std::int32_t host = hosts.of(r);
    used.insert(host);
    const std::int64_t replica = axes.has_dp ? shape.coordinate(Rank(r), axes.dp) : 0;
    const auto [at, fresh] = first.try_emplace(replica, host);
    const std::int32_t a = find(at->second), b = find(host);
    root[static_cast<std::size_t>(std::max(a, b))] = std::min(a, b);
  }
  std::map<std::int32_t, std::vector<std::int32_t>> units;
  for (const std::int32_t host : used) units[find(host)].push_back(host);
  std::vector<std::vector<std::int32_t>> out;
  for (auto& [lead, members] : units) out.push_back(std::move(members));
  return out;
}

using ZoneName = std::pair<std::string, std::string>;  // data center, zone

// Where each unit goes; nothing: no zone has room for it.
std::vector<const ZoneName*> zones_of(const std::vector<std::vector<std::int32_t>>& units,
                                      const std::vector<ZoneName>& zone_of_host) {
  std::map<ZoneName, std::size_t> room;
  for (const auto& unit : units)
    for (const std::int32_t host : unit) ++room[zone_of_host[static_cast<std::size_t>(host)]];
  struct Wish {
    std::size_t unit = 0, size = 0;
    std::map<ZoneName, std::size_t> here;
  };
  std::vector<Wish> wishes;
  for (std::size_t u = 0; u < units.size(); ++u) {
    Wish one{u, units[u].size(), {}};
    for (const std::int32_t host : units[u])
      ++one.here[zone_of_host[static_cast<std::size_t>(host)]];
    wishes.push_back(std::move(one));
  }
  sort_by(wishes, [](const Wish& w) { return std::tuple(w.here.size() > 1, ~w.size, w.unit); });
  std::vector<const ZoneName*> out(units.size(), nullptr);
  for (const Wish& wish : wishes) {
    std::tuple<std::size_t, std::size_t> best{};  // hosts that stay; the less room, the better
    for (auto& [zone, free] : room) {
      if (free < wish.size) continue;
      const auto here = wish.here.find(zone);
      const std::tuple score{here == wish.here.end() ? 0 : here->second, ~free};
      if (out[wish.unit] == nullptr || score > best) best = score, out[wish.unit] = &zone;
    }
    if (out[wish.unit] != nullptr) room[*out[wish.unit]] -= wish.size;
  }
  // The names are those of the hosts, which stay.
  for (const ZoneName*& zone : out)
    if (zone != nullptr) zone = &*std::ranges::find(zone_of_host, *zone);
  return out;
}

std::int64_t crossing(const std::vector<DimensionReach>& all) {
  if (all.empty() || all.back().dimension != "replica") return 0;
  return all.back().groups[static_cast<std::size_t>(Reach::center)] +
         all.back().groups[static_cast<std::size_t>(Reach::beyond)];
}

}  // namespace

Result<ZonePlan> plan_zones(const Shape& shape, std::span<const HostPlace> places) {
  const std::size_t hosts = SeatedHosts{shape}.count();
  if (places.size() < hosts)
    return usage_error(
        fmt::format("the job has {} hosts, of which {} have a place", hosts, places.size()));
  std::vector<ZoneName> zone_of_host;
  for (std::size_t h = 0; h < hosts; ++h) {
    if (places[h].zone.empty())
      return usage_error(fmt::format("host {} of the job is in no zone", h));
    zone_of_host.emplace_back(places[h].center, places[h].zone);
  }
  const auto units = units_of(shape);
  const auto zones = zones_of(units, zone_of_host);
  ZonePlan out;
  out.order.assign(hosts, kNoHost);
  std::vector<bool> taken(hosts, false);
  for (std::size_t u = 0; u < units.size(); ++u)
    for (const std::int32_t seat : units[u]) {
      const auto h = static_cast<std::size_t>(seat);
      if (zones[u] == nullptr || zone_of_host[h] != *zones[u]) continue;
      out.order[h] = seat;
      taken[h] = true;
    }
  // Those that are left, near each other; hosts without ranks stay where they are.
  std::map<ZoneName, std::vector<std::int32_t>> free;
  for (const auto& unit : units)
    for (const std::int32_t host : unit)
      if (!taken[static_cast<std::size_t>(host)])
        free[zone_of_host[static_cast<std::size_t>(host)]].push_back(host);
  for (auto& [zone, list] : free)
    sort_by(list, [&](std::int32_t h) {
      return std::pair(places[static_cast<std::size_t>(h)].rack, -h);
    });
  const auto take = [&](const ZoneName* zone) {
    auto at = zone != nullptr ? free.find(*zone) : free.begin();
    while (at != free.end() && at->second.empty()) ++at;
    const std::int32_t host = at->second.back();
    at->second.pop_back();
    return host;
  };
  for (const bool placed : {true, false})
    for (std::size_t u = 0; u < units.size(); ++u)
      if ((zones[u] != nullptr) == placed)
        for (const std::int32_t seat : units[u])
          if (std::int32_t& host = out.order[static_cast<std::size_t>(seat)]; host == kNoHost)
            host = take(zones[u]);
  for (std::size_t h = 0; h < hosts; ++h) {
    if (out.order[h] == kNoHost) out.order[h] = static_cast<std::int32_t>(h);
    out.moved += out.order[h] != static_cast<std::int32_t>(h);
  }
  std::vector<std::int32_t> now(hosts);
  std::iota(now.begin(), now.end(), 0);
  out.before = reaches(shape, now, places);
  out.after = reaches(shape, out.order, places);
  out.crossing_before = crossing(out.before);
  out.crossing_after = crossing(out.after);
  if (const Axes axes = axes_of(shape); axes.has_dp) out.replicas = shape.dimensions[axes.dp].size;
  if (out.crossing_after < out.crossing_before) return out;
  // Nothing is gained.
  out.order = std::move(now);
  out.after = out.before;
  out.crossing_after = out.crossing_before;
  out.moved = 0;
  return out;
}

}  // namespace culprit::plan
