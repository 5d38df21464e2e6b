// Answers of Amazon CloudWatch as its command line prints them: get-metric-data (a list of times
// and one of values) and get-metric-statistics (a list of points, each with the statistics that
// were asked for).
#include <algorithm>
#include <cmath>

#include "ingest/engine/document.hpp"
#include "ingest/engine/lenient_json.hpp"
#include "ingest/engine/series_book.hpp"
#include "line/timestamp.hpp"

namespace culprit::ingest {

namespace {

constexpr int kDeepest = 4;  // {"MetricDataResults": [{"Datapoints": [{...}]}]}
constexpr std::size_t kLongestLabel = 256;

bool sniff_cloudwatch(const Head& head) {
  const std::size_t open = head.bytes.find_first_not_of(" \r\n\t");
  if (open == std::string_view::npos || (head.bytes[open] != '{' && head.bytes[open] != '['))
    return false;
  return head.has("\"MetricDataResults\"") ||
         (head.has("\"Datapoints\"") && head.has("\"Timestamp\""));
}

double number_of(const Value& v) {
  return v.kind == Value::Kind::real      ? v.real
         : v.kind == Value::Kind::integer ? static_cast<double>(v.integer)
                                          : std::nan("");
}

class Points {
 public:
  Points(const Tree& tree, std::string_view bytes, MemberId member, Reading& reading)
      : tree_(tree),
        bytes_(bytes),
        member_(member),
        reading_(reading),
        book_(reading.keep<SeriesBook>()) {}

  // The metrics in `value`, at whatever depth a command puts them.
  void of(const Value& value, int depth) {
    if (depth > kDeepest) return;
    if (value.is_list()) {
      tree_.each(value, [&](const Value& one) {
        of(one, depth + 1);
        return true;
      });
    } else if (value.is_dict()) {
      const Value results = tree_.find(value, "MetricDataResults");
      if (results.is_list()) return of(results, depth + 1);
      of_metric(value);
    }
  }
  std::size_t samples() const { return samples_; }

 private:
  void of_metric(const Value& metric) {
    SeriesRow key;
    key.name = tree_.find(metric, "Label").text().substr(0, kLongestLabel);
    if (key.name.empty()) return;
    key.clock = Clock::utc;
    tree_.each(tree_.find(metric, "Datapoints"), [&](const Value& point) {
      for (const std::string_view statistic : {"Average", "Maximum", "Sum", "Minimum"})
        if (const double value = number_of(tree_.find(point, statistic)); !std::isnan(value)) {
          add(key, tree_.find(point, "Timestamp"), value, point);
          break;
        }
      return true;
    });
    const Value values = tree_.find(metric, "Values");
    std::vector<Value> times;
    tree_.each(tree_.find(metric, "Timestamps"), [&](const Value& time) {
      times.push_back(time);
      return true;
    });
    std::size_t at = 0;
    tree_.each(values, [&](const Value& value) {
      if (at < times.size()) add(key, times[at++], number_of(value), values);
      return at < times.size();
    });
  }

  // where: the container whose place in the document the sample is given.
  void add(const SeriesRow& key, const Value& time, double value, const Value& where) {
    Timestamp moment;
    if (std::isnan(value) || line::parse_iso(time.text(), moment) == 0) return;
    const auto series = book_.series(key);
    if (series == SeriesBook::kFull) return;
    book_.add(series, kNoValue, moment.ns, value, place_of(where), reading_);
    ++samples_;
  }

  // The containers come in the order of the document: lines are counted on from the last one.
  Place place_of(const Value& container) {
    const Tree::Node& node = tree_.nodes[container.node];
    const std::size_t offset = std::min<std::size_t>(node.offset, bytes_.size());
    if (offset < counted_) line_ = 1, counted_ = 0;
    line_ += static_cast<std::uint64_t>(
        std::count(bytes_.begin() + static_cast<std::ptrdiff_t>(counted_),
                   bytes_.begin() + static_cast<std::ptrdiff_t>(offset), '\n'));
    counted_ = offset;
    return {member_, line_, offset, node.length};
  }

  const Tree& tree_;
  std::string_view bytes_;
  MemberId member_;
  Reading& reading_;
  SeriesBook& book_;
  std::uint64_t line_ = 1;
  std::size_t counted_ = 0, samples_ = 0;
};

std::string read_cloudwatch(std::string_view bytes, const MemberRow& member, Reading& reading) {
  Tree tree;
  read_lenient_json(bytes, tree);
  Points points(tree, bytes, member.id, reading);
  points.of(tree.root, 0);
  reading.cut = tree.truncated;
  return points.samples() == 0 ? "cloudwatch.no_samples" : "";
}

}  // namespace

extern constinit const Document kCloudwatchJson{
    "cloudwatch-json", "answers of Amazon CloudWatch: get-metric-data, get-metric-statistics",
    64u << 20, sniff_cloudwatch, read_cloudwatch};

}  // namespace culprit::ingest
