// Numbers as pickle and JSON write them; shapes, types and frames of calls.
#include "ingest/collectives/recorder_values.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "line/timestamp.hpp"
#include "model/contains.hpp"
#include "model/number.hpp"
#include "model/sort.hpp"

namespace culprit::ingest {

namespace {

std::uint64_t mix(std::uint64_t hash, std::uint64_t with) {
  hash = (hash ^ with) * 0x9E3779B97F4A7C15ULL;
  return hash ^ (hash >> 29);
}

std::uint64_t hash_text(std::string_view text) {
  std::uint64_t hash = text.size();
  while (!text.empty()) {
    std::uint64_t eight = 0;
    const std::size_t now = std::min<std::size_t>(text.size(), 8);
    for (std::size_t i = 0; i < now; ++i)
      eight |= static_cast<std::uint64_t>(static_cast<unsigned char>(text[i])) << (8 * i);
    hash = mix(hash, eight);
    text.remove_prefix(now);
  }
  return hash;
}

std::uint32_t fold32(std::uint64_t hash) { return static_cast<std::uint32_t>(hash ^ (hash >> 32)); }

std::size_t bytes_of_type(std::string_view type) {
  struct Size {
    std::string_view name;
    std::size_t bytes;
  };
  static constexpr Size kSizes[] = {
      {"Byte", 1},   {"Char", 1},        {"Bool", 1},         {"Short", 2},
      {"UInt16", 2}, {"Half", 2},        {"BFloat16", 2},     {"Int", 4},
      {"UInt32", 4}, {"Float", 4},       {"Long", 8},         {"UInt64", 8},
      {"Double", 8}, {"ComplexHalf", 4}, {"ComplexFloat", 8}, {"ComplexDouble", 16},
      {"QInt8", 1},  {"QUInt8", 1},      {"QInt32", 4},
  };
  for (const Size& size : kSizes)
    if (size.name == type) return size.bytes;
  return type.starts_with("Float8") ? 1 : 0;
}

std::string spelt_types(const std::vector<std::string_view>& types) {
  std::string out;
  if (types.empty()) return out;
  if (std::ranges::all_of(types, [&](std::string_view t) { return t == types[0]; }))
    return RecorderValues::clip(types[0], 40);
  for (const std::string_view type : types) {
    if (out.size() > 200) return out + ",...";
    out += (out.empty() ? "" : ",") + RecorderValues::clip(type, 40);
  }
  return out;
}

// How much a call sends; nothing where its types or shapes do not tell.
std::optional<std::int64_t> bytes_of(const std::vector<std::int64_t>& counts,
                                     const std::vector<std::string_view>& types) {
  if (counts.empty() || types.empty() || (types.size() != 1 && types.size() != counts.size()))
    return std::nullopt;
  std::int64_t bytes = 0;
  for (std::size_t i = 0; i < counts.size(); ++i) {
    const auto each = static_cast<std::int64_t>(bytes_of_type(types[types.size() == 1 ? 0 : i]));
    std::int64_t more = 0;
    if (each == 0 || __builtin_mul_overflow(counts[i], each, &more) ||
        __builtin_add_overflow(bytes, more, &bytes) || bytes < 0)
      return std::nullopt;
  }
  return bytes;
}

}  // namespace

void RecorderPart::reject(std::string reason, std::size_t at, std::string excerpt) const {
  at = std::min(at, bytes.size());
  sink.put(RejectRow{{member.id, 0, offset + at,
                      static_cast<std::uint32_t>(std::min<std::size_t>(bytes.size() - at, 200))},
                     std::move(reason),
                     std::move(excerpt)});
}

std::optional<std::int64_t> RecorderValues::integer(const Value& v) {
  switch (v.kind) {
    case Value::Kind::boolean:
    case Value::Kind::integer: return v.integer;
    case Value::Kind::real:
      if (std::abs(v.real) < 9e15 && v.real == std::floor(v.real))
        return static_cast<std::int64_t>(v.real);
      return std::nullopt;
    case Value::Kind::text: return whole_number<std::int64_t>(v.text());
    default: return std::nullopt;
  }
}

Nanoseconds RecorderValues::moment(const Value& v) {
  return std::max<Nanoseconds>(integer(v).value_or(0), 0);
}

std::string RecorderValues::spelt(const Value& v) {
  switch (v.kind) {
    case Value::Kind::text: return clip(v.text(), 64);
    case Value::Kind::integer: return std::to_string(v.integer);
    case Value::Kind::real: return fmt::format("{}", v.real);
    default: return {};
  }
}

std::uint32_t RecorderValues::hash(std::string_view text) { return fold32(hash_text(text)); }

std::vector<Rank> RecorderValues::ranks(const Value& v) {
  std::vector<Rank> out;
  if (v.kind == Value::Kind::text) {
    constexpr std::string_view kBetween = "[](){}, \t";
    std::string_view rest = v.text();
    for (std::size_t at = 0; (at = rest.find_first_not_of(kBetween)) != rest.npos;) {
      std::size_t used = 0;
      std::int64_t rank = 0;
      rest.remove_prefix(at);
      if (!line::parse_digits(rest, used, rank)) return {};
      rest.remove_prefix(used);
      out.push_back(Rank(rank));
    }
  } else {
    bool good = true;
    tree.each(v, [&](const Value& item) {
      const auto rank = integer(item);
      good = good && rank && *rank >= 0 && spend();
      if (good) out.push_back(Rank(*rank));
      return good;
    });
    if (!good) return {};
  }
  sort_unique(out);
  return out;
}

void RecorderValues::append_shape(const Value& shape, std::string& out, int depth) {
  if (!shape.is_list()) {
    out += spelt(shape);
    return;
  }
  out += '[';
  bool first = true;
  tree.each(shape, [&](const Value& v) {
    if (!first) out += ", ";
    first = false;
    if (out.size() > 1000) {
      out += "...";
      return false;
    }
    if (depth > 0) append_shape(v, out, depth - 1);
    return spend();
  });
  out += ']';
}

// The elements of each tensor of a list of shapes.
std::vector<std::int64_t> RecorderValues::elements(const Value& shapes) {
  std::vector<std::int64_t> out;
  tree.each(shapes, [&](const Value& shape) {
    if (!shape.is_list()) {
      out.clear();
      return false;
    }
    std::int64_t n = 1;
    tree.each(shape, [&](const Value& v) {
      const auto size = integer(v);
      if (!size || *size < 0 || __builtin_mul_overflow(n, *size, &n)) n = -1;
      return n >= 0 && spend();
    });
    if (n < 0 || out.size() >= 100'000) {
      out.clear();
      return false;
    }
    out.push_back(n);
    return spend();
  });
  return out;
}

std::vector<std::string_view> RecorderValues::types(const Value& v) {
  std::vector<std::string_view> out;
  if (v.kind == Value::Kind::text) {
    // "Float", or several in one string.
    std::string_view text = v.text().substr(0, 4096);
    while (!text.empty()) {
      const std::size_t at = text.find_first_not_of("[]'\", ");
      if (at == std::string_view::npos) break;
      const std::size_t end = std::min(text.find_first_of("[]'\", ", at), text.size());
      out.push_back(text.substr(at, end - at));
      text.remove_prefix(end);
    }
  }
  tree.each(v, [&](const Value& item) {
    if (item.kind == Value::Kind::text) out.push_back(item.text());
    return spend() && out.size() < 100'000;
  });
  return out;
}

void RecorderValues::put_tensors(const Value& in, const Value& out, const Value& in_types,
                                 const Value& out_types, CollectiveRow& row) {
  const auto put = [&](std::string_view name, const Value& v) {
    if (!v.is_list() || tree.nodes[v.node].count == 0) return;
    row.sizes += row.sizes.empty() ? "" : " ";
    row.sizes += name;
    std::string text;
    append_shape(v, text, 2);
    row.sizes += text;
  };
  put("in ", in);
  put("out ", out);
  const auto of_in = types(in_types), of_out = types(out_types);
  if (!of_in.empty() || !of_out.empty())
    row.types = spelt_types(of_in) + " -> " + spelt_types(of_out);
  row.bytes = bytes_of(elements(in), of_in);
}

Frame RecorderValues::frame(const Value& v) {
  Frame frame;
  if (v.kind == Value::Kind::text) frame.function = clip(v.text(), 500);
  tree.each_pair(v, [&](const Value& key, const Value& part) {
    const std::string_view name = key.text();
    if (name == "name")
      frame.function = clip(part.text(), 500);
    else if (name == "filename")
      frame.file = clip(part.text(), 1000);
    else if (name == "line")
      frame.line = std::max<std::int64_t>(0, integer(part).value_or(0));
    return spend();
  });
  if (frame.function.empty()) frame.function = "?";
  frame.native = !frame.file.ends_with(".py") &&
                 (contains(frame.function, "::") || frame.file.ends_with(".cpp") ||
                  frame.file.ends_with(".cc") || frame.file.ends_with(".h") ||
                  contains(frame.file, ".so") || frame.file == "??");
  return frame;
}

std::uint32_t RecorderValues::signature(std::uint32_t operation,
                                        std::initializer_list<const Value*> values) {
  std::uint64_t hash = operation;
  for (const Value* v : values) hash = hash_of(*v, hash, 3);
  return fold32(hash);
}

std::uint64_t RecorderValues::hash_of(const Value& v, std::uint64_t hash, int depth) {
  switch (v.kind) {
    case Value::Kind::text: return mix(hash, hash_text(v.text()));
    case Value::Kind::integer:
    case Value::Kind::boolean: return mix(hash, static_cast<std::uint64_t>(v.integer) + 1);
    case Value::Kind::list:
      hash = mix(hash, 0x10000001);
      if (depth > 0)
        tree.each(v, [&](const Value& item) {
          hash = hash_of(item, hash, depth - 1);
          return spend();
        });
      return mix(hash, 0x10000002);
    default: return mix(hash, 0);
  }
}

}  // namespace culprit::ingest
