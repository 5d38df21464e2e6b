// Shared by the files that read bare tables; nobody else needs it.
#pragma once

#include <unordered_map>

#include "ingest/table/bare_table.hpp"

namespace culprit::ingest {

// Fills a table row by row; keeps it within its limits and all columns of one length.
class TableBuilder {
 public:
  TableBuilder(BareTable& table, const TableLimits& limits, std::string path)
      : table_(table), limits_(limits), path_(std::move(path)) {}

  // The column of a name, made when it is new; rows before are missing in it. kNone when the table
  // is full.
  static constexpr std::size_t kNone = ~std::size_t{0};
  std::size_t column(std::string_view name);
  void set(std::size_t column, std::string_view cell);
  void set(std::size_t column, std::size_t row, std::string_view cell);
  bool has(const std::string& name) const { return names_.contains(name); }
  void begin_row(std::uint64_t line);  // columns that get no cell are missing in it
  void reject(std::uint64_t line, std::string_view code, std::string_view excerpt);
  void full(std::string what) {
    if (problem_.empty()) problem_ = std::move(what);
  }
  Result<> finish();  // values, uses, names

  std::string_view keep(std::string text) { return table_.made->emplace_back(std::move(text)); }
  const std::string& problem() const { return problem_; }
  BareTable& table() { return table_; }

 private:
  BareTable& table_;
  const TableLimits& limits_;
  std::string path_, problem_;
  bool room(std::size_t rows, std::size_t columns);
  std::vector<std::uint64_t> lines_;  // of the rows; 0 when they have none
  std::unordered_map<std::string, std::size_t> names_;
};

void find_uses(BareTable& table);  // bare_table_uses.cpp
Result<> read_delimited_table(std::string_view bytes, const TableOptions& options,
                              TableBuilder& builder);
Result<> read_json_table(std::string_view bytes, TableBuilder& builder);

}  // namespace culprit::ingest
