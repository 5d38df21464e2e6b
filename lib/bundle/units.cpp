// Lists the units of a bundle by a walk that opens none of them, and divides them among shards.
#include "bundle/units.hpp"

#include <algorithm>
#include <numeric>
#include <queue>
#include <tuple>

namespace culprit::bundle {
namespace {

// To open a file takes as long as to read so many bytes of it: a hundred thousand small files are
// no light load.
constexpr std::uint64_t kOpenBytes = 32 << 10;

class Lister final : public Visitor {
 public:
  explicit Lister(Listing& listing) : listing_(listing) {}
  bool unit(const Unit& unit) override {
    listing_.units.push_back(unit);
    return false;
  }
  void counted(std::uint64_t entries) override { listing_.entries = entries; }
  void problem(const Problem& problem) override {
    ++listing_.problems;
    listing_.cut = listing_.cut || problem.code == "bundle.too_many_members";
    listing_.told += problem.path + '\0' + problem.code + '\0' + problem.reason + '\0';
  }
  void own(const std::string& path) override { listing_.told += path + '\0'; }
  bool begin(const MemberHead&) override { return false; }
  void data(std::string_view) override {}
  void end(const MemberEnd&) override {}
  void note(const MemberHead&) override {}

 private:
  Listing& listing_;
};

}  // namespace

Result<Listing> list_units(const std::string& path, const Limits& limits) {
  Listing listing;
  Lister lister(listing);
  CULPRIT_CHECK(walk(path, limits, lister));
  return listing;
}

std::vector<std::uint32_t> divide(std::span<const Unit> units, std::uint32_t shards) {
  std::vector<std::size_t> order(units.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::sort(order, [&](std::size_t a, std::size_t b) {
    return std::tie(units[b].size, units[a].path, a) < std::tie(units[a].size, units[b].path, b);
  });
  using Load = std::pair<std::uint64_t, std::uint32_t>;  // bytes, shard
  std::priority_queue<Load, std::vector<Load>, std::greater<>> loads;
  for (std::uint32_t shard = 0; shard < shards; ++shard) loads.emplace(0, shard);
  std::vector<std::uint32_t> out(units.size());
  for (const std::size_t i : order) {
    const auto [load, shard] = loads.top();
    loads.pop();
    out[i] = shard;
    loads.emplace(load + units[i].size + kOpenBytes, shard);
  }
  return out;
}

}  // namespace culprit::bundle
