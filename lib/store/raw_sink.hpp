// The sink of a database, as shards and merges need it: it takes rows as another database holds
// them, and keeps the order in which rows came.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "model/sink.hpp"
#include "store/statement.hpp"

namespace culprit::store {

enum class Refers : std::uint8_t { nothing, key, member, group, stack, series };

// What the ids of the other database are in this one.
class RowIds {
 public:
  virtual ~RowIds() = default;
  virtual std::optional<std::int64_t> id(Refers to, std::int64_t there) = 0;
};

class RawSink : public MemberSink {
 public:
  using MemberSink::put;
  // table: its place in CULPRIT_ROWS. from: stands on a row, whose columns are those of the table.
  // False when an id leads nowhere.
  virtual bool put(std::size_t table, Statement& from, RowIds& ids) = 0;
  virtual std::optional<std::int64_t> stack(const std::vector<Frame>& frames) = 0;
  virtual void put_tape(std::uint64_t place, std::string_view entries) = 0;  // of a shard
};

}  // namespace culprit::store
