#include "ingest/engine/tree.hpp"

namespace culprit::ingest {

void Tree::extend(std::uint32_t id, const Value* from, std::size_t count) {
  if (count == 0) return;
  std::uint32_t at = nodes[id].last == kNone ? id : nodes[id].last;
  if (nodes[at].count != 0 && nodes[at].begin + nodes[at].count != values.size()) {
    const auto more = static_cast<std::uint32_t>(nodes.size());
    nodes.emplace_back();
    nodes[at].next = more;
    nodes[id].last = more;
    at = more;
  }
  if (nodes[at].count == 0) nodes[at].begin = static_cast<std::uint32_t>(values.size());
  values.append(from, count);
  nodes[at].count += static_cast<std::uint32_t>(count);
}

Value Tree::find(const Value& dict, std::string_view key) const {
  Value found = Value::nothing();
  each_pair(dict, [&](const Value& k, const Value& v) {
    if (k.text() == key && k.kind == Value::Kind::text) found = v;
    return true;
  });
  return found;
}

std::optional<std::int64_t> Tree::integer(const Value& dict, std::string_view key) const {
  const Value v = find(dict, key);
  return v.kind == Value::Kind::integer ? std::optional(v.integer) : std::nullopt;
}

}  // namespace culprit::ingest
