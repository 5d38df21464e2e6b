#include "shape.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "analyze/facts/topology.hpp"
#include "model/number.hpp"
#include "model/ranges.hpp"
#include "model/sort.hpp"

namespace culprit::cli {

std::int64_t JobShape::size(std::string_view dimension) const {
  for (const auto& d : shape.dimensions)
    if (d.name == dimension) return d.size;
  return 1;
}

std::string JobShape::name_of_host(std::int32_t number) const {
  const auto h = static_cast<std::size_t>(number);
  return h < hosts.size() ? hosts[h] : fmt::format("host{}", h);
}

std::string JobShape::host_of(Rank rank) const {
  return name_of_host(shape.host.empty() ? static_cast<std::int32_t>(number_of(rank))
                                         : shape.host[index_of(rank)]);
}

std::string JobShape::place_of(Rank rank) const {
  std::string out;
  for (std::size_t d = 0; d < shape.dimensions.size(); ++d)
    if (shape.dimensions[d].size > 1)
      out += fmt::format("{}{}{}", out.empty() ? "" : " ", shape.dimensions[d].name,
                         shape.coordinate(rank, d));
  return out.empty() ? "alone" : out;
}

std::optional<std::int32_t> JobShape::number_of_host(const std::string& name) const {
  for (std::int64_t r = 0; r < shape.ranks(); ++r)
    if (host_of(Rank(r)) == name)
      return shape.host.empty() ? static_cast<std::int32_t>(r)
                                : shape.host[static_cast<std::size_t>(r)];
  return std::nullopt;
}

namespace {

// The host of each rank, as a number in `names`; nothing unless all are known.
struct RankPlaces {
  std::vector<std::string> names;
  std::vector<std::int32_t> host;
};

std::optional<RankPlaces> places_of(const analyze::Topology& topology, std::int64_t ranks) {
  RankPlaces out;
  for (const auto& [rank, name] : topology.host_of) out.names.push_back(name);
  sort_unique(out.names);
  for (std::int64_t r = 0; r < ranks; ++r) {
    const auto at = topology.host_of.find(Rank(r));
    if (at == topology.host_of.end()) return std::nullopt;
    out.host.push_back(static_cast<std::int32_t>(
        std::ranges::lower_bound(out.names, std::string(at->second)) - out.names.begin()));
  }
  return out;
}

}  // namespace

void place(const analyze::Topology& topology, JobShape& job) {
  auto places = places_of(topology, job.shape.ranks());
  if (!places) return;
  job.shape.host = std::move(places->host);
  job.hosts = std::move(places->names);
  job.source = "as given, placed as in the incident";
}

Result<JobShape> job_shape(const PlanInput& input, const Arguments& arguments,
                           const PlanIncident* open) {
  JobShape out;
  constexpr std::int64_t kMost = 1 << 24;
  std::vector<plan::Dimension> sizes{{"tp", 1}, {"cp", 1}, {"ep", 1}, {"dp", 1}, {"pp", 1}};
  std::string order = "tp-cp-dp-pp";
  std::vector<std::int32_t> host;
  bool flags = false;
  for (const char* name : {"tp", "pp", "dp", "cp"}) flags = flags || input.has(name);
  std::optional<std::int64_t> known_gpus;
  if (names_plan_incident(arguments) && !flags) {
    std::optional<PlanIncident> named;
    if (open == nullptr) {
      CULPRIT_TRY(opened, open_plan_incident(arguments));
      open = &named.emplace(std::move(opened));
    }
    const PlanIncident& incident = *open;
    const analyze::Facts& facts = incident.resolved.facts;
    const auto machines = static_cast<std::int64_t>(facts.hosts.size());
    if (machines > 0 && facts.world_size > 0 && facts.world_size % machines == 0)
      known_gpus = facts.world_size / machines;
    if (facts.manifest && facts.manifest->gpus_per_node) known_gpus = facts.manifest->gpus_per_node;
    const analyze::Topology& topology = incident.resolved.topology;
    if (!topology.layout)
      return usage_error("the incident does not say the parallel layout of the job")
          .at({incident.path, 0})
          .hint(
              "give --tp, --pp and --dp; a manifest or flight-recorder dumps in the bundle would "
              "have supplied them");
    const analyze::Layout& l = *topology.layout;
    sizes = {{"tp", l.tp}, {"cp", l.cp}, {"ep", 1}, {"dp", l.dp}, {"pp", l.pp}};
    order = l.order;
    out.ep = l.ep;
    out.source = topology.source;
    // Sizes come from files of the bundle: their product is taken once they are known to be sane.
    CULPRIT_TRY(sane, plan::make_shape(order, sizes, 1));
    const std::int64_t ranks = sane.ranks();
    if (auto places = places_of(topology, ranks)) {
      host = std::move(places->host);
      out.hosts = std::move(places->names);
    } else {
      out.source += "; which host a rank is on is not known, so they are taken in order";
    }
  } else if (!flags) {
    return usage_error("this plan needs the shape of the job")
        .hint("--tp 8 --pp 4 --dp 16, or -d incident.db");
  } else {
    out.source = "as given";
    for (plan::Dimension& d : sizes) {
      if (d.name == "ep") continue;
      CULPRIT_TRY(size, input.integer(d.name, 1, 1, kMost));
      d.size = size;
    }
  }
  CULPRIT_TRY(wanted, input.text("order", order));
  CULPRIT_TRY(per_host, input.integer("gpus-per-host", known_gpus.value_or(8), 1, kMost));
  CULPRIT_TRY(shape, plan::make_shape(wanted, sizes, per_host));
  out.shape = std::move(shape);
  const bool placed = !host.empty() && !input.has("gpus-per-host");
  if (placed)
    out.shape.host = std::move(host);
  else
    out.hosts.clear();
  if (!placed && !input.has("gpus-per-host") && !known_gpus)
    out.source += "; 8 GPUs a host are assumed (--gpus-per-host)";
  return out;
}

Result<std::vector<Rank>> ranks_named(const PlanInput& input, const std::string& option,
                                      const JobShape& job) {
  std::vector<Rank> out;
  const std::int64_t ranks = job.shape.ranks();
  CULPRIT_TRY(words, input.names(option, 1u << 20));
  // A variable of a script that is empty would otherwise get the answer to another question.
  if (words.empty() && input.has(option))
    return input.complaint(option, "names no rank")
        .hint("ranks are numbers, groups are written as pp/3, hosts by their name or as host3");
  for (const std::string& word : words) {
    if (!word.empty() && word.find_first_not_of("0123456789-") == std::string::npos) {
      const auto some = from_ranges(word, 1u << 24);
      if (some.empty() || !is_rank_of(ranks, some.back()))
        return input
            .complaint(option,
                       fmt::format("names rank {}, but the job has ranks 0 to {}", word, ranks - 1))
            .hint("ranks are counted over the whole job, from 0");
      out.insert(out.end(), some.begin(), some.end());
      continue;
    }
    const std::size_t before = out.size();
    if (const std::size_t slash = word.find('/'); slash != std::string::npos) {
      // Groups are numbered by their first rank, as parallel_groups() does.
      std::int64_t wanted = -1, stride = 1;
      const bool numbered = parse_whole(std::string_view(word).substr(slash + 1), wanted);
      for (const plan::Dimension& d : job.shape.dimensions) {
        if (d.name == word.substr(0, slash) && numbered && wanted >= 0 && wanted < ranks / d.size)
          for (std::int64_t i = 0; i < d.size; ++i)
            out.push_back(Rank(wanted / stride * stride * d.size + wanted % stride + i * stride));
        stride *= d.size;
      }
    } else {
      for (std::int64_t r = 0; r < ranks; ++r)
        if (job.host_of(Rank(r)) == word) out.push_back(Rank(r));
    }
    if (out.size() == before)
      return input
          .complaint(option,
                     fmt::format("names '{}', which is not a rank, host or group of the job", word))
          .hint("ranks are numbers, groups are written as pp/3, hosts by their name or as host3");
  }
  sort_unique(out);
  return out;
}

}  // namespace culprit::cli
