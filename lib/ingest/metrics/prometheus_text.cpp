// Prometheus text format 0.0.4 and OpenMetrics 1.0: one scrape of an exporter (dcgm-exporter,
// node_exporter, xpu_timer, the NCCL Inspector's Prometheus mode), or what a loop of scrapes
// appended to one file.
#include <algorithm>
#include <array>
#include <cstring>
#include <deque>
#include <limits>
#include <set>
#include <string>
#include <unordered_map>

#include "ingest/metrics/metric_labels.hpp"
#include "ingest/metrics/metric_value.hpp"
#include "ingest/engine/name_moment.hpp"
#include "ingest/engine/record_text.hpp"
#include "ingest/engine/series_book.hpp"
#include "model/contains.hpp"
#include "model/word_list.hpp"

namespace culprit::ingest {

namespace {

constexpr std::size_t kLongestLabelKey = 1u << 16;  // name and labels of one series, as printed
constexpr std::size_t kMostKeyBytes = 256u << 20;   // of all distinct ones
constexpr std::size_t kMostTypes = 100'000;

bool name_start(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c == ':';
}
bool name_char(char c) { return name_start(c) || (c >= '0' && c <= '9'); }
bool blank(char c) { return c == ' ' || c == '\t'; }

std::size_t after_blanks(std::string_view text, std::size_t at) {
  while (at < text.size() && blank(text[at])) ++at;
  return at;
}

// Where the name and labels at the start of a line end; 0: the line does not begin with a series.
std::size_t key_end(std::string_view raw) {
  std::size_t at = 0;
  if (!raw.empty() && name_start(raw[0]))
    while (at < raw.size() && name_char(raw[at])) ++at;
  const std::size_t brace = after_blanks(raw, at);
  if (brace >= raw.size() || raw[brace] != '{') return at;
  bool quoted = false;
  for (std::size_t i = brace + 1; i < raw.size(); ++i) {
    const char c = raw[i];
    if (c == '"')
      quoted = !quoted;
    else if (c == '\\' && quoted)
      ++i;
    else if (c == '}' && !quoted)
      return i + 1;
  }
  return 0;
}

// A quoted text from its opening quote on; false when it does not end.
bool unquote(std::string_view text, std::size_t& at, std::string& out) {
  out.clear();
  for (++at; at < text.size(); ++at) {
    if (text[at] == '"') return ++at, true;
    if (text[at] != '\\') {
      out += text[at];
      continue;
    }
    if (++at >= text.size()) return false;
    if (text[at] != 'n' && text[at] != '\\' && text[at] != '"')
      out += '\\';  // an escape that is none stands as it is
    out += text[at] == 'n' ? '\n' : text[at];
  }
  return false;
}

// The name and the labels of a key that key_end() has measured. A name with other characters stands
// quoted among the labels (Prometheus 3).
bool parse_key(std::string_view key, std::string& name, std::vector<MetricLabel>& labels) {
  labels.clear();
  std::size_t at = 0;
  while (at < key.size() && name_char(key[at])) ++at;
  name = key.substr(0, at);
  at = after_blanks(key, at);
  if (at == key.size()) return !name.empty();
  std::string text;
  for (++at;;) {
    at = after_blanks(key, at);
    if (at >= key.size()) return false;
    if (key[at] == '}') return !name.empty();
    if (key[at] == '"') {
      if (!unquote(key, at, text)) return false;
    } else {
      const std::size_t begin = at;
      while (at < key.size() && name_char(key[at])) ++at;
      if (at == begin) return false;
      text = key.substr(begin, at - begin);
    }
    at = after_blanks(key, at);
    if (at < key.size() && key[at] == '=') {
      at = after_blanks(key, at + 1);
      if (at >= key.size() || key[at] != '"') return false;
      labels.push_back({text, {}});
      if (!unquote(key, at, labels.back().value)) return false;
    } else if (name.empty()) {
      name = text;
    } else {
      return false;
    }
    at = after_blanks(key, at);
    if (at < key.size() && key[at] == ',')
      ++at;
    else if (at >= key.size() || key[at] != '}')
      return false;
  }
}

class PrometheusText final : public RecordReader {
 public:
  PrometheusText(bool openmetrics, std::string_view path)
      : openmetrics_(openmetrics), named_(moment_of_name(path, name_time_)) {}

  Outcome read(std::string_view raw, const Place& place, Reading& reading) override {
    if (place.offset == 0 && raw.starts_with("\xEF\xBB\xBF")) raw.remove_prefix(3);
    const std::size_t begin = after_blanks(raw, 0);
    if (begin == raw.size()) return {};
    if (raw[begin] == '#') return comment(raw.substr(begin));
    raw.remove_prefix(begin);

    Entry* entry = expected(raw);
    std::size_t at = entry != nullptr ? entry->key.size() : 0;
    if (entry == nullptr) {
      at = key_end(raw);
      if (at == 0 || (at < raw.size() && !blank(raw[at])))
        return other_line(raw, at == 0 ? "prometheus.name" : "prometheus.labels");
      if (at > kLongestLabelKey) return {false, nullptr, "prometheus.labels_too_long"};
    }
    at = after_blanks(raw, at);
    double value = 0;
    const std::size_t digits = read_number(raw.substr(at), value);
    if (digits == 0)
      return other_line(raw, at < raw.size() && raw[at] == '{' ? "prometheus.native_histogram"
                                                               : "prometheus.value");
    at += digits;
    if (at < raw.size() && !blank(raw[at])) return other_line(raw, "prometheus.value");
    at = after_blanks(raw, at);
    std::int64_t time = kNoValue;
    if (at < raw.size() && raw[at] != '#') {
      const std::size_t used = timestamp(raw.substr(at), time);
      if (used == 0) return other_line(raw, "prometheus.timestamp");
      at = after_blanks(raw, at + used);
    }
    // An exemplar names one traced request; it is no sample.
    if (at < raw.size() && raw.compare(at, 3, "# {") != 0)
      return {false, nullptr, "prometheus.tail"};

    if (entry == nullptr) {
      entry = entry_of(raw.substr(0, key_end(raw)), reading);
      if (entry == nullptr) return {false, nullptr, reject_};
    }
    if (last_ != nullptr) last_->next = entry;
    last_ = entry;
    if (entry->dcgm && dcgm_blank(value)) return {};

    // The same series again: the next scrape begins.
    if (entry->scrape == scrape_) next_scrape();
    entry->scrape = scrape_;
    in_scrape_ = true;
    Clock clock = Clock::utc;
    if (time == kNoValue && scrape_time_.clock != Clock::none)
      time = scrape_time_.ns, clock = scrape_time_.clock;
    // One scrape, in a file that says in its name when; of several, nobody knows which it was.
    bool of_name = false;
    if (time == kNoValue && named_ && scrape_ == 0)
      time = name_time_.ns, clock = name_time_.clock, of_name = true;
    const std::int64_t step = time == kNoValue ? scrape_ : kNoValue;
    if (time == kNoValue) clock = Clock::none;
    SeriesBook::Index& index = entry->series[clock == Clock::none  ? 0
                                             : of_name             ? 3
                                             : clock == Clock::utc ? 1
                                                                   : 2];
    if (index == SeriesBook::kFull) index = series_of(*entry, clock, of_name, place, reading);
    if (index == SeriesBook::kFull) return {false, nullptr, reject_};
    book(reading).add(index, step, time, value, place, reading);
    return {true};
  }

  Outcome tail(std::string_view raw, const Place& place, Reading& reading) override {
    const std::size_t begin = after_blanks(raw, 0);
    if (begin == raw.size() || raw[begin] == '#') return read(raw, place, reading);
    return {false, nullptr, "prometheus.cut"};
  }

 private:
  struct Entry {
    std::string_view key;  // in keys_
    bool bare = false;     // without labels
    bool dcgm = false;
    std::array<SeriesBook::Index, 4> series = {
        SeriesBook::kFull, SeriesBook::kFull, SeriesBook::kFull,
        SeriesBook::kFull};    // without a time, utc, local, by the file's name
    std::int64_t scrape = -1;  // that had it last
    Entry* next = nullptr;     // the series of the line that followed it last time
  };

  SeriesBook& book(Reading& reading) {
    if (book_ == nullptr) book_ = &reading.keep<SeriesBook>();
    return *book_;
  }

  // Scrapes of one exporter list their series in one order, so the line after last time's line is
  // nearly always last time's next: one comparison of bytes, no labels to parse and no hash.
  Entry* expected(std::string_view raw) const {
    Entry* const entry = last_ == nullptr ? nullptr : last_->next;
    if (entry == nullptr || raw.size() <= entry->key.size() || !blank(raw[entry->key.size()]) ||
        std::memcmp(raw.data(), entry->key.data(), entry->key.size()) != 0)
      return nullptr;
    if (entry->bare && raw.substr(after_blanks(raw, entry->key.size())).starts_with('{'))
      return nullptr;
    return entry;
  }

  // Who uses a GPU is a pod on its machine.
  void place_pod(const Host& host, const Place& place, Reading& reading) {
    const auto pod = std::ranges::find_if(labels_, [](const MetricLabel& label) {
      return has_word("pod exported_pod pod_name", label.name);
    });
    if (pod != labels_.end() && pods_.emplace(host, pod->value).second)
      reading.sink.put(
          IdentityRow{.place = place, .source = "pod", .host = host, .address = pod->value});
  }

  Entry* entry_of(std::string_view key, Reading& reading) {
    if (const auto found = by_key_.find(key); found != by_key_.end()) return found->second;
    book(reading);
    if (key.size() > kMostKeyBytes - key_bytes_) return reject_ = "series.too_many", nullptr;
    if (!parse_key(key, name_, labels_)) return reject_ = "prometheus.labels", nullptr;
    key_bytes_ += key.size();
    Entry& entry = entries_.emplace_back();
    entry.key = keys_.emplace_back(key);
    entry.bare = key.back() != '}';
    entry.dcgm = name_.starts_with("DCGM_");
    by_key_.emplace(entry.key, &entry);
    return &entry;
  }

  SeriesBook::Index series_of(const Entry& entry, Clock clock, bool of_name, const Place& place,
                              Reading& reading) {
    SeriesRow row;
    row.clock = clock;
    if (!parse_key(entry.key, row.name, labels_))
      return reject_ = "prometheus.labels", SeriesBook::kFull;
    name_series(labels_, true, row);
    if (entry.dcgm && row.host) place_pod(*row.host, place, reading);
    if (of_name) row.labels += (row.labels.empty() ? "" : ",") + std::string(kTimeOfName);
    describe(row);
    const auto index = book_->series(row);
    if (index == SeriesBook::kFull) reject_ = "series.too_many";
    return index;
  }

  // Kind and unit, from the TYPE and UNIT of the metric or of the family that it belongs to.
  void describe(SeriesRow& row) const {
    const std::string_view name = row.name;
    auto family = types_.find(row.name);
    std::string_view part;
    if (family == types_.end())
      for (const std::string_view ending :
           {"_total", "_bucket", "_count", "_sum", "_gcount", "_gsum", "_created", "_info"})
        if (name.ends_with(ending) &&
            (family = types_.find(name.substr(0, name.size() - ending.size()))) != types_.end()) {
          part = ending;
          break;
        }
    if (family == types_.end()) return;
    const std::string& type = family->second.type;
    row.unit = family->second.unit;
    if (type == "gauge" || type == "info" || type == "stateset" || type == "gaugehistogram" ||
        part == "_created")
      row.kind = "gauge";
    else if (type == "counter")
      row.kind = "counter";
    else if (type == "histogram")
      row.kind = "counter";
    else if (type == "summary")
      row.kind = part.empty() ? "gauge" : "counter";
    if (part == "_created" || part == "_count" || part == "_bucket") row.unit.clear();
  }

  Outcome comment(std::string_view raw) {
    if (raw.starts_with("# HELP ")) return {};
    const bool type = raw.starts_with("# TYPE ");
    if (type || raw.starts_with("# UNIT ")) {
      std::string_view rest = raw.substr(7);
      const std::string_view name = next_word(rest), word = next_word(rest);
      if (name.empty() || word.empty() || name.size() > 1024 || word.size() > 64) return {};
      auto family = types_.find(name);  // every scrape says it again
      if (family == types_.end()) {
        if (types_.size() >= kMostTypes) return {};
        family = types_.emplace(name, Family{}).first;
      }
      (type ? family->second.type : family->second.unit) = word;
      openmetrics_ = openmetrics_ || !type;
      return {};
    }
    if (raw == "# EOF") {
      if (in_scrape_) next_scrape();
      openmetrics_ = true;
      return {};
    }
    Timestamp moment;
    if (moment_alone(raw, moment)) scrape_at(moment);
    return {};
  }

  // Between the scrapes of a loop stands what `date` printed.
  Outcome other_line(std::string_view raw, std::string_view reject) {
    Timestamp moment;
    if (!moment_alone(raw, moment)) return {false, nullptr, reject};
    scrape_at(moment);
    return {};
  }

  void scrape_at(const Timestamp& moment) {
    if (in_scrape_) next_scrape();
    // Samples came before the first moment: the loop may print it after the scrape, and then each
    // belongs to the one before.
    if (scrape_ > 0 && !dated_) return;
    dated_ = true;
    scrape_time_ = moment;
  }

  void next_scrape() {
    ++scrape_;
    in_scrape_ = false;
    scrape_time_ = {};
  }

  // Milliseconds in the text format, seconds with decimals in OpenMetrics; exporters mix them up,
  // and no time of our days can be read both ways: 1e11 ms is March 1973, 1e11 s the year 5138.
  std::size_t timestamp(std::string_view text, std::int64_t& ns) const {
    std::size_t at = !text.empty() && text[0] == '-' ? 1 : 0;
    std::int64_t whole = 0;
    const std::size_t begin = at;
    while (at < text.size() && text[at] >= '0' && text[at] <= '9' && at - begin < 18)
      whole = whole * 10 + (text[at++] - '0');
    const bool integer = at > begin && at - begin <= 16 && (at == text.size() || blank(text[at]));
    if (integer && (whole >= 100'000'000'000 || (!openmetrics_ && whole < 100'000'000))) {
      if (whole > std::numeric_limits<std::int64_t>::max() / 1'000'000) return 0;
      ns = (begin == 1 ? -whole : whole) * 1'000'000;
      return at;
    }
    const std::size_t used = read_epoch_seconds(text, ns);
    return used > 0 && (used == text.size() || blank(text[used])) ? used : 0;
  }

  struct Family {
    std::string type, unit;
  };
  struct Hash {
    using is_transparent = void;
    std::size_t operator()(std::string_view text) const {
      return std::hash<std::string_view>()(text);
    }
  };

  bool openmetrics_;
  Timestamp name_time_;
  bool named_;  // after the members it fills
  SeriesBook* book_ = nullptr;
  std::unordered_map<std::string, Family, Hash, std::equal_to<>> types_;
  std::unordered_map<std::string_view, Entry*> by_key_;
  std::deque<Entry> entries_;
  std::deque<std::string> keys_;
  std::size_t key_bytes_ = 0;
  Entry* last_ = nullptr;
  std::int64_t scrape_ = 0;
  bool in_scrape_ = false;  // the current scrape has samples
  bool dated_ = false;
  Timestamp scrape_time_;
  std::string_view reject_;
  std::string name_;
  std::vector<MetricLabel> labels_;
  std::set<std::pair<Host, std::string>> pods_;
};

std::string_view without_mark(std::string_view bytes) {
  if (bytes.starts_with("\xEF\xBB\xBF")) bytes.remove_prefix(3);
  const std::size_t at = bytes.find_first_not_of(" \r\n\t");
  return at == std::string_view::npos ? std::string_view{} : bytes.substr(at);
}

bool sniff_prometheus_text(const Head& head) {
  const std::string_view top = without_mark(head.bytes);
  if (top.starts_with("# HELP ") || top.starts_with("# TYPE ") || top.starts_with("# UNIT "))
    return true;
  const bool named = head.base().ends_with(".prom") || contains(head.base(), "metrics");
  // Without comments: lines of a series and a number, and at least one with labels, since "name
  // number" is said by many.
  const bool may_be_typed = head.has_any({"# TYPE ", "# HELP "});
  if (!may_be_typed && !head.has("=\"") && !head.base().ends_with(".prom")) return false;
  int lines = 0, samples = 0, labelled = 0, typed = 0;
  for (std::string_view rest = top; !rest.empty() && lines < 64;) {
    const std::size_t end = rest.find('\n');
    if (end == std::string_view::npos && !head.whole) break;
    std::string_view raw = line::trimmed(rest.substr(0, end));
    rest = end == std::string_view::npos ? std::string_view{} : rest.substr(end + 1);
    if (raw.empty()) continue;
    typed += raw.starts_with("# TYPE ") || raw.starts_with("# HELP ");
    if (raw[0] == '#') continue;
    constexpr int kMostOthers = 6;  // of 64 lines a tenth
    if (!may_be_typed && lines - samples > kMostOthers) return false;
    ++lines;
    const std::size_t key = key_end(raw);
    if (key == 0 || key >= raw.size() || !blank(raw[key])) continue;
    const std::size_t at = after_blanks(raw, key);
    double value = 0;
    const std::size_t digits = read_number(raw.substr(at), value);
    if (digits == 0 || (at + digits < raw.size() && !blank(raw[at + digits]))) continue;
    ++samples;
    labelled += raw[key - 1] == '}' && contains(raw.substr(0, key), "=\"");
  }
  if (lines == 0) return typed > 0 && named;
  if (typed > 0) return samples * 2 >= lines;
  return samples * 10 >= lines * 9 && (labelled > 0 || (named && head.base().ends_with(".prom")));
}

std::unique_ptr<RecordReader> make_prometheus_text(const Head& head) {
  return std::make_unique<PrometheusText>(head.has("# EOF") || head.has("# UNIT "), head.path);
}

}  // namespace

extern constinit const RecordText kPrometheusText{
    "prometheus-text",
    "Prometheus text format and OpenMetrics: scrapes of "
    "dcgm-exporter, node_exporter, xpu_timer ...",
    sniff_prometheus_text, make_prometheus_text};

}  // namespace culprit::ingest
