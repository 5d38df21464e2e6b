// Any bytes, as a table: one without a database, and the events of another system out of it.
// Nothing may crash; every column has as many cells as there are rows; a refusal has a reason.
#include <algorithm>

#include "any_rows.hpp"
#include "fleet/import.hpp"
#include "ingest/table/bare_table.hpp"
#include "ingest/table/call_table.hpp"
#include "line/timestamp.hpp"

using namespace culprit;
using test::hold;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::string bytes(reinterpret_cast<const char*>(data), size);
  const auto table = ingest::read_bare_table(std::move(bytes), "t.csv");
  if (!table) {
    hold(!table.error().what.empty(), "why it is no table");
    return 0;
  }
  if (ingest::is_call_table(*table)) {
    const auto calls = ingest::read_call_table(*table, "t.csv");
    hold(calls || !calls.error().what.empty(), "why it is no table of calls");
  }
  fleet::ImportTable import;
  import.rows = table->rows;
  for (const ingest::TableColumn& column : table->columns) {
    hold(column.cells.size() == table->rows, "a cell a row");
    hold(column.values.empty() || column.values.size() == table->rows, "a value a row");
    import.columns.push_back(column.name);
    import.cells.push_back(column.cells);
  }
  hold(table->rejects.size() <= table->rejected, "the rejects that are counted");
  fleet::ImportParams params;
  params.system = "other";
  params.file = "t.csv";
  const auto parse_time = [](std::string_view text) -> std::optional<Nanoseconds> {
    Timestamp stamp;
    if (line::parse_iso(text, stamp) == 0) return std::nullopt;
    return stamp.ns;
  };
  const auto imported = fleet::import_events(import, params, parse_time);
  if (!imported) hold(!imported.error().what.empty(), "why it cannot be imported");
  return 0;
}
