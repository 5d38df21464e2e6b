// A table without a database: what somebody exported, or what a script printed, read as named
// columns of numbers.
//
// Forms, told from the bytes:
//   delimited   comma, tab, semicolon or blanks; with or without a header; quotes, CRLF, a byte
//   order mark, lines of '#' on
//               top; also one number a line
//   JSON        [1, null, 2] · [{"a": 1}, ...] · [["a"], [1], ...] · {"a": [1, ...], ...} · {"a":
//   {"values": {"1": 2.5, ...}}}
//               (Megatron's golden values; keys in numeric order) · {"name", "n_obs", "series":
//               [{"label", "raw": [...]}]} (Turing Change Point Dataset, van den Burg & Williams,
//               arXiv 2003.06222)
//   JSON lines  one object (or array) a line; what is nested gets a name with dots
// Bare NaN and Infinity are accepted in JSON. Missing is: an empty cell, null, nan, na, n/a, none,
// -, and a key that is not there.
//
// Every broken line is a reject with its number; what hurts the table as a whole is an error.
// Reading is linear in the bytes.
#pragma once

#include <cstdint>
#include <deque>
#include <initializer_list>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "model/result.hpp"

namespace culprit::ingest {

struct TableLimits {
  std::size_t bytes = std::size_t{1} << 30;
  std::size_t columns = 65536;
  std::size_t cells =
      std::size_t{1}
      << 27;  // rows x columns; also no more than the bytes can mean (holes are not free)
  std::size_t cell_bytes = 64 << 10;  // a longer one is a reject, and missing
  std::size_t rejects = 100;          // kept; the others are counted
};

struct TableOptions {
  enum class Header { detect, yes, no };
  Header header = Header::detect;  // of delimited text
  TableLimits limits;
};

struct TableColumn {
  // What a column is for, by its name and by how its numbers run; `series` is all that is nothing
  // else.
  enum class Use { series, index, iteration, time, label };

  std::string name;  // "column 3" when it has none; unique in the table
  Use use = Use::series;
  std::vector<std::string_view> cells;  // as they stand, unquoted; views into the table
  std::vector<double> values;           // NaN: missing, or no number
  std::size_t missing = 0;              // cells that are empty or say so
  std::size_t texts = 0;                // cells that are neither missing nor a number
};

struct TableReject {
  std::uint64_t line = 0;  // 1-based; 0 in a JSON document
  std::string code;        // table.short_row table.long_row table.cell_too_long table.quote
                           // table.not_a_number table.bad_json table.not_a_row
  std::string excerpt;     // 200 bytes at most
};

struct BareTable {
  std::string form;  // "csv" "tsv" "semicolon" "blanks" "numbers" "json" "jsonl" "tcpd"
  std::string name;  // what the document calls itself, or ""
  bool header = false;
  bool multivariate = false;  // the columns of use `series` are dimensions of one series (tcpd)
  std::size_t rows = 0;
  std::vector<TableColumn> columns;
  std::vector<TableReject> rejects;
  std::size_t rejected = 0;  // with those not kept

  const TableColumn* find(std::string_view column) const;
  const TableColumn* first(TableColumn::Use use) const;
  // The first of these names that a column has; written as folded_name() gives them.
  const TableColumn* named(std::initializer_list<std::string_view> names) const;

  // What the cells are views of; copies of the table share it.
  std::shared_ptr<const std::string> bytes;
  std::shared_ptr<std::deque<std::string>> made = std::make_shared<std::deque<std::string>>();
};

// `path` is for messages. Errors: no rows, no columns, a limit, a JSON document that is no table.
Result<BareTable> read_bare_table(std::string bytes, const std::string& path,
                                  const TableOptions& options = {});

// Small letters and digits only: "Iter (ms)" and "iter_ms" are one name.
std::string folded_name(std::string_view name);

// A number as the cells have it (also 1e3, inf); false for a text. A missing cell gives NaN and
// true.
bool cell_number(std::string_view cell, double& value);

}  // namespace culprit::ingest
