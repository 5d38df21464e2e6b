#include "analyze/facts/topology.hpp"

#include <algorithm>
#include <array>
#include <set>
#include <tuple>
#include <unordered_map>

#include <fmt/format.h>

#include "analyze/facts/host_files.hpp"
#include "analyze/facts/job_life.hpp"
#include "model/ascii.hpp"
#include "model/contains.hpp"
#include "model/hostlist.hpp"
#include "model/json.hpp"
#include "model/number.hpp"
#include "model/phrases.hpp"
#include "model/ranges.hpp"
#include "model/sort.hpp"
#include "model/word_list.hpp"

namespace culprit::analyze {

namespace {

// --- ranks and coordinates
// ------------------------------------------------------------------------------------------

constexpr std::int64_t kMostRanks = 1 << 19;  // several times the largest job there is; a hostile
                                              // manifest gets no more memory than that
constexpr const char* kDefaultOrder = "tp-cp-ep-dp-pp";

struct Axis {
  std::string_view name;
  std::int64_t size = 1, stride = 1;
};
using Axes = std::vector<Axis>;  // fastest first

// The product, or nothing when it is no size of a job.
std::optional<std::int64_t> product(std::initializer_list<std::int64_t> sizes) {
  std::int64_t out = 1;
  for (const std::int64_t size : sizes) {
    if (size < 1 || size > kMostRanks || out > kMostRanks / size) return std::nullopt;
    out *= size;
  }
  return out;
}

std::vector<std::string_view> dimensions_of(std::string_view order) {
  std::vector<std::string_view> out;
  for (std::size_t at = 0; at <= order.size();) {
    const std::size_t end = std::min(order.find('-', at), order.size());
    out.push_back(order.substr(at, end - at));
    at = end + 1;
  }
  return out;
}

// The order with the axes it leaves out at its end, where they must be of size 1. Nothing when it
// names an axis twice or one that does not exist.
std::optional<std::vector<std::string_view>> complete_order(const Layout& layout) {
  static constexpr std::array<std::string_view, 5> kAll{"tp", "cp", "ep", "dp", "pp"};
  const auto size = [&](std::string_view axis) {
    return axis == "tp"   ? layout.tp
           : axis == "cp" ? layout.cp
           : axis == "ep" ? layout.ep
           : axis == "dp" ? layout.dp
                          : layout.pp;
  };
  std::vector<std::string_view> out;
  for (const std::string_view word : dimensions_of(layout.order)) {
    const auto known = std::find(kAll.begin(), kAll.end(), word);
    if (known == kAll.end() || contains(out, word)) return std::nullopt;
    out.push_back(*known);
  }
  for (const std::string_view axis : kAll)
    if (!contains(out, axis)) {
      if (size(axis) != 1) return std::nullopt;
      out.push_back(axis);
    }
  return out;
}

void set_strides(Axes& axes) {
  std::int64_t stride = 1;
  for (Axis& axis : axes) {
    axis.stride = stride;
    stride *= axis.size;
  }
}

// Dense layers: no ep. `replicas` > 1 splits dp into the part that shards (faster) and the part
// that replicates.
std::optional<Axes> dense_axes(const Layout& layout, std::int64_t replicas = 1) {
  const auto order = complete_order(layout);
  if (!order || !product({layout.tp, layout.cp, layout.dp, layout.pp}) || replicas < 1 ||
      layout.dp % replicas != 0)
    return std::nullopt;
  Axes out;
  for (const std::string_view name : *order) {
    if (name == "tp") out.push_back({name, layout.tp, 1});
    if (name == "cp") out.push_back({name, layout.cp, 1});
    if (name == "pp") out.push_back({name, layout.pp, 1});
    if (name == "dp") {
      out.push_back({"dp_shard", layout.dp / replicas, 1});
      out.push_back({"dp_replicate", replicas, 1});
    }
  }
  set_strides(out);
  return out;
}

// Experts: the same order with cp as 1, their own tensor size, and what is left as their
// data-parallel size.
std::optional<Axes> expert_axes(const Layout& layout) {
  const auto order = complete_order(layout);
  const auto world = product({layout.tp, layout.cp, layout.dp, layout.pp});
  const auto model = product({layout.etp, layout.ep, layout.pp});
  if (!order || !world || !model || *world % *model != 0) return std::nullopt;
  Axes out;
  for (const std::string_view name : *order) {
    if (name == "tp") out.push_back({"etp", layout.etp, 1});
    if (name == "ep") out.push_back({name, layout.ep, 1});
    if (name == "dp") out.push_back({"edp", *world / *model, 1});
    if (name == "pp") out.push_back({name, layout.pp, 1});
  }
  set_strides(out);
  return out;
}

// What a dimension lets vary. Groups of a dimension are the ranks that agree on all other axes of
// their generator.
struct Dimension {
  std::string_view name;
  bool expert = false;
  std::vector<std::string_view> axes;
};

const std::vector<Dimension>& dimensions() {
  static const std::vector<Dimension> kDimensions{
      {"tp", false, {"tp"}},
      {"cp", false, {"cp"}},
      {"dp", false, {"dp_shard", "dp_replicate"}},
      {"pp", false, {"pp"}},
      {"etp", true, {"etp"}},
      {"ep", true, {"ep"}},
      {"edp", true, {"edp"}},
      {"mp", false, {"tp", "pp"}},
      // Of recorders only.
      {"dp_shard", false, {"dp_shard"}},
      {"dp_replicate", false, {"dp_replicate"}},
      {"dp_shard-cp", false, {"dp_shard", "cp"}},
      {"dp-cp", false, {"dp_shard", "dp_replicate", "cp"}},
      {"tp-cp", false, {"tp", "cp"}},
      {"tp-dp", false, {"tp", "dp_shard", "dp_replicate"}},
      {"tp-dp-cp", false, {"tp", "dp_shard", "dp_replicate", "cp"}},
      {"etp-ep", true, {"etp", "ep"}},
      {"etp-ep-pp", true, {"etp", "ep", "pp"}},
  };
  return kDimensions;
}
constexpr std::size_t kComputed =
    8;  // of these dimensions: the groups that parallel_groups() makes

const Dimension* dimension_named(std::string_view name) {
  const auto& all = dimensions();
  const auto it = std::ranges::find_if(all, [&](const Dimension& d) { return d.name == name; });
  return it == all.end() ? nullptr : &*it;
}

bool varies(const Dimension& dimension, const Axis& axis) {
  return contains(dimension.axes, axis.name);
}

std::int64_t size_of(const Dimension& dimension, const Axes& axes) {
  std::int64_t out = 1;
  for (const Axis& axis : axes)
    if (varies(dimension, axis)) out *= axis.size;
  return out;
}

// The lowest number that a member of the group of `rank` can have.
std::int64_t base_of(const Dimension& dimension, const Axes& axes, Rank rank) {
  std::int64_t out = number_of(rank);
  for (const Axis& axis : axes)
    if (varies(dimension, axis)) out -= number_of(rank) / axis.stride % axis.size * axis.stride;
  return out;
}

void add_groups(const Dimension& dimension, const Axes& axes, std::int64_t world,
                std::vector<ParallelGroup>& out) {
  if (size_of(dimension, axes) < 2) return;
  std::unordered_map<std::int64_t, std::size_t>
      index;  // base -> place in out; bases rise with their first rank
  std::size_t n = 0;
  for (std::int64_t r = 0; r < world; ++r) {
    const Rank rank{r};
    const std::int64_t base = base_of(dimension, axes, rank);
    const auto [it, fresh] = index.emplace(base, out.size());
    if (fresh)
      out.push_back({std::string(dimension.name), fmt::format("{}/{}", dimension.name, n++), {}});
    out[it->second].ranks.push_back(rank);
  }
}

// --- what sources say
// -----------------------------------------------------------------------------------------------

// Sizes as somebody states them; what is not stated is empty.
struct Stated {
  std::string source;
  std::optional<std::int64_t> tp, pp, dp, cp, ep, etp, world;
  std::string order;

  std::optional<std::int64_t>* slot(std::string_view name) {
    return name == "tp"    ? &tp
           : name == "pp"  ? &pp
           : name == "dp"  ? &dp
           : name == "cp"  ? &cp
           : name == "ep"  ? &ep
           : name == "etp" ? &etp
                           : nullptr;
  }
  bool any() const { return tp || pp || dp || cp || ep; }
  void fill_from(const Stated& other) {
    for (const char* name : {"tp", "pp", "dp", "cp", "ep", "etp"})
      if (!*slot(name)) *slot(name) = *const_cast<Stated&>(other).slot(name);
    if (!world) world = other.world;
    if (order.empty()) order = other.order;
  }
};

std::optional<std::int64_t> whole(std::string_view text) {
  const auto value = whole_number<std::int64_t>(text);
  return value && *value >= 1 && *value <= kMostRanks ? value : std::nullopt;
}

Stated stated_by_manifest(const Facts& facts) {
  Stated out;
  out.source = "manifest";
  if (!facts.manifest || facts.manifest->parallelism.empty()) return out;
  const auto document = parse_json(facts.manifest->parallelism);
  if (!document.is_object()) return out;
  for (const auto& [key, value] : document.items()) {
    if (key == "order" && value.is_string())
      out.order = value.get<std::string>();
    else if (auto* slot = out.slot(key); slot != nullptr && value.is_number_integer() &&
                                         value.get<std::int64_t>() >= 1 &&
                                         value.get<std::int64_t>() <= kMostRanks)
      *slot = value.get<std::int64_t>();
  }
  out.world = facts.manifest->world_size;
  return out;
}

// The last statement counts: a log that goes on through a restart holds one for each start.
Stated stated_by_logs(const Facts& facts, std::vector<Text>& notes) {
  std::vector<const ConfigRow*> rows;
  for (const ConfigRow& row : facts.configs) {
    if (row.name.rfind("parallel.", 0) != 0 && row.name != "world_size") continue;
    const MemberRow* member = facts.member(row.place.member);
    if (member != nullptr && facts.foreign(*member)) continue;
    rows.push_back(&row);
  }
  const auto path = [&](const ConfigRow& row) -> std::string_view {
    const MemberRow* member = facts.member(row.place.member);
    return member == nullptr ? std::string_view{} : std::string_view(member->path);
  };
  sort_by(rows, [&](const ConfigRow* a) { return std::pair(path(*a), a->place.line); });
  Stated out;
  out.source = "training arguments";
  std::map<std::string, std::set<std::int64_t>> said;
  for (const ConfigRow* row : rows) {
    const std::string key = row->name.rfind("parallel.", 0) == 0 ? row->name.substr(9) : row->name;
    if (key == "order")
      out.order = row->value;
    else if (key == "framework")
      out.source = row->value + " arguments";
    else if (const auto value = whole(row->value)) {
      if (auto* slot = key == "world_size" ? &out.world : out.slot(key)) {
        *slot = value;
        said[key].insert(*value);
      }
    }
  }
  for (const auto& [key, values] : said)
    if (values.size() > 1)
      notes.push_back(say(Phrase::values_differ_in_logs, key,
                          to_ranges(std::vector<std::int64_t>(values.begin(), values.end()))));
  return out;
}

// The value of "--tensor-model-parallel-size 2" or "--tensor-model-parallel-size=2" on a command
// line.
std::optional<std::int64_t> argument(std::string_view command, std::string_view name) {
  for (std::size_t at = command.find(name); at != std::string_view::npos;
       at = command.find(name, at + 1)) {
    const std::size_t end = at + name.size();
    if ((at > 0 && command[at - 1] != ' ') || end >= command.size() ||
        (command[end] != ' ' && command[end] != '='))
      continue;
    const std::string_view rest = command.substr(end + 1);
    return whole(rest.substr(0, rest.find(' ')));
  }
  return std::nullopt;
}

// Megatron's arguments on the command lines of trainers: lists of processes and heads of stack
// dumps show them. Nothing where two of them disagree.
Stated stated_by_commands(const Facts& facts) {
  static constexpr std::pair<const char*, const char*> kArguments[] = {
      {"tp", "--tensor-model-parallel-size"},
      {"pp", "--pipeline-model-parallel-size"},
      {"cp", "--context-parallel-size"},
      {"ep", "--expert-model-parallel-size"},
      {"etp", "--expert-tensor-parallel-size"}};
  Stated out;
  out.source = "command lines";
  std::set<std::string> looked;
  for (const ProcessRow& p : facts.processes) {
    if (p.command.find("-parallel-size") == std::string::npos || !looked.insert(p.command).second)
      continue;
    for (const auto& [name, flag] : kArguments)
      if (const auto value = argument(p.command, flag)) {
        auto* slot = out.slot(name);
        if (*slot && **slot != *value) return {};
        *slot = value;
      }
  }
  return out;
}

// The layout that a statement makes, and why not.
std::optional<Layout> layout_of(const Stated& stated, std::int64_t world,
                                std::vector<Text>& notes) {
  Layout out;
  out.tp = stated.tp.value_or(1);
  out.pp = stated.pp.value_or(1);
  out.cp = stated.cp.value_or(1);
  out.ep = stated.ep.value_or(1);
  out.etp = stated.etp.value_or(
      out.ep > 1 ? out.tp : 1);  // Megatron's default: experts are cut like the rest
  out.order = stated.order.empty() ? kDefaultOrder : stated.order;
  const auto model = product({out.tp, out.pp, out.cp});
  if (!model) return std::nullopt;
  if (world < 1 && stated.dp) world = product({*model, *stated.dp}).value_or(0);
  if (world < 1 || world > kMostRanks) return std::nullopt;
  if (world % *model != 0 || (stated.dp && world / *model != *stated.dp)) {
    notes.push_back(
        stated.dp ? say(Phrase::sizes_with_dp_not_world, stated.source, out.tp, out.pp, out.cp,
                        *stated.dp, world)
                  : say(Phrase::sizes_not_world, stated.source, out.tp, out.pp, out.cp, world));
    return std::nullopt;
  }
  out.dp = world / *model;
  if (!dense_axes(out)) {
    notes.push_back(say(Phrase::order_unknown, stated.source, out.order));
    return std::nullopt;
  }
  if (out.ep > 1 && !expert_axes(out))
    notes.push_back(say(Phrase::experts_not_world, stated.source, out.ep, out.etp, out.pp, world));
  return out;
}

// --- process groups of recorders
// ------------------------------------------------------------------------------------

struct Observed {
  std::map<std::string, std::set<std::vector<Rank>>> groups;  // of each dimension
  std::int64_t world = 0;
  std::int64_t replicas = 1;

  // The one size of all groups of a dimension, as far as they agree.
  std::optional<std::int64_t> size(const std::string& dimension) const {
    const auto it = groups.find(dimension);
    if (it == groups.end() || it->second.empty()) return std::nullopt;
    const std::size_t first = it->second.begin()->size();
    for (const auto& ranks : it->second)
      if (ranks.size() != first) return std::nullopt;
    return static_cast<std::int64_t>(first);
  }
};

// With replicas beside shards "dp" is both together, as frameworks that have both call it.
std::string dimension_beside_replicas(const std::string& description,
                                      const std::string& dimension) {
  const bool shard = description.find("shard") != std::string::npos ||
                     description.find("fsdp") != std::string::npos;
  if (dimension == "dp" && shard) return "dp_shard";
  if (dimension == "dp-cp" && shard) return "dp_shard-cp";
  return dimension;
}

Observed observe(const Facts& facts) {
  Observed out;
  const auto usable = [](const GroupRow& g) {
    return !g.ranks.empty() && !g.description.empty() && is_rank_of(kMostRanks, g.ranks.front()) &&
           is_rank_of(kMostRanks, g.ranks.back());
  };
  for (const GroupRow& g : facts.groups)
    if (usable(g) && dimension_of(g.description) == "dp_replicate")
      out.replicas = std::max(out.replicas, static_cast<std::int64_t>(g.ranks.size()));
  for (const GroupRow& g : facts.groups) {
    if (!usable(g)) continue;
    std::string dimension = dimension_of(g.description);
    if (dimension == "world") {
      out.world = std::max(out.world, static_cast<std::int64_t>(g.ranks.size()));
      continue;
    }
    if (out.replicas > 1)
      dimension = dimension_beside_replicas(culprit::lower(g.description), dimension);
    std::vector<Rank> ranks = g.ranks;
    sort_unique(ranks);
    out.groups[dimension].insert(std::move(ranks));
  }
  return out;
}

bool agrees(const Observed& observed, const Layout& layout) {
  const auto dense = dense_axes(layout, observed.replicas);
  if (!dense) return false;
  const auto expert = expert_axes(layout);
  const std::int64_t world = layout.world();
  for (const auto& [name, groups] : observed.groups) {
    const Dimension* dimension = dimension_named(name);
    if (dimension == nullptr) continue;
    if (dimension->expert && !expert) return false;
    const Axes& axes = dimension->expert ? *expert : *dense;
    const std::int64_t size = size_of(*dimension, axes);
    for (const auto& ranks : groups) {
      if (static_cast<std::int64_t>(ranks.size()) != size || !is_rank_of(world, ranks.back()))
        return false;
      const std::int64_t base = base_of(
          *dimension, axes, ranks.front());  // distinct ranks, as many as the group has, all of it
      for (const Rank rank : ranks)
        if (base_of(*dimension, axes, rank) != base) return false;
    }
  }
  return true;
}

// Sizes come from the groups, what they leave open from `hints`; the order is the first that
// explains every group.
std::optional<Layout> infer(const Observed& observed, const Stated& hints, std::int64_t world) {
  const auto seen = [&](const char* name) { return observed.size(name); };
  const auto part = [](std::optional<std::int64_t> whole_size, std::int64_t by) {
    return whole_size && by > 0 && *whole_size % by == 0 ? std::optional(*whole_size / by)
                                                         : std::nullopt;
  };
  const auto first = [](std::initializer_list<std::optional<std::int64_t>> all) {
    for (const auto& one : all)
      if (one) return one;
    return std::optional<std::int64_t>();
  };
  std::vector<std::string> orders;
  if (!hints.order.empty()) orders.push_back(hints.order);
  orders.push_back(kDefaultOrder);
  orders.push_back("tp-cp-ep-pp-dp");
  std::array<std::string, 5> axes{"cp", "dp", "ep", "pp", "tp"};
  do orders.push_back(fmt::format("{}-{}-{}-{}-{}", axes[0], axes[1], axes[2], axes[3], axes[4]));
  while (std::next_permutation(axes.begin(), axes.end()));

  for (const bool with_hints : {true, false}) {
    const auto hint = [&](const std::optional<std::int64_t>& value) {
      return with_hints ? value : std::nullopt;
    };
    Layout layout;
    layout.tp = first({seen("tp"), hint(hints.tp)}).value_or(1);
    layout.cp = first({seen("cp"), part(seen("tp-cp"), layout.tp), hint(hints.cp)}).value_or(1);
    layout.pp = first({seen("pp"), part(seen("mp"), layout.tp), hint(hints.pp)}).value_or(1);
    const auto model = product({layout.tp, layout.cp, layout.pp});
    if (!model) continue;
    const auto replicated =
        seen("dp_shard") ? product({*seen("dp_shard"), observed.replicas}) : std::nullopt;
    const auto dp = first(
        {seen("dp"), replicated, part(seen("dp-cp"), layout.cp), part(seen("tp-dp"), layout.tp),
         part(seen("tp-dp-cp"), layout.tp * layout.cp), hint(hints.dp), part(world, *model)});
    if (!dp) continue;
    layout.dp = *dp;
    const auto all = product({*model, layout.dp});
    if (!all || (world > 0 && *all != world)) continue;
    layout.ep = first({seen("ep"), hint(hints.ep)}).value_or(1);
    const auto left = product({layout.ep, layout.pp, seen("edp").value_or(1)});
    const auto from_rest = seen("edp") && left ? part(*all, *left) : std::nullopt;
    layout.etp = first({seen("etp"), part(seen("etp-ep"), layout.ep), from_rest, hint(hints.etp)})
                     .value_or(layout.ep > 1 ? layout.tp : 1);
    for (const std::string& order : orders) {
      layout.order = order;
      if (agrees(observed, layout)) return layout;
    }
  }
  return std::nullopt;
}

void compare(const Stated& stated, const std::map<std::string, std::int64_t>& believed,
             const char* by, std::vector<Text>& notes) {
  std::string told, known;
  for (const auto& [name, size] : believed) {
    const auto* slot = const_cast<Stated&>(stated).slot(name);
    if (slot == nullptr || !*slot || **slot == size) continue;
    told += fmt::format("{}{} {}", told.empty() ? "" : ", ", name, **slot);
    known += fmt::format("{}{} {}", known.empty() ? "" : ", ", name, size);
  }
  if (!told.empty()) notes.push_back(say(Phrase::sources_disagree, stated.source, told, by, known));
}

std::map<std::string, std::int64_t> sizes_of(const Layout& l) {
  return {{"tp", l.tp}, {"pp", l.pp}, {"dp", l.dp}, {"cp", l.cp}, {"ep", l.ep}};
}

// By dimension in the order of the table, others after them by name; within one by first rank. Ids
// are counted anew.
void put_in_order(std::vector<ParallelGroup>& groups) {
  const auto place = [](const std::string& name) {
    const Dimension* dimension = dimension_named(name);
    return dimension == nullptr ? dimensions().size()
                                : static_cast<std::size_t>(dimension - dimensions().data());
  };
  sort_by(groups, [&](const ParallelGroup& a) {
    return std::tuple(place(a.dimension), a.dimension, a.ranks);
  });
  std::size_t n = 0;
  for (std::size_t i = 0; i < groups.size(); ++i) {
    n = i > 0 && groups[i].dimension == groups[i - 1].dimension ? n + 1 : 0;
    groups[i].id = fmt::format("{}/{}", groups[i].dimension, n);
  }
}

void take_recorder(const Observed& observed, const Facts& facts, const Stated& manifest,
                   const Stated& logs, Topology& out) {
  out.source = "recorder";
  Stated hints = manifest;
  hints.fill_from(logs);
  std::int64_t world = observed.world;
  if (world > 0 && facts.world_size > 0 && world != facts.world_size)
    out.notes.push_back(say(Phrase::group_not_world, world, facts.world_size));
  if (world == 0) world = facts.world_size;
  out.layout = infer(observed, hints, world);
  if (!out.layout && facts.world_size > 0 && world != facts.world_size)
    out.layout = infer(observed, hints, facts.world_size);
  std::set<std::vector<Rank>> taken;
  if (out.layout) {
    out.groups = parallel_groups(*out.layout);
    for (const ParallelGroup& g : out.groups) taken.insert(g.ranks);
    world = out.layout->world();
  } else {
    bool known = false;
    for (const auto& [name, groups] : observed.groups)
      known = known || dimension_named(name) != nullptr;
    if (known) out.notes.push_back(say(Phrase::groups_follow_no_order));
  }
  std::map<std::string, std::int64_t> believed;
  for (const auto& [name, groups] : observed.groups) {
    const Dimension* dimension = dimension_named(name);
    if (const auto size = observed.size(name); size && dimension != nullptr) believed[name] = *size;
    if (out.layout && dimension != nullptr && dimension < dimensions().data() + kComputed)
      continue;  // made in full above
    std::string as = name;
    if (as == "dp-cp" && observed.groups.count("dp") == 0 && observed.size("cp").value_or(1) == 1)
      as = "dp";
    std::map<Rank, std::size_t> member_of;
    bool twice = false;
    for (const auto& ranks : groups) {
      for (const Rank rank : ranks) twice = !member_of.emplace(rank, 0).second || twice;
      if (ranks.size() < 2 || static_cast<std::int64_t>(ranks.size()) == world ||
          !taken.insert(ranks).second)
        continue;
      out.groups.push_back({as, "", ranks});
    }
    if (twice && dimension != nullptr) out.notes.push_back(say(Phrase::rank_in_two_groups, name));
  }
  put_in_order(out.groups);
  if (out.layout) believed = sizes_of(*out.layout);
  compare(manifest, believed, "the recorders' process groups", out.notes);
  compare(logs, believed, "the recorders' process groups", out.notes);
}

// --- switches
// -------------------------------------------------------------------------------------------------

struct Wiring {
  std::string kind;
  std::int64_t level = 0;
  std::set<Host> hosts;
  std::set<std::string> children;
};

void add_switches(const Facts& facts, Topology& out) {
  std::set<Host> known;
  for (const HostRow& h : facts.hosts) known.insert(h.host);
  const auto canonical = [&](const Host& host) {
    if (known.count(host) > 0) return host;
    return short_host(host);
  };
  std::map<std::string, Wiring> wirings;
  const auto add = [&](const std::string& kind, const std::string& name, std::int64_t level,
                       const std::vector<Host>& hosts, const std::vector<std::string>& children) {
    Wiring& w = wirings[name];
    if (w.kind.empty()) w.kind = kind;
    w.level = std::max(w.level, level);
    for (const auto& host : hosts) w.hosts.insert(canonical(host));
    w.children.insert(children.begin(), children.end());
  };
  for (const NetworkRow& row : facts.networks)
    add(row.kind.empty() ? "switch" : row.kind, row.name, row.level, row.hosts, row.children);
  if (facts.manifest) {
    for (const auto& [name, hosts] : facts.manifest->tor)
      add("switch", name, 0, hosts_of(hosts), {});
    for (const auto& [name, hosts] : facts.manifest->pod) add("pod", name, 1, hosts_of(hosts), {});
  }
  for (const auto& [name, wiring] : wirings) {
    // Down the tree, each switch once: a file that names a switch below itself is wrong and must
    // not hang anybody.
    std::set<std::string> seen{name};
    std::set<Host> hosts(wiring.hosts);
    std::vector<std::string> open(wiring.children.begin(), wiring.children.end());
    bool cycle = false;
    while (!open.empty()) {
      const std::string below = open.back();
      open.pop_back();
      if (below == name) cycle = true;
      if (!seen.insert(below).second) continue;
      const auto it = wirings.find(below);
      if (it == wirings.end()) continue;
      hosts.insert(it->second.hosts.begin(), it->second.hosts.end());
      open.insert(open.end(), it->second.children.begin(), it->second.children.end());
    }
    if (cycle) out.notes.push_back(say(Phrase::network_loop, name));
    // Of a cluster's thousands only those that this incident knows.
    if (!known.empty())
      std::erase_if(hosts, [&](const Host& host) { return known.count(host) == 0; });
    if (hosts.empty()) continue;
    out.switches.push_back({wiring.kind, name, wiring.level, {hosts.begin(), hosts.end()}});
  }
  sort_by(out.switches, [](const Switch& a) { return std::tie(a.level, a.kind, a.name); });
}

// --- ranks to hosts by the order of nodes
// ---------------------------------------------------------------------------

struct NodeOrder {
  std::string source;
  std::vector<Host> hosts;
  std::vector<std::int64_t> slots;  // of each host; empty = the same number on all
};

// The one order that a kind of source tells; none when two of them disagree.
std::optional<NodeOrder> hostfile_order(const Facts& facts) {
  std::optional<NodeOrder> out;
  for (auto& [member, file] : host_files(facts)) {
    if (!std::ranges::all_of(file.slots, [](auto n) { return n >= 1 && n <= kMostRanks; }))
      file.slots.clear();
    if (out && (out->hosts != file.hosts || out->slots != file.slots)) return std::nullopt;
    out = NodeOrder{"hostfile order", std::move(file.hosts), std::move(file.slots)};
  }
  return out;
}

std::optional<NodeOrder> nodelist_order(const Facts& facts) {
  std::set<std::string> lists;
  for (const ConfigRow& row : facts.configs) {
    if (row.name != "slurm.nodelist") continue;
    const MemberRow* member = facts.member(row.place.member);
    if (member == nullptr || !facts.foreign(*member)) lists.insert(row.value);
  }
  if (lists.size() != 1) return std::nullopt;
  Hostlist list = expand_hostlist(*lists.begin());
  if (list.broken || list.capped) return std::nullopt;
  return NodeOrder{"nodelist order", hosts_of(std::move(list.hosts)), {}};
}

// What launchers say of themselves: every number from 0 up, each with one machine.
std::optional<NodeOrder> launcher_order(const Facts& facts) {
  std::map<std::int64_t, Host> by_number;
  NodeOrder out{"node ranks", {}, {}};
  for (const IdentityRow& row : facts.identities)
    if (row.source == "node rank" && row.host && row.node_rank)
      if (const auto [it, fresh] = by_number.emplace(*row.node_rank, *row.host);
          !fresh && it->second != *row.host)
        return std::nullopt;
  for (const auto& [number, host] : by_number) {
    if (number != static_cast<std::int64_t>(out.hosts.size())) return std::nullopt;
    out.hosts.push_back(host);
  }
  return out;
}

void guess_hosts(const Facts& facts, std::int64_t world, Topology& out) {
  if (!out.host_of.empty() || world < 1 || world > kMostRanks)
    return;  // who is tied to a host by a log says that the order is not needed, or wrong
  std::vector<std::optional<NodeOrder>> orders;
  if (facts.manifest && !facts.manifest->hosts.empty())
    orders.push_back(NodeOrder{"manifest order", facts.manifest->hosts, {}});
  orders.push_back(launcher_order(facts));
  orders.push_back(hostfile_order(facts));
  orders.push_back(nodelist_order(facts));
  for (const auto& order : orders) {
    if (!order || order->hosts.empty()) continue;
    const auto n = static_cast<std::int64_t>(order->hosts.size());
    std::vector<std::int64_t> slots = order->slots;
    if (slots.empty() && world % n == 0) slots.assign(order->hosts.size(), world / n);
    std::int64_t sum = 0;
    for (const std::int64_t s : slots) sum += s;
    if (sum != world) continue;  // the job takes another part of these hosts
    std::int64_t next = 0;
    for (std::size_t h = 0; h < order->hosts.size(); ++h)
      for (std::int64_t i = 0; i < slots[h]; ++i)
        out.guessed_host_of.emplace(Rank(next++), short_host(order->hosts[h]));
    out.guess_source = order->source;
    return;
  }
}

}  // namespace

std::vector<ParallelGroup> parallel_groups(const Layout& layout) {
  std::vector<ParallelGroup> out;
  const auto dense = dense_axes(layout);
  if (!dense) return out;
  const auto expert = layout.ep > 1 ? expert_axes(layout) : std::nullopt;
  for (std::size_t i = 0; i < kComputed; ++i) {
    const Dimension& dimension = dimensions()[i];
    if (dimension.name == "mp" && (layout.tp < 2 || layout.pp < 2))
      continue;  // the same as pp or tp
    if (dimension.expert && !expert) continue;
    add_groups(dimension, dimension.expert ? *expert : *dense, layout.world(), out);
  }
  return out;
}

std::string dimension_of(std::string_view description) {
  std::string name = culprit::lower(description);
  std::string key = name;
  const auto cut = [&](std::string_view ending) {
    if (key.size() > ending.size() && key.ends_with(ending)) key.resize(key.size() - ending.size());
  };
  if (key.rfind("mesh_", 0) == 0) key = key.substr(5);
  cut("_gloo");
  cut("_group");
  cut("_pg");
  struct Known {
    std::string_view dimension, names;
  };
  // Of Megatron and what is made on it (NeMo), of DeviceMesh (FSDP2, torchtitan, Lightning), axes
  // of DeepSpeed's topology, and those of torch itself.
  static constexpr Known kKnown[] = {
      {"tp", "tensor_model_parallel tp tensor tensor_parallel"},
      {"pp", "pipeline_model_parallel pp pipe pipeline pipeline_parallel"},
      {"dp", "data_parallel dp dp_shard fsdp shard ddp data"},
      {"dp-cp", "data_parallel_group_with_cp dp_shard_cp dp_cp"},
      {"cp", "context_parallel cp context"},
      {"mp", "model_parallel mp"},
      {"tp-dp", "tensor_and_data_parallel"},
      {"tp-dp-cp", "tensor_and_data_parallel_group_with_cp"},
      {"tp-cp", "tensor_and_context_parallel"},
      {"ep", "expert_model_parallel ep expert_parallel expert"},
      {"etp", "expert_tensor_parallel etp"},
      {"etp-ep", "expert_tensor_and_model_parallel tensor_and_expert_parallel"},
      {"etp-ep-pp", "expert_tensor_model_pipeline_parallel"},
      {"edp", "expert_data_parallel data_modulo_expert_parallel edp dp_shard_mod_ep efsdp"},
      {"dp_replicate", "dp_replicate replicate"},
      {"world", "default world"},
  };
  for (const Known& known : kKnown)
    if (has_word(known.names, key)) return std::string(known.dimension);
  return name;
}

std::vector<Host> Topology::hosts_of(const std::vector<Rank>& ranks) const {
  std::set<Host> hosts;
  for (const Rank r : ranks)
    if (const auto it = host_of.find(r); it != host_of.end()) hosts.insert(it->second);
  return {hosts.begin(), hosts.end()};
}

std::string Topology::where(Rank rank) const {
  if (const auto it = host_of.find(rank); it != host_of.end())
    return fmt::format("rank {} ({})", rank, it->second);
  if (const auto it = guessed_host_of.find(rank); it != guessed_host_of.end())
    return fmt::format("rank {} ({} by {})", rank, it->second, guess_source);
  return fmt::format("rank {}", rank);
}

namespace {

// Of a job whose size nobody tells only the tensor groups are sure: they are neighbours, while a
// pipeline's stride is the size of the job over that of the pipeline.
void take_commands(const Stated& stated, const Facts& facts, Topology& out) {
  if (!stated.any()) return;
  if (facts.world_size > 0) {
    out.layout = layout_of(stated, facts.world_size, out.notes);
    if (out.layout) out.groups = parallel_groups(*out.layout);
  } else if (const std::int64_t tp = stated.tp.value_or(1); tp > 1) {
    std::set<std::int64_t> first;
    for (const RankRow& row : facts.ranks) first.insert(number_of(row.rank) / tp);
    for (const StackSample& s : facts.samples)
      if (s.row.rank) first.insert(number_of(*s.row.rank) / tp);
    for (const std::int64_t n : first) {
      ParallelGroup& group =
          out.groups.emplace_back(ParallelGroup{"tp", fmt::format("tp/{}", n), {}});
      for (std::int64_t i = 0; i < tp; ++i) group.ranks.push_back(Rank(n * tp + i));
    }
    out.notes.push_back(say(Phrase::only_tensor_groups));
  }
  if (!out.groups.empty()) out.source = stated.source;
}

}  // namespace

namespace {

// All hosts of the job but one have the same number of ranks, and so many are left: they are its.
void place_what_is_left(const Facts& facts, Topology& out) {
  const std::int64_t world = facts.world_counted ? 0 : facts.world_size;
  const std::vector<Host> hosts = hosts_of_job(facts);
  if (world < 1 || world > kMostRanks || hosts.size() < 3) return;
  std::map<Host, std::int64_t> ranks_on;
  for (const Host& host : hosts) ranks_on.emplace(short_host(host), 0);
  for (const auto& [rank, host] : out.host_of) {
    const auto own = ranks_on.find(short_host(host));
    if (own == ranks_on.end() || !is_rank_of(world, rank)) return;
    ++own->second;
  }
  const auto n = static_cast<std::int64_t>(hosts.size());
  if (world % n != 0) return;
  std::optional<Host> empty;
  for (const auto& [host, ranks] : ranks_on) {
    if (ranks == world / n) continue;
    if (ranks != 0 || empty) return;
    empty = host;
  }
  if (!empty) return;
  for (std::int64_t r = 0; r < world; ++r) out.host_of.emplace(Rank(r), *empty);
}

}  // namespace

Topology make_topology(const Facts& facts) {
  Topology out;
  for (const RankRow& row : facts.ranks)
    if (row.host) out.host_of.emplace(row.rank, *row.host);
  place_what_is_left(facts, out);
  add_switches(facts, out);

  const Stated manifest = stated_by_manifest(facts);
  const Stated logs = stated_by_logs(facts, out.notes);
  const Observed observed = observe(facts);
  if (!observed.groups.empty()) take_recorder(observed, facts, manifest, logs, out);
  if (out.groups.empty() && !out.layout) {
    out.source.clear();
    Stated stated = manifest.any() ? manifest : logs;
    if (manifest.any()) stated.fill_from(logs);
    const std::int64_t world = facts.world_size > 0 ? facts.world_size
                               : observed.world > 0 ? observed.world
                                                    : stated.world.value_or(0);
    if (stated.any()) out.layout = layout_of(stated, world, out.notes);
    if (out.layout) {
      out.source = stated.source;
      out.groups = parallel_groups(*out.layout);
      if (manifest.any()) compare(logs, sizes_of(*out.layout), "the manifest", out.notes);
    }
  }
  if (out.groups.empty() && !out.layout && !manifest.any() && !logs.any())
    take_commands(stated_by_commands(facts), facts, out);
  guess_hosts(facts,
              out.layout             ? out.layout->world()
              : facts.world_size > 0 ? facts.world_size
                                     : observed.world,
              out);
  return out;
}

}  // namespace culprit::analyze
