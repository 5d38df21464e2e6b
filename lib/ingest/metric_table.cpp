#include "ingest/metric_table.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <initializer_list>
#include <map>
#include <optional>
#include <unordered_map>

#include <fmt/format.h>

#include "line/timestamp.hpp"

namespace culprit::ingest {

namespace {

using Use = TableColumn::Use;

std::string plain(std::string_view name) {
  std::string out;
  for (const char c : name)
    if (c != '_' && c != ' ' && c != '-' && c != '#') out += c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c;
  return out;
}

const TableColumn* named(const BareTable& table, std::initializer_list<std::string_view> names) {
  for (const std::string_view name : names)
    for (const TableColumn& column : table.columns)
      if (plain(column.name) == name) return &column;
  return nullptr;
}

struct Owners {
  const TableColumn *host, *gpu, *nic, *rank, *role;
  bool any() const { return host != nullptr || gpu != nullptr || nic != nullptr || rank != nullptr; }
  bool has(const TableColumn* c) const { return c == host || c == gpu || c == nic || c == rank || c == role; }
};

Owners owners_of(const BareTable& table) {
  return {named(table, {"host", "hostname", "node", "nodename", "machine", "server", "instance", "hostip", "ip"}), named(table, {"gpu", "gpuid", "gpuindex", "device", "localrank", "gpuuuid", "uuid"}),
          named(table, {"nic", "hca", "rdmadevice", "interface", "port"}), named(table, {"rank", "globalrank", "worker"}), named(table, {"role", "group", "stage", "pprank", "pipelinestage", "pp"})};
}

// "3", "GPU 3", "gpu3" -> "gpu3"; anything else as it stands.
std::string part(std::string_view cell, std::string_view kind) {
  std::string text = plain(cell);
  if (text.rfind(kind, 0) == 0) text = text.substr(kind.size());
  if (!text.empty() && text.find_first_not_of("0123456789") == std::string::npos) return std::string(kind) + text;
  return std::string(cell);
}

struct Owner { std::string name, host, role; };

Owner owner(const Owners& by, std::size_t row) {
  const auto cell = [&](const TableColumn* c) { return c == nullptr ? std::string_view() : c->cells[row]; };
  Owner out;
  out.host = std::string(cell(by.host));
  out.role = std::string(cell(by.role));
  if (!cell(by.gpu).empty()) out.name = part(cell(by.gpu), "gpu");
  else if (!cell(by.nic).empty()) out.name = std::string(cell(by.nic));
  if (!out.host.empty() && !out.name.empty()) out.name = out.host + "/" + out.name;
  else if (out.name.empty() && !cell(by.rank).empty()) out.name = "rank " + part(cell(by.rank), "rank").substr(part(cell(by.rank), "rank").rfind("rank", 0) == 0 ? 4 : 0);
  else if (out.name.empty()) out.name = out.host;
  return out;
}

// "592.74 W" -> 592.74: nvidia-smi repeats the unit in every cell.
double leading_number(std::string_view cell) {
  double value = std::nan("");
  const auto [end, error] = std::from_chars(cell.data(), cell.data() + cell.size(), value);
  if (error != std::errc() || (end != cell.data() + cell.size() && *end != ' ' && *end != '%')) return std::nan("");
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

// The times of all rows; kNoTime where there is none.
constexpr Nanoseconds kNoTime = std::numeric_limits<Nanoseconds>::min();

std::vector<Nanoseconds> times_of(const TableColumn& column, std::vector<std::string>& notes) {
  std::vector<Nanoseconds> out(column.cells.size(), kNoTime);
  double most = 0;
  for (const double v : column.values)
    if (std::isfinite(v)) most = std::max(most, std::fabs(v));
  // 1e11 seconds are the year 5138; 1e11 milliseconds are 1973.
  const double unit = most < 1e11 ? 1e9 : most < 1e14 ? 1e6 : most < 1e17 ? 1e3 : 1;
  bool local = false, small = false;
  for (std::size_t r = 0; r < out.size(); ++r) {
    const double v = column.values[r];
    if (std::isfinite(v)) {
      small = small || most < 1e8;
      if (std::fabs(v * unit) < 4e18) out[r] = std::llround(v * unit);
      continue;
    }
    Timestamp stamp;
    const std::string_view cell = column.cells[r];
    if (line::parse_iso(cell, stamp) == 0 && line::parse_calendar(cell, stamp) == 0) continue;
    if (stamp.clock != Clock::utc && stamp.clock != Clock::local && stamp.clock != Clock::local_no_year) continue;
    local = local || stamp.clock != Clock::utc;
    out[r] = stamp.ns;
  }
  if (local) notes.push_back("times have no zone: taken for UTC");
  if (small) notes.push_back("times are small numbers: taken for seconds from an unknown start");
  return out;
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
    if (fresh) series.entities.push_back({who.name, who.role, who.host, {}, {}});
    MetricSeries::Entity& entity = series.entities[e->second];
    entity.times.push_back(time);
    entity.values.push_back(value);
  }

  std::vector<MetricSeries> take() {
    for (MetricSeries& m : out_) std::sort(m.entities.begin(), m.entities.end(), [](const auto& a, const auto& b) { return a.name < b.name; });
    std::sort(out_.begin(), out_.end(), [](const auto& a, const auto& b) { return a.name < b.name; });
    return std::move(out_);
  }

 private:
  std::vector<MetricSeries> out_;
  std::unordered_map<std::string, std::size_t> metrics_;
  std::vector<std::unordered_map<std::string, std::size_t>> entities_;
};

}  // namespace

Result<MetricTable> read_metric_table(const BareTable& table, const std::string& path, const MetricTableOptions& options) {
  const TableColumn* when = named(table, {"time", "timestamp", "ts", "datetime", "date", "t", "unixtime", "epoch", "walltime", "timems", "tsns", "timens"});
  if (when == nullptr) when = table.first(Use::time);
  if (when == nullptr) return fail("there is no column of times").at({path, 0}).hint("name it time or timestamp: seconds, ms or ns since 1970, or 2026-11-21T03:19:38Z");
  const TableColumn* metric = named(table, {"metric", "metricname", "counter", "name"});
  const TableColumn* value = named(table, {"value", "val"});
  const Owners by = owners_of(table);
  MetricTable out;
  out.rows = table.rows;
  const auto times = times_of(*when, out.notes);
  Builder builder;
  std::size_t samples = 0;
  if (metric != nullptr && value != nullptr) {
    out.form = "long";
    if (!by.any()) return fail("no column says whose the values are").at({path, 0}).hint("name it host, rank, gpu or nic");
    for (std::size_t r = 0; r < table.rows; ++r) {
      const Owner who = owner(by, r);
      const double v = value_of(*value, r);
      if (times[r] == kNoTime || who.name.empty() || metric->cells[r].empty() || std::isnan(v)) { ++out.left_out; continue; }
      builder.add(std::string(metric->cells[r]), who, times[r], v);
      ++samples;
    }
  } else if (by.any()) {
    out.form = "rows";
    std::vector<const TableColumn*> columns;
    for (const TableColumn& c : table.columns)
      if (&c != when && !by.has(&c) && of_numbers(c)) columns.push_back(&c);
    for (std::size_t r = 0; r < table.rows; ++r) {
      const Owner who = owner(by, r);
      if (times[r] == kNoTime || who.name.empty()) { ++out.left_out; continue; }
      for (const TableColumn* c : columns)
        if (const double v = value_of(*c, r); v == v) {
          builder.add(c == value && !options.metric.empty() ? options.metric : c->name, who, times[r], v);
          ++samples;
        }
    }
  } else {
    out.form = "wide";
    std::vector<const TableColumn*> columns;
    for (const TableColumn& c : table.columns) {
      if (&c == when || !of_numbers(c)) continue;
      // Temperature and power of one machine are not two machines.
      if (options.known_metric != nullptr && options.known_metric(c.name))
        return fail(fmt::format("'{}' is a metric, and no column says whose the values are", c.name)).at({path, 0}).hint("add a column host, rank, gpu or nic; or make it a column a host");
      columns.push_back(&c);
    }
    const std::string name = options.metric.empty() ? "value" : options.metric;
    for (std::size_t r = 0; r < table.rows; ++r) {
      if (times[r] == kNoTime) { ++out.left_out; continue; }
      for (const TableColumn* c : columns)
        if (const double v = value_of(*c, r); v == v) {
          builder.add(name, {c->name, c->name.substr(0, c->name.find('/')), ""}, times[r], v);
          ++samples;
        }
    }
  }
  if (samples == 0) return fail("there is no value with a time and an owner").at({path, 0}).hint("a long table has the columns time, host, metric, value; a wide one time and a column a host");
  out.metrics = builder.take();
  for (MetricSeries& m : out.metrics) m.unit = options.unit;
  return out;
}

}  // namespace culprit::ingest
