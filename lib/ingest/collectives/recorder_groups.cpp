// Groups by the names that all processes share, and by the counters of one process.
#include "ingest/collectives/recorder_groups.hpp"

#include <algorithm>
#include <map>
#include <set>

#include <fmt/format.h>

#include "model/number.hpp"

namespace culprit::ingest {

namespace {

constexpr std::size_t kMostRecorderKeys =
    64;  // of one group's status or configuration; torch writes three

std::optional<std::int64_t> decimal(const std::string& text) {
  const auto n = whole_number<std::int64_t>(text);
  return n >= 0 ? n : std::nullopt;
}

}  // namespace

std::uint32_t RecorderGroups::add(const std::string& key, std::string name,
                                  std::string_view description) {
  const auto at = static_cast<std::uint32_t>(all.size());
  by_name_.emplace(key, at);
  RecorderGroup& group = all.emplace_back();
  group.row.name = std::move(name);
  group.row.description = RecorderValues::clip(description, 256);
  return at;
}

void RecorderGroups::read_config(const Value& config) {
  const Tree& tree = values_.tree;
  tree.each_pair(config, [&](const Value& key, const Value& v) {
    if (!values_.spend()) return false;
    const bool dict = v.is_dict();
    if (tree.partial(v) || (dict && tree.nodes[v.node].count > kMostRecorderKeys)) return true;
    std::string name = dict ? RecorderValues::spelt(tree.find(v, "name")) : "";
    if (name.empty()) name = RecorderValues::spelt(key);
    if (name.empty() || by_name_.contains(name)) return true;
    RecorderGroup& group = all[add(name, name, dict ? tree.text(v, "desc") : std::string_view{})];
    group.configured = true;
    group.row.ranks = values_.ranks(dict ? tree.find(v, "ranks") : v);
    group.row.size = static_cast<std::int64_t>(group.row.ranks.size());
    return true;
  });
}

std::uint32_t RecorderGroups::of(const Value& process_group, const Value& pg_id) {
  std::array<Value, 2> pair{Value::nothing(), Value::nothing()};
  if (process_group.is_list()) {
    std::size_t i = 0;
    values_.tree.each(process_group, [&](const Value& v) {
      pair[i++] = v;
      return i < pair.size();
    });
  } else {
    pair[0] = process_group;
  }
  const auto& [key, description] = pair;
  // Written once, then by its number: the same place in the input.
  for (const auto& [known, group] : recent_)
    if (key.kind == Value::Kind::text && known.data() == key.bytes && known.size() == key.length)
      return group;
  const std::string local = RecorderValues::spelt(pg_id);
  if (key.kind == Value::Kind::none) {
    // Before process_group came, entries knew the process's own counter only: such a group must
    // not meet another's.
    const std::string alone = fmt::format("pg_id {} of {}", local, path_);
    if (const auto found = by_name_.find(alone); found != by_name_.end()) return found->second;
    const std::uint32_t at = add(alone, "", alone);
    all[at].local = local;
    return at;
  }
  const std::string name = RecorderValues::spelt(key);
  const auto found = by_name_.find(name);
  const std::uint32_t at =
      found != by_name_.end() ? found->second : add(name, name, description.text());
  RecorderGroup& group = all[at];
  if (group.row.description.empty())
    group.row.description = RecorderValues::clip(description.text(), 256);
  if (group.local.empty()) group.local = local;
  if (key.kind == Value::Kind::text) recent_[next_recent_++ % recent_.size()] = {key.text(), at};
  return at;
}

std::string RecorderGroups::read_status(const Value& of_groups) {
  const Tree& tree = values_.tree;
  tree.each_pair(of_groups, [&](const Value& key, const Value& v) {
    if (!values_.spend()) return false;
    if (!v.is_dict() || tree.partial(v) || tree.nodes[v.node].count > kMostRecorderKeys)
      return true;
    RecorderStatus one{.id = RecorderValues::spelt(key), .node = v.node};
    const auto number = [&](std::string_view name) {
      return std::max(RecorderValues::integer(tree.find(v, name)).value_or(kUnknownSequence),
                      kUnknownSequence);
    };
    one.enqueued = number("last_enqueued_collective");
    one.started = number("last_started_collective");
    one.completed = number("last_completed_collective");
    // Without timing, nobody notes the start.
    if (one.started < one.completed || (one.started == kNoSequence && one.enqueued > kNoSequence))
      one.started = kUnknownSequence;
    status.push_back(std::move(one));
    return true;
  });
  name_by_entries();
  name_by_numbers();
  return name_the_last();
}

// Entries tell which counter is which name.
void RecorderGroups::name_by_entries() {
  std::map<std::string, std::size_t> by_id;
  for (std::size_t i = 0; i < status.size(); ++i) by_id.emplace(status[i].id, i);
  for (std::size_t g = 0; g < all.size(); ++g) {
    const auto found = by_id.find(all[g].local);
    if (!all[g].entries.empty() && !all[g].local.empty() && found != by_id.end() &&
        status[found->second].group < 0)
      join(found->second, g);
  }
}

// Where they do not: a name that is a number is a counter as well, of the same creations, so both
// rise together; with as many of the one as of the other, and no entry that contradicts, the n-th
// is the n-th.
void RecorderGroups::name_by_numbers() {
  std::vector<std::pair<std::int64_t, std::size_t>> names, ids;
  for (std::size_t g = 0; g < all.size(); ++g)
    if (const auto n = all[g].configured ? decimal(all[g].row.name) : std::nullopt)
      names.emplace_back(*n, g);
  std::set<std::string_view> each;
  for (std::size_t i = 0; i < status.size(); ++i) {
    each.insert(status[i].id);
    if (const auto n = decimal(status[i].id)) ids.emplace_back(*n, i);
  }
  if (values_.tree.truncated || names.empty() || names.size() != all.size() ||
      ids.size() != names.size() || each.size() != ids.size() || ids.size() != status.size())
    return;
  std::ranges::sort(names);
  std::ranges::sort(ids);
  // The default group is the first in both.
  if (names[0].first != 0 || ids[0].first != 0) return;
  for (std::size_t i = 0; i < names.size(); ++i) {
    const std::int64_t named = status[ids[i].second].group;
    const std::size_t counted = all[names[i].second].status;
    if ((named >= 0 && static_cast<std::size_t>(named) != names[i].second) ||
        (counted != std::string::npos && counted != ids[i].second))
      return;
  }
  for (std::size_t i = 0; i < names.size(); ++i)
    if (status[ids[i].second].group < 0) join(ids[i].second, names[i].second);
}

// And what is left over on both sides, when it is one each, belongs together.
std::string RecorderGroups::name_the_last() {
  std::vector<std::size_t> left, left_groups;
  for (std::size_t i = 0; i < status.size(); ++i)
    if (status[i].group < 0) left.push_back(i);
  for (std::size_t g = 0; g < all.size(); ++g)
    if (all[g].configured && all[g].status == std::string::npos) left_groups.push_back(g);
  if (!values_.tree.truncated && left.size() == 1 && left_groups.size() == 1 && status.size() > 1) {
    join(left[0], left_groups[0]);
    left.clear();
  }
  if (left.empty()) return {};
  std::string unnamed;
  for (const std::size_t i : left)
    if (unnamed.size() < 150) unnamed += (unnamed.empty() ? "" : ", ") + status[i].id;
  return fmt::format("{} of {}: pg_id {}", left.size(), status.size(), unnamed);
}

}  // namespace culprit::ingest
