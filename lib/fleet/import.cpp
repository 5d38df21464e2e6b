#include "fleet/import.hpp"

#include <algorithm>
#include <cmath>
#include <deque>

#include <fmt/format.h>

#include "model/contains.hpp"
#include "model/number.hpp"
#include "model/sort.hpp"
#include "model/word_list.hpp"

namespace culprit::fleet {

namespace {

struct Names {
  Field field;
  std::string_view columns;  // folded: small letters and digits
};

// The first of a field that a table has is taken.
constexpr Names kNames[] = {
    {Field::host,
     "host hostname node nodeid nodename machine machineid server serverid instance "
     "labelsinstance"},
    {Field::device, "device gpu gpuid gpuuuid gpuserial serial serialnumber nic port part"},
    {Field::start,
     "start starttime startsat begin began opened openedat faultstart createdat "
     "created from"},
    {Field::end,
     "end endtime endsat ended closed closedat resolved resolvedat cleared faultend to"},
    {Field::duration, "duration durations durationseconds"},
    {Field::time, "time timestamp eventtime ts date when"},
    {Field::kind, "eventtype kind event status state action"},
    {Field::level, "level severity faulttypelevel labelsseverity"},
    {Field::event_class,
     "class faulttypeclass faultclass faulttype component category type errortype "
     "alertname labelsalertname reason error"},
    {Field::description,
     "desc description faulttypedesc message detail details summary annotationssummary"},

};

constexpr std::pair<std::string_view, Field> kFields[] = {
    {"host", Field::host},         {"device", Field::device},
    {"time", Field::time},         {"start", Field::start},
    {"end", Field::end},           {"duration", Field::duration},
    {"kind", Field::kind},         {"level", Field::level},
    {"class", Field::event_class}, {"description", Field::description}};

constexpr std::string_view kEnds[] = {"end",      "ended",   "faultend",  "failureend", "resolved",
                                      "closed",   "cleared", "recovered", "ok",         "up",
                                      "inactive", "close",   "recovery",  "stop"};
constexpr std::string_view kRepairs[] = {"repair", "repaired", "replaced", "rma", "replacement"};
constexpr std::string_view kReboots[] = {"reboot", "rebooted", "restart", "reset", "powercycle"};

std::string folded(std::string_view name) {
  std::string out;
  for (const char c : name) {
    if (c >= 'A' && c <= 'Z')
      out += static_cast<char>(c - 'A' + 'a');
    else if ((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'))
      out += c;
  }
  return out;
}

template <std::size_t N>
bool one_of(const std::string& word, const std::string_view (&words)[N]) {
  return contains(words, word);
}

std::optional<double> number_of(std::string_view text) {
  const auto value = whole_number<double>(text);
  return value && std::isfinite(*value) ? value : std::nullopt;
}

std::uint64_t hash(std::string_view text) {  // FNV-1a
  std::uint64_t h = 0xcbf29ce484222325ULL;
  for (const char c : text) h = (h ^ static_cast<unsigned char>(c)) * 0x100000001b3ULL;
  return h;
}

class Import {
 public:
  Import(const ImportTable& table, const ImportParams& params,
         std::optional<Nanoseconds> (*parse_time)(std::string_view))
      : table_(table), params_(params), parse_time_(parse_time) {}

  Result<Imported> run() {
    CULPRIT_CHECK(choose());
    out_.rows = table_.rows;
    struct Line {
      std::size_t row;
      FleetEvent event;
      bool ends;
    };
    std::vector<Line> lines;
    for (std::size_t row = 0; row < table_.rows; ++row) {
      FleetEvent e;
      bool ends = false;
      if (const std::string why = read(row, e, ends); !why.empty())
        out_.rejects.emplace_back(row + 1, why);
      else
        lines.push_back({row, std::move(e), ends});
    }
    // An end that comes before its beginning in the file is no less its end.
    sort_by(lines, [](const Line& a) { return std::tuple(a.event.start, a.ends); });
    std::map<std::string, std::deque<std::size_t>> open;
    for (Line& line : lines) {
      const std::string key =
          fmt::format("{}\n{}\n{}\n{}\n{}", line.event.kind, line.event.host, line.event.device,
                      line.event.event_class, line.event.description);
      if (line.ends) {
        auto& waiting = open[key];
        if (waiting.empty()) {
          out_.rejects.emplace_back(line.row + 1, "an end without a beginning");
          continue;
        }
        out_.events[waiting.front()].end = line.event.start;
        waiting.pop_front();
      } else {
        if (paired_ && !line.event.end) open[key].push_back(out_.events.size());
        out_.events.push_back(std::move(line.event));
      }
      ++out_.used;
    }
    sort_rows(out_.rejects);
    identify();
    return std::move(out_);
  }

 private:
  Result<> choose() {
    std::vector<std::string> names;
    for (const std::string& c : table_.columns) names.push_back(folded(c));
    for (const Names& n : kNames)
      for (std::string_view left = n.columns; !left.empty() && column_.count(n.field) == 0;)
        if (const auto at = std::ranges::find(names, take_word(left)); at != names.end())
          column_[n.field] = static_cast<std::size_t>(at - names.begin());
    for (const auto& [field, column] : params_.columns) {
      const auto known = std::find_if(std::begin(kFields), std::end(kFields),
                                      [&field = field](const auto& f) { return f.first == field; });
      if (known == std::end(kFields))
        return usage_error(fmt::format("--column knows no '{}'", field))
            .hint("host, device, time, start, end, duration, kind, level, class, description");
      const auto at = std::find(table_.columns.begin(), table_.columns.end(), column);
      if (at == table_.columns.end())
        return usage_error(fmt::format("the table has no column '{}'", column))
            .hint(fmt::format("it has {}", fmt::join(table_.columns, ", ")));
      column_[known->second] = static_cast<std::size_t>(at - table_.columns.begin());
    }
    if (column_.count(Field::start) == 0 && column_.count(Field::time) > 0) {
      column_[Field::start] = column_[Field::time];
    }
    if (column_.count(Field::host) == 0 || column_.count(Field::start) == 0)
      return usage_error(column_.count(Field::host) == 0 ? "no column names the machine"
                                                         : "no column is the time")
          .at({params_.file, 0})
          .hint(fmt::format("--column {} says which; the table has {}",
                            column_.count(Field::host) == 0 ? "host=NAME" : "time=NAME",
                            fmt::join(table_.columns, ", ")));
    column_.erase(Field::time);
    for (const auto& [name, field] : kFields)
      if (const auto it = column_.find(field); it != column_.end())
        out_.columns[std::string(name)] = table_.columns[it->second];
    for (std::size_t row = 0; row < table_.rows && !paired_; ++row)
      paired_ = one_of(folded(cell(Field::kind, row)), kEnds);
    return {};
  }

  std::string cell(Field field, std::size_t row) const {
    const auto it = column_.find(field);
    return it == column_.end() ? "" : std::string(table_.cells[it->second][row]);
  }

  std::optional<Nanoseconds> time(const std::string& text) const {
    const auto number = number_of(text);
    if (!number) return parse_time_(text);
    double unit = params_.unit_s;
    if (unit <= 0) {  // seconds since 1970 have ten digits, milliseconds thirteen ...
      const double size = std::abs(*number);
      unit = params_.epoch || size < 1e11 ? 1 : size < 1e14 ? 1e-3 : size < 1e17 ? 1e-6 : 1e-9;
    }
    const double ns = *number * unit * 1e9 + static_cast<double>(params_.epoch.value_or(0));
    if (!(std::abs(ns) < 9e18)) return std::nullopt;
    // Whole microseconds: what a decimal fraction of days cannot tell apart would only look exact.
    return static_cast<Nanoseconds>(std::llround(*number * unit * 1e6)) * 1000 +
           params_.epoch.value_or(0);
  }

  // Why the row is none; "".
  std::string read(std::size_t row, FleetEvent& e, bool& ends) const {
    e.system = params_.system;
    e.host = cell(Field::host, row);
    e.device = cell(Field::device, row);
    e.level = cell(Field::level, row);
    e.event_class = cell(Field::event_class, row);
    e.description = cell(Field::description, row);
    e.place = fmt::format("{}:{}", params_.file, row + 1);
    if (e.host.empty()) return "no machine";
    const std::string start = cell(Field::start, row);
    if (start.empty()) return "no time";
    e.start = time(start);
    if (!e.start) return "not a time: " + start.substr(0, 40);
    if (const std::string end = cell(Field::end, row); !end.empty()) {
      e.end = time(end);
      if (!e.end) return "not a time: " + end.substr(0, 40);
    } else if (const std::string d = cell(Field::duration, row); !d.empty()) {
      const auto seconds = number_of(d);
      if (!seconds || *seconds < 0 || *seconds > 1e10)
        return "not a duration in seconds: " + d.substr(0, 40);
      e.end = *e.start + static_cast<Nanoseconds>(*seconds * 1e9);
    }
    // Alertmanager writes the year 1 for "not yet".
    if (e.end && *e.end < *e.start) {
      if (*e.end >= 0) return "it ends before it begins";
      e.end.reset();
    }
    const std::string kind = folded(cell(Field::kind, row));
    ends = one_of(kind, kEnds);
    e.kind = one_of(kind, kRepairs) ? "repair" : one_of(kind, kReboots) ? "reboot" : "failure";
    if (ends && e.end) ends = false;  // a whole event in its last state
    return "";
  }

  // Equal rows are events of their own; the same file again gives the same ids.
  void identify() {
    std::map<std::string, int> seen;
    for (FleetEvent& e : out_.events) {
      const std::string text =
          fmt::format("{}\n{}\n{}\n{}\n{}\n{}\n{}\n{}", e.system, e.kind, e.host, e.device, e.level,
                      e.event_class, e.description, e.start.value_or(0));
      const int again = seen[text]++;
      e.id = fmt::format("{:016x}{:016x}", hash(text), hash(fmt::format("{}\n{}", again, text)));
    }
  }

  const ImportTable& table_;
  const ImportParams& params_;
  std::optional<Nanoseconds> (*parse_time_)(std::string_view);
  std::map<Field, std::size_t> column_;
  bool paired_ = false;  // some rows end what others began
  Imported out_;
};

}  // namespace

Field field_named(std::string_view name) {
  const std::string word = folded(name);
  for (const Names& n : kNames)
    if (has_word(n.columns, word)) return n.field;
  return Field::none;
}

Result<Imported> import_events(const ImportTable& table, const ImportParams& params,
                               std::optional<Nanoseconds> (*parse_time)(std::string_view)) {
  return Import(table, params, parse_time).run();
}

}  // namespace culprit::fleet
