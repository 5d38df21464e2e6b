// Answers of the Prometheus HTTP API as people save them with curl: query_range (matrix), query
// (vector, scalar). Read in one pass over the bytes: a tree of a day of samples takes twenty times
// their size.
#include <cstring>
#include <string>
#include <vector>

#include "ingest/engine/document.hpp"
#include "ingest/metrics/metric_labels.hpp"
#include "ingest/metrics/metric_value.hpp"
#include "ingest/engine/series_book.hpp"
#include "model/contains.hpp"
#include "model/json_cursor.hpp"

namespace culprit::ingest {

namespace {

constexpr std::size_t kLongestString = 1u << 16;  // of a label or a value
constexpr std::size_t kMostLabels = 256;
constexpr std::size_t kMostRejects = 1'000;

class Answer {
 public:
  Answer(std::string_view bytes, const MemberRow& member, Reading& reading)
      : bytes_(bytes),
        in_(bytes),
        member_(member),
        reading_(reading),
        book_(reading.keep<SeriesBook>()) {}

  // "" or the code of a reject.
  std::string read() {
    bool error = false;
    bool any = false;
    // Several queries of one loop, appended to one file, are several documents in a row.
    for (in_.blanks(); !in_.done() && !broken_; in_.blanks()) {
      if (in_.peek() != '{') {
        broken("prometheus_json.not_json");
        break;
      }
      any = true;
      error = !document() || error;
    }
    if (!any) return "prometheus_json.not_json";
    if (error && samples_ == 0) return "prometheus_json.error";
    return samples_ == 0 && broken_ ? reason_ : "";
  }

 private:
  struct Line {
    std::uint64_t number = 1;
    std::size_t begin = 0, end = 0;  // end 0: not looked for
  };
  Place place_at(std::size_t at, std::size_t length) {
    if (at < line_.begin) line_ = {};
    if (line_.end == 0) line_.end = bytes_.find('\n');
    while (line_.end < at) {
      ++line_.number;
      line_.begin = line_.end + 1;
      line_.end = bytes_.find('\n', line_.begin);
    }
    return {member_.id, line_.number, at,
            static_cast<std::uint32_t>(std::min<std::size_t>(length, 1u << 20))};
  }
  void reject(std::string_view code, std::size_t at) {
    if (rejects_++ < kMostRejects) {
      const std::string_view excerpt = bytes_.substr(std::min(at, bytes_.size()), 200);
      reading_.sink.put(
          RejectRow{place_at(at, excerpt.size()), std::string(code), std::string(excerpt)});
    }
  }
  // Not JSON from here on: what was read stays, the rest is told once.
  bool broken(const char* code) {
    if (broken_) return false;
    broken_ = true;
    reading_.cut = in_.done();
    reason_ = reading_.cut ? "prometheus_json.cut" : code;
    if (samples_ > 0) {
      const std::size_t from = in_.offset();
      reject(reason_, from >= 40 ? from - 40 : 0);
    }
    return false;
  }

  // From the opening quote on.
  bool string(std::string& out) {
    std::string_view raw;
    bool escaped = false;
    if (in_.peek() != '"' || !in_.text(raw, escaped)) return broken("prometheus_json.syntax");
    if (raw.size() > kLongestString) return broken("prometheus_json.string_too_long");
    out = escaped ? json_unescaped(raw) : std::string(raw);
    return true;
  }
  bool skip() { return in_.skip() || broken("prometheus_json.syntax"); }

  // Calls member(key) for each member of the object that begins here; it must take the value.
  bool object(auto member) {
    return in_.object([&](std::string_view raw, bool escaped) {
      if (raw.size() > kLongestString) return broken("prometheus_json.string_too_long");
      return escaped ? member(json_unescaped(raw)) : member(raw);
    }) || broken("prometheus_json.syntax");
  }
  bool array(auto element) { return in_.array(element) || broken("prometheus_json.syntax"); }

  // False when the server answered with an error.
  bool document() {
    bool fine = true;
    object([&](std::string_view key) {
      if (key == "status" && in_.peek() == '"') {
        std::string status;
        if (!string(status)) return false;
        fine = status != "error";
        return true;
      }
      if (key == "error" && in_.peek() == '"') {
        const std::size_t at = in_.offset();
        if (!skip()) return false;
        reject("prometheus_json.error", at);
        return true;
      }
      if (key != "data" || in_.peek() != '{') return skip();
      return object([&](std::string_view part) {
        return part == "result" && in_.peek() == '[' ? result() : skip();
      });
    });
    return fine;
  }

  bool result() {
    // A scalar is one pair: [time, "value"].
    std::size_t first = in_.offset() + 1;
    while (first < bytes_.size() && JsonCursor::blank(bytes_[first])) ++first;
    if (first < bytes_.size() && bytes_[first] != '{' && bytes_[first] != ']') {
      labels_.clear();
      name_.clear();
      return pair(open_series());
    }
    return array([&] { return in_.peek() == '{' ? element() : skip(); });
  }

  bool element() {
    labels_.clear();
    name_.clear();
    bool named = false;
    std::vector<std::pair<std::size_t, Line>>
        behind;  // sample arrays that stand before their labels
    const std::size_t begin = in_.offset();
    const bool whole = object([&](std::string_view key) {
      if (key == "metric" && in_.peek() == '{') {
        named = true;
        return labels();
      }
      if ((key == "values" || key == "value") && in_.peek() == '[') {
        if (named) return samples(key == "values");
        if (behind.size() < 2) place_at(in_.offset(), 0), behind.emplace_back(in_.offset(), line_);
        return skip();
      }
      if (key == "histograms" || key == "histogram")
        reject("prometheus_json.native_histogram", in_.offset());
      return skip();
    });
    if (!whole) return false;
    if (!named && behind.empty()) reject("prometheus_json.no_metric", begin);
    const std::size_t end = in_.offset();
    for (const auto& [at, line] : behind) {
      line_ = line;  // else the lines would be counted from the top again
      in_.seek(at + 1);
      in_.blanks();
      const bool many = in_.peek() == '[' || in_.peek() == ']';
      in_.seek(at);
      if (!samples(many)) return false;
    }
    in_.seek(end);
    return true;
  }

  bool labels() {
    std::string value;
    return object([&](std::string_view key) {
      if (in_.peek() != '"') return skip();
      if (!string(value)) return false;
      if (key == "__name__")
        name_ = value;
      else if (labels_.size() < kMostLabels)
        labels_.push_back({std::string(key), value});
      return true;
    });
  }

  SeriesBook::Index open_series() {
    SeriesRow row;
    row.clock = Clock::utc;
    // rate(), sum() and the like drop the name; people name the file after what they asked for.
    row.name = name_.empty() ? stem() : name_;
    dcgm_ = name_.starts_with("DCGM_");
    name_series(labels_, false, row);
    return book_.series(row);
  }
  std::string stem() const {
    std::string_view base = member_.path;
    if (const std::size_t slash = base.rfind('/'); slash != std::string_view::npos)
      base.remove_prefix(slash + 1);
    if (const std::size_t dot = base.find(".json"); dot != std::string_view::npos && dot > 0)
      base = base.substr(0, dot);
    return std::string(base);
  }

  bool samples(bool many) {
    const SeriesBook::Index series = open_series();
    if (series == SeriesBook::kFull) {
      reject("series.too_many", in_.offset());
      return skip();
    }
    if (!many) return pair(series);
    return array([&] { return in_.peek() == '[' ? pair(series) : skip(); });
  }

  // [1670324477.542,"1"]: seconds and a number in a text.
  bool pair(SeriesBook::Index series) {
    const std::size_t begin = in_.offset();
    if (!in_.take('[')) return broken("prometheus_json.syntax");
    in_.blanks();
    Nanoseconds ns = 0;
    double value = 0;
    const std::size_t digits = read_epoch_seconds(in_.rest().substr(0, 40), ns);
    std::size_t used = 0;
    std::size_t at = in_.offset() + digits;
    if (digits > 0) {
      const auto pass_blanks = [&] {
        while (at < bytes_.size() && JsonCursor::blank(bytes_[at])) ++at;
      };
      pass_blanks();
      if (at < bytes_.size() && bytes_[at] == ',') {
        ++at;
        pass_blanks();
        const bool quoted = at < bytes_.size() && bytes_[at] == '"';
        at += quoted;
        used = read_number(bytes_.substr(std::min(at, bytes_.size()), 64), value);
        at += used;
        if (used > 0 && quoted) {
          if (at < bytes_.size() && bytes_[at] == '"')
            ++at;
          else
            used = 0;
        }
        pass_blanks();
      }
    }
    if (used == 0 || at >= bytes_.size() || bytes_[at] != ']') {
      in_.seek(begin);
      if (!skip()) return false;  // cut here
      reject("prometheus_json.sample", begin);
      return true;
    }
    in_.seek(at + 1);
    if (dcgm_ && dcgm_blank(value)) return true;
    ++samples_;
    book_.add(series, kNoValue, ns, value, place_at(begin, in_.offset() - begin), reading_);
    return true;
  }

  const std::string_view bytes_;
  JsonCursor in_;
  const MemberRow& member_;
  Reading& reading_;
  SeriesBook& book_;
  Line line_;  // of the last place told
  bool broken_ = false;
  bool dcgm_ = false;
  std::string reason_;
  std::size_t samples_ = 0, rejects_ = 0;
  std::string name_;
  std::vector<MetricLabel> labels_;
};

bool sniff_prometheus_json(const Head& head) {
  std::string_view bytes = head.bytes;
  if (bytes.starts_with("\xEF\xBB\xBF")) bytes.remove_prefix(3);
  const std::size_t open = bytes.find_first_not_of(" \r\n\t");
  if (open == std::string_view::npos || bytes[open] != '{') return false;
  const std::size_t key = bytes.find_first_not_of(" \r\n\t", open + 1);
  if (key == std::string_view::npos) return false;
  const std::string_view top = bytes.substr(key);
  if (!top.starts_with("\"status\"") && !top.starts_with("\"data\"") && !top.starts_with("\"error"))
    return false;
  const auto has = [&](std::string_view text) { return contains(bytes, text); };
  if (has("\"streams\"") && has("\"stream\""))
    return false;  // log lines in the same envelope: log_export.cpp
  // "resultType" comes last when a tool has sorted the keys, and may then be out of sight.
  return has("\"resultType\"") || (has("\"status\"") && has("\"errorType\"")) ||
         (has("\"result\"") && has("\"metric\"") && has("\"value"));
}

std::string read_prometheus_json(std::string_view bytes, const MemberRow& member,
                                 Reading& reading) {
  return Answer(bytes, member, reading).read();
}

}  // namespace

extern constinit const Document kPrometheusJson{
    "prometheus-json", "answers of the Prometheus HTTP API: matrix, vector, scalar", 512u << 20,
    sniff_prometheus_json, read_prometheus_json};

}  // namespace culprit::ingest
