// Lines in which a program says itself which of its ranks is the slowest:
//   step 40: slowest rank 13 (tn-012) 2857 ms, median 1500 ms
//   fwd-bwd min 1.48 (rank 4) max 2.85 (rank 13) mean 1.54
//   Worst performing 5/32 ranks:   and below it   Rank=13 Node=tn-012 Score=0.53
//   STRAGGLER DETECTION WARNING: ... Affected ranks: {StragglerId(rank=13, node='tn-012')}
#include <re2/re2.h>

#include "ingest/engine/recogniser.hpp"
#include "ingest/engine/series_book.hpp"
#include "ingest/training/line_figures.hpp"
#include "model/contains.hpp"
#include "model/number.hpp"
#include "model/series.hpp"

namespace culprit::ingest {

namespace {

void put_slowest(std::int64_t rank, const std::optional<std::string>& host, const TextLine& line,
                 Reading& reading) {
  SeriesRow key{.name = std::string(kSlowestRank)};
  key.clock = line.line.prefix.time.clock;
  SeriesBook& book = reading.keep<SeriesBook>();
  const SeriesBook::Index index = book.series(key);
  if (index == SeriesBook::kFull) return;
  book.add(index, reading.last_step.value_or(kNoValue),
           key.clock == Clock::none ? kNoValue : line.line.prefix.time.ns,
           static_cast<double>(rank), line.place, reading);
  if (host)
    reading.sink.put(
        IdentityRow{.place = line.place, .source = "rank map", .host = Host(*host), .rank = rank});
}

// "Rank=13 Node=tn-012 Score=0.53", the first below its heading. One of many is always the worst;
// what the program takes for a straggler has three quarters of the others' score.
class WorstBelow final : public Assembler {
 public:
  Step feed(const TextLine& line, Reading& reading) override {
    static const re2::RE2 kRow(
        R"((?i)\brank\s*[=: ]\s*(\d{1,6})(?:\s+(?:node|host)\s*[=:]\s*(\S+))?(?:\s+score\s*[=:]\s*([\d.]+))?)");
    constexpr double kStraggles = 0.75;
    std::int64_t rank = 0;
    std::string score;
    std::string host;
    const std::string_view text = line.line.message;
    if (!re2::RE2::PartialMatch({text.data(), text.size()}, kRow, &rank, &host, &score))
      return Step::not_mine;
    if (double value = 0; parse_whole(score, value) && value > kStraggles) return Step::finished;
    put_slowest(rank, host.empty() ? std::nullopt : std::optional(host), line, reading);
    return Step::finished;
  }
};

// Where the line tells how long the slowest and the middle one take: whether that makes a
// difference. One of many ranks is always the slowest.
bool differs(std::string_view text) {
  constexpr double kLeast = 1.1;
  static const re2::RE2 kAgainst(
      R"((?i)(\d+(?:\.\d+)?)\s*(?:ms|s)?\s*(?:\(\s*rank[^)]*\))?[ ,;|]*(?:median|mean|avg|average|p50|typical)\s*[=:]?\s*(\d+(?:\.\d+)?))");
  double slowest = 0, middle = 0;
  return !re2::RE2::PartialMatch(re2::StringPiece(text.data(), text.size()), kAgainst, &slowest,
                                 &middle) ||
         slowest >= kLeast * middle;
}

Outcome read_slowest(const TextLine& line, Reading& reading) {
  static const re2::RE2 kStep(R"((?i)\b(?:step|iter(?:ation)?)\s*[=:# ]\s*(\d{1,12})\b)");
  static const re2::RE2 kNamed(
      R"((?i)\b(?:slowest|straggler|laggard)\b[a-z_ :=\-]{0,32}\brank\s*[=:#]?\s*(\d{1,6})\b(?:\s*(?:\(|on |@ ?|host[= ]|node[= ])\s*([a-z][a-z0-9.\-]*\d[a-z0-9\-]*))?)");
  static const re2::RE2 kMost(
      R"((?i)\bmax(?:imum)?\b[^()a-z]{1,24}(?:ms|s)?\s*\(\s*rank\s*[=:#]?\s*(\d{1,6})\s*\))");
  // One, and no other behind it.
  static const re2::RE2 kAffected(
      R"((?i)\bstraggler\b.*\baffected ranks?\b[^0-9]{0,24}\brank\s*=\s*(\d{1,6})(?:,\s*node\s*=\s*'([^']+)')?\)?[}\])\s]*$)");
  static const re2::RE2 kHeading(R"((?i)\bworst performing [\d/ ]*ranks?:\s*$)");
  const std::string_view text = line.line.message;
  const re2::StringPiece piece(text.data(), text.size());
  if (re2::RE2::PartialMatch(piece, kHeading)) return {true, std::make_unique<WorstBelow>()};
  std::int64_t rank = 0, step = 0;
  std::string host;
  if (!re2::RE2::PartialMatch(piece, kAffected, &rank, &host) &&
      !re2::RE2::PartialMatch(piece, kNamed, &rank, &host) &&
      !re2::RE2::PartialMatch(piece, kMost, &rank))
    return {};
  if (!differs(text)) return {};
  if (re2::RE2::PartialMatch(piece, kStep, &step)) reading.last_step = step;
  put_slowest(rank, host.empty() ? std::nullopt : std::optional(host), line, reading);
  return {true};
}

constexpr std::string_view kSlowestWords[] = {"slowest", "straggler", "laggard",
                                              "(rank ",  "(rank=",    "worst performing"};

}  // namespace

extern constinit const Recogniser kSlowestRankLines{
    "slowest-rank", "which rank a program says is its slowest", kSlowestWords, read_slowest};

}  // namespace culprit::ingest
