#include "ingest/table/metric_table.hpp"

#include <charconv>
#include <cmath>
#include <unordered_map>

#include <fmt/format.h>

#include "ingest/table/table_times.hpp"
#include "line/timestamp.hpp"
#include "model/sort.hpp"

namespace culprit::ingest {

namespace {

using Use = TableColumn::Use;

struct Owners {
  const TableColumn *host, *gpu, *nic, *rank, *role;
  bool any() const {
    return host != nullptr || gpu != nullptr || nic != nullptr || rank != nullptr;
  }
  bool has(const TableColumn* c) const {
    return c == host || c == gpu || c == nic || c == rank || c == role;
  }
};

Owners owners_of(const BareTable& table) {
  return {table.named({"host", "hostname", "node", "nodename", "machine", "server", "instance",
                       "hostip", "ip"}),
          table.named({"gpu", "gpuid", "gpuindex", "device", "localrank", "gpuuuid", "uuid"}),
          table.named({"nic", "hca", "rdmadevice", "interface", "port"}),
          table.named({"rank", "globalrank", "worker"}),
          table.named({"role", "group", "stage", "pprank", "pipelinestage", "pp"})};
}

// "3", "GPU 3", "gpu3" -> "gpu3"; anything else as it stands.
std::string part(std::string_view cell, std::string_view kind) {
  const std::size_t at = cell.find_last_not_of("0123456789");
  const std::string_view digits = at == std::string_view::npos ? cell : cell.substr(at + 1);
  const std::string before = folded_name(cell.substr(0, cell.size() - digits.size()));
  if (!digits.empty() && (before.empty() || before == kind))
    return std::string(kind).append(digits);
  return std::string(cell);
}

struct Owner {
  std::string name, host, role;
};

Owner owner(const Owners& by, std::size_t row) {
  const auto cell = [&](const TableColumn* c) {
    return c == nullptr ? std::string_view() : c->cells[row];
  };
  Owner out{.host = std::string(cell(by.host)), .role = std::string(cell(by.role))};
  if (!cell(by.gpu).empty())
    out.name = part(cell(by.gpu), "gpu");
  else if (!cell(by.nic).empty())
    out.name = std::string(cell(by.nic));
  if (!out.host.empty() && !out.name.empty())
    out.name = out.host + "/" + out.name;
  else if (out.name.empty() && !cell(by.rank).empty())
    out.name = "rank " + part(cell(by.rank), "rank")
                             .substr(part(cell(by.rank), "rank").rfind("rank", 0) == 0 ? 4 : 0);
  else if (out.name.empty())
    out.name = out.host;
  return out;
}

// "592.74 W" -> 592.74: nvidia-smi repeats the unit in every cell.
double leading_number(std::string_view cell) {
  double value = std::nan("");
  const auto [end, error] = std::from_chars(cell.data(), cell.data() + cell.size(), value);
  if (error != std::errc() || (end != cell.data() + cell.size() && *end != ' ' && *end != '%'))
    return std::nan("");
  return value;
}

double value_of(const TableColumn& column, std::size_t row) {
  const double value = column.values[row];
  return value == value ? value : leading_number(column.cells[row]);
}

bool of_numbers(const TableColumn& column) {
  if (column.use == Use::series) return true;
  if (column.use != Use::label) return false;
  std::size_t numbers = 0, filled = 0;
  for (const std::string_view cell : column.cells) {
    filled += !cell.empty();
    numbers += !std::isnan(leading_number(cell));
  }
  return 2 * numbers > filled;
}

class Builder {
 public:
  void add(const std::string& metric, const Owner& who, Nanoseconds time, double value) {
    const auto [m, fresh_metric] = metrics_.emplace(metric, out_.size());
    if (fresh_metric) {
      out_.emplace_back().name = metric;
      entities_.emplace_back();
    }
    MetricSeries& series = out_[m->second];
    const auto [e, fresh] = entities_[m->second].emplace(who.name, series.entities.size());
    if (fresh) series.entities.push_back({who.name, who.role, Host(who.host), {}, {}});
    MetricSeries::Entity& entity = series.entities[e->second];
    entity.times.push_back(time);
    entity.values.push_back(value);
    ++samples_;
  }

  std::size_t samples() const { return samples_; }

  std::vector<MetricSeries> take() {
    for (MetricSeries& m : out_) sort_by(m.entities, [](const auto& a) { return a.name; });
    sort_by(out_, [](const auto& a) { return a.name; });
    return std::move(out_);
  }

 private:
  std::vector<MetricSeries> out_;
  std::unordered_map<std::string, std::size_t> metrics_;
  std::vector<std::unordered_map<std::string, std::size_t>> entities_;
  std::size_t samples_ = 0;
};

// What all forms of tables are read with.
struct MetricColumns {
  const BareTable& table;
  const std::string& path;
  const TableColumn* when;
  const TableColumn* metric;  // null: none
  const TableColumn* value;   // null: none
  Owners by;
  std::vector<Nanoseconds> times;  // by row
};

// A sample a row: time, owner, metric, value.
Result<> read_long(const MetricColumns& from, MetricTable& out, Builder& builder) {
  out.form = "long";
  if (!from.by.any())
    return fail("no column says whose the values are")
        .at({from.path, 0})
        .hint("name it host, rank, gpu or nic");
  for (std::size_t r = 0; r < from.table.rows; ++r) {
    const Owner who = owner(from.by, r);
    const double v = value_of(*from.value, r);
    if (from.times[r] == kNoValue || who.name.empty() || from.metric->cells[r].empty() ||
        std::isnan(v)) {
      ++out.left_out;
      continue;
    }
    builder.add(std::string(from.metric->cells[r]), who, from.times[r], v);
  }
  return {};
}

// A row an owner and time, a column a metric.
void read_rows(const MetricColumns& from, const MetricTableOptions& options, MetricTable& out,
               Builder& builder) {
  out.form = "rows";
  std::vector<const TableColumn*> columns;
  for (const TableColumn& c : from.table.columns)
    if (&c != from.when && !from.by.has(&c) && of_numbers(c)) columns.push_back(&c);
  for (std::size_t r = 0; r < from.table.rows; ++r) {
    const Owner who = owner(from.by, r);
    if (from.times[r] == kNoValue || who.name.empty()) {
      ++out.left_out;
      continue;
    }
    for (const TableColumn* c : columns)
      if (const double v = value_of(*c, r); v == v)
        builder.add(c == from.value && !options.metric.empty() ? options.metric : c->name, who,
                    from.times[r], v);
  }
}

// A row a time, a column an owner.
Result<> read_wide(const MetricColumns& from, const MetricTableOptions& options, MetricTable& out,
                   Builder& builder) {
  out.form = "wide";
  std::vector<const TableColumn*> columns;
  for (const TableColumn& c : from.table.columns) {
    if (&c == from.when || !of_numbers(c)) continue;
    // Temperature and power of one machine are not two machines.
    if (options.known_metric != nullptr && options.known_metric(c.name))
      return fail(fmt::format("'{}' is a metric, and no column says whose the values are", c.name))
          .at({from.path, 0})
          .hint("add a column host, rank, gpu or nic; or make it a column a host");
    columns.push_back(&c);
  }
  const std::string name = options.metric.empty() ? "value" : options.metric;
  for (std::size_t r = 0; r < from.table.rows; ++r) {
    if (from.times[r] == kNoValue) {
      ++out.left_out;
      continue;
    }
    for (const TableColumn* c : columns)
      if (const double v = value_of(*c, r); v == v)
        builder.add(name, {c->name, c->name.substr(0, c->name.find('/')), ""}, from.times[r], v);
  }
  return {};
}

}  // namespace

Result<MetricTable> read_metric_table(const BareTable& table, const std::string& path,
                                      const MetricTableOptions& options) {
  const TableColumn* when = table.named({"time", "timestamp", "ts", "t"});
  for (const TableColumn& column : table.columns)
    if (when == nullptr && line::names_moment(column.name)) when = &column;
  if (when == nullptr) when = table.first(Use::time);
  if (when == nullptr)
    return fail("it has no time column")
        .at({path, 0})
        .hint("name it time or timestamp: seconds, ms or ns since 1970, or 2026-11-21T03:19:38Z");
  TableTimes read = table_times(*when);
  const MetricColumns from{table,
                           path,
                           when,
                           table.named({"metric", "metricname", "counter", "name"}),
                           table.named({"value", "val"}),
                           owners_of(table),
                           std::move(read.times)};
  MetricTable out;
  out.rows = table.rows;
  if (read.no_zone) out.notes.push_back("times have no zone: taken for UTC");
  if (read.since_start)
    out.notes.push_back("times are small numbers: taken for seconds from an unknown start");
  Builder builder;
  if (from.metric != nullptr && from.value != nullptr)
    CULPRIT_CHECK(read_long(from, out, builder));
  else if (from.by.any())
    read_rows(from, options, out, builder);
  else
    CULPRIT_CHECK(read_wide(from, options, out, builder));
  if (builder.samples() == 0)
    return fail("it has no value with a time and an owner")
        .at({path, 0})
        .hint(
            "a long table has the columns time, host, metric, value; a wide one time and a column "
            "a host");
  out.metrics = builder.take();
  for (MetricSeries& m : out.metrics) m.unit = options.unit;
  return out;
}

}  // namespace culprit::ingest
