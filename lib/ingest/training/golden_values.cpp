// Megatron-LM's golden values: curves of a reference run, with its iteration times.
// {"iteration-time": {"start_step": 1, "end_step": 13000, "step_interval": 5, "values": {"1": 6.3,
// "5": ...}}}. The keys of "values" come in numeric order or as strings sort, and older files have
// a list.
#include <algorithm>
#include <vector>

#include "ingest/engine/document.hpp"
#include "ingest/engine/lenient_json.hpp"
#include "ingest/engine/series_book.hpp"
#include "ingest/training/step_names.hpp"
#include "model/contains.hpp"
#include "model/number.hpp"
#include "model/sort.hpp"

namespace culprit::ingest {

namespace {

bool sniff_golden_values(const Head& head) {
  const std::size_t at = head.bytes.find_first_not_of(" \t\r\n");
  return at != std::string_view::npos && head.bytes[at] == '{' && head.has("\"start_step\"") &&
         head.has("\"end_step\"") && head.has("\"step_interval\"") && head.has("\"values\"");
}

bool number(const Value& value, double& out) {
  if (value.kind == Value::Kind::real)
    out = value.real;
  else if (value.kind == Value::Kind::integer)
    out = static_cast<double>(value.integer);
  else
    return odd_number(value.text(), out);
  return true;
}

std::string read_golden_values(std::string_view bytes, const MemberRow& member, Reading& reading) {
  Tree tree;
  read_lenient_json(bytes, tree);
  SeriesBook& book = reading.keep<SeriesBook>();
  const Place place{member.id, 1, 0, static_cast<std::uint32_t>(bytes.size())};
  std::size_t curves = 0;
  bool too_many = false;
  tree.each_pair(tree.root, [&](const Value& name, const Value& curve) {
    const Value values = tree.find(curve, "values");
    if (!curve.is_dict() || (!values.is_dict() && !values.is_list())) return true;
    std::vector<std::pair<std::int64_t, double>> points;
    if (values.is_dict()) {
      tree.each_pair(values, [&](const Value& key, const Value& value) {
        std::int64_t step = 0;
        double v = 0;
        if (parse_whole(key.text(), step) && step != kNoValue && number(value, v))
          points.emplace_back(step, v);
        return true;
      });
      sort_by(points, [](const auto& a) { return a.first; });
    } else {
      const Value start = tree.find(curve, "start_step"), every = tree.find(curve, "step_interval");
      const auto limited = [](const Value& v, std::int64_t otherwise) {
        return v.kind == Value::Kind::integer
                   ? std::clamp<std::int64_t>(v.integer, 0, 1'000'000'000)
                   : otherwise;
      };
      std::int64_t step = limited(start, 0);
      tree.each(values, [&](const Value& value) {
        double v = 0;
        if (number(value, v)) points.emplace_back(step, v);
        step += limited(every, 1);
        return true;
      });
    }
    if (points.empty()) return true;
    SeriesRow key;
    key.name = name.text().substr(0, 512);
    const SeriesBook::Index index = book.series(key);
    too_many = index == SeriesBook::kFull;
    if (too_many) return false;
    ++curves;
    for (const auto& [step, v] : points) book.add(index, step, kNoValue, v, place, reading);
    return true;
  });
  if (too_many) return "series.too_many";
  if (curves > 0 && (tree.truncated || !tree.problem.empty()))
    reading.sink.put(RejectRow{{member.id, 0, tree.problem_at, 0}, "golden_values.torn", {}});
  return curves == 0 ? "golden_values.no_curve" : "";
}

}  // namespace

extern constinit const Document kGoldenValues{
    "megatron-golden",
    "golden values of Megatron-LM: curves and iteration times of a reference run", 64u << 20,
    sniff_golden_values, read_golden_values};

}  // namespace culprit::ingest
