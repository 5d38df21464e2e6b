// Values of a flight recorder's dump: numbers, shapes, types, frames, and where they stand.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ingest/engine/tree.hpp"
#include "model/rows.hpp"
#include "model/sink.hpp"

namespace culprit::ingest {

// A dump in its file.
struct RecorderPart {
  std::string_view bytes;
  const MemberRow& member;
  Sink& sink;
  bool json = false;
  std::uint64_t offset = 0, lines = 0;  // of a page: before this part

  Place place_of(const Tree::Node& node, std::uint64_t line) const {
    return {member.id, line, offset + node.offset, node.length};
  }
  void reject(std::string reason, std::size_t at, std::string excerpt) const;
};

class RecorderValues {
 public:
  // Every value that is looked at costs; a small file may refer to one large list a million times.
  // bytes: of the dump.
  explicit RecorderValues(std::size_t bytes) : budget_(bytes * 64 + (1 << 20)) {}
  bool spend() {
    if (budget_ == 0) return false;
    --budget_;
    return true;
  }
  bool spent() const { return budget_ == 0; }

  static std::string clip(std::string_view text, std::size_t most) {
    return std::string(text.substr(0, most));
  }
  static std::optional<std::int64_t> integer(const Value& v);
  static Nanoseconds moment(const Value& v);  // 0: none
  static std::string spelt(const Value& v);
  static std::uint32_t hash(std::string_view text);

  std::vector<Rank> ranks(const Value& v);  // sorted; empty where one of them is no rank
  // What a call sends and receives: sizes and types as text, and bytes where both tell them.
  void put_tensors(const Value& in, const Value& out, const Value& in_types, const Value& out_types,
                   CollectiveRow& row);
  Frame frame(const Value& v);
  // Of a call: alike for equal operation, sizes and types.
  std::uint32_t signature(std::uint32_t operation, std::initializer_list<const Value*> values);

  Tree tree;

 private:
  void append_shape(const Value& shape, std::string& out, int depth);
  std::vector<std::int64_t> elements(const Value& shapes);
  std::vector<std::string_view> types(const Value& v);
  std::uint64_t hash_of(const Value& v, std::uint64_t hash, int depth);

  std::size_t budget_;
};

}  // namespace culprit::ingest
