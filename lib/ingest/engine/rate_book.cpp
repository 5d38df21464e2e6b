// What the slow ones of many measured rates have in common, as a line that the rules see.
#include "ingest/engine/rate_book.hpp"

#include <algorithm>
#include <optional>

#include <fmt/format.h>
#include <re2/re2.h>

#include "ingest/engine/events.hpp"

namespace culprit::ingest {

namespace {

constexpr std::size_t kMostKeptRates = 100'000;
constexpr std::size_t kMostRateNames = 256;
constexpr std::size_t kMostTimesTold = 6;  // of the same parts: more are a series of moments

// Of all rows; where they tell nothing, of those below one remark.
std::optional<SlowFactor> factor_of(const MeasuredRates& measured) {
  if (auto all = slow_factor(measured.rows)) return all;
  std::map<std::size_t, std::vector<std::size_t>> sections;
  for (std::size_t i = 0; i < measured.rows.size(); ++i)
    sections[measured.sections[i]].push_back(i);
  if (sections.size() < 2) return std::nullopt;
  for (const auto& [section, indices] : sections) {
    std::vector<RateRow> rows;
    for (const std::size_t i : indices) rows.push_back(measured.rows[i]);
    if (auto one = slow_factor(rows)) {
      one->slowest = indices[one->slowest];
      return one;
    }
  }
  return std::nullopt;
}

std::string text_of(const RatePart& part, const SlowFactor& factor) {
  if (factor.between) {
    const RatePart& peer =
        part == factor.parts.front() ? factor.parts.back() : factor.parts.front();
    return fmt::format("measured rate between {} and {} is low", part.host, peer.host);
  }
  switch (part.kind) {
    case RatePart::Kind::device:
      return fmt::format("measured rate of {} of {} is low", part.name, part.host);
    case RatePart::Kind::network_switch:
      return fmt::format("measured rate through switch {} is low", part.name);
    case RatePart::Kind::rail: {
      std::string name = part.name;
      std::ranges::replace(name, ' ', '-');
      return fmt::format("measured rate of {} is low on all machines", name);
    }
    case RatePart::Kind::group: return fmt::format("measured rate of group {} is low", part.name);
    case RatePart::Kind::stage:
      return fmt::format("work of pipeline stage {} takes longer", part.name);
    case RatePart::Kind::host: break;
  }
  const std::size_t alike = factor.parts.size();
  return alike == 1 ? fmt::format("measured rate of {} is low", part.host)
                    : fmt::format("measured rate is low wherever {} or one of {} others takes part",
                                  part.host, alike - 1);
}

void tell(const SlowFactor& factor, const MeasuredRates& measured, Reading& reading) {
  for (const RatePart& part : factor.parts) {
    line::Line said;
    if (!part.host.empty()) said.prefix.host = Host(part.host);
    if (factor.slowest < measured.times.size()) said.prefix.time = measured.times[factor.slowest];
    const bool time = measured.of_time;
    said.message = fmt::format("{}: {:.4g} where {:.4g} is usual ({}), in {} of {} measurements",
                               text_of(part, factor), time ? 1 / factor.rate : factor.rate,
                               time ? 1 / factor.usual_rate : factor.usual_rate, measured.name,
                               factor.slow, factor.slow + factor.usual);
    put_said(measured.places[factor.slowest], said, reading.text_kind, reading);
  }
}

}  // namespace

bool names_rate(std::string_view text) {
  static const re2::RE2 kRate(
      R"((?i)(?:^|[^a-z])(?:bus|alg)?bw(?:$|[^a-z])|bandwidth|gbps|mbps|g[ib]?b?/s|gb_?s\b|m[ib]?b/s|[tg]flop|gemm tf\b)");
  static const re2::RE2 kGiven(
      R"((?i)expect|theor|nominal|rated|speed|idle|baseline|reference|spec|target|limit|\blink|capab|util|traffic|(?:^|[^a-z])(?:[tr]x|xmit|rcv)(?:$|[^a-z]))");
  const re2::StringPiece piece(text.data(), text.size());
  return text.size() <= 200 && re2::RE2::PartialMatch(piece, kRate) &&
         !re2::RE2::PartialMatch(piece, kGiven);
}

bool names_test(std::string_view text) {
  static const re2::RE2 kTest(
      R"((?i)gemm|mat_?mul|flop|busbw|algbw|all_?reduce|all_?gather|all_?to_?all|reduce_?scatter|nccl|ib_(?:write|read|send)|perftest|iperf|triad|hbm|(?:^|[^a-z])[hd]2[hd](?:$|[^a-z])|p2p|memcpy|nvlink)");
  return text.size() <= 400 &&
         re2::RE2::PartialMatch(re2::StringPiece(text.data(), text.size()), kTest);
}

bool names_test_time(std::string_view text) {
  static const re2::RE2 kTest(
      R"((?i)(?:gemm|mat_?mul|kernel_launch|launch|memcpy)\w*[_ (](?:ms|us|s|sec)\b)");
  return text.size() <= 200 &&
         re2::RE2::PartialMatch(re2::StringPiece(text.data(), text.size()), kTest);
}

void tell_slowest(const std::vector<MeasuredRates>& measured, Reading& reading) {
  const MeasuredRates* of = nullptr;
  std::optional<SlowFactor> least;
  for (const MeasuredRates& one : measured)
    if (auto factor = factor_of(one); factor && (!least || factor->share < least->share))
      least = std::move(factor), of = &one;
  if (least) tell(*least, *of, reading);
}

void RateBook::add(const std::string& name, RateRow row, const Place& place, bool of_time,
                   const Timestamp& time) {
  if (row.parts.empty() || !(row.rate > 0) || ++rows_ > kMostKeptRates) return;
  if (measured_.size() >= kMostRateNames && measured_.count(name) == 0) return;
  Test& to = measured_[name];
  to.rates.name = name;
  to.rates.of_time = of_time;
  to.series = to.series || ++to.times[{row.condition, row.parts}] > kMostTimesTold;
  if (of_time) row.rate = 1 / row.rate;
  to.rates.rows.push_back(std::move(row));
  to.rates.places.push_back(place);
  to.rates.sections.push_back(0);
  to.rates.times.push_back(time);
}

void RateBook::finish(Reading& reading) {
  std::vector<MeasuredRates> tests;
  for (auto& [name, test] : measured_)
    if (!test.series) tests.push_back(std::move(test.rates));
  tell_slowest(tests, reading);
}

}  // namespace culprit::ingest
