// Cuts the steps where they fall back, and asks of each piece whether its tenths grow evenly.
#include "analyze/pace/growing_steps.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include "analyze/pace/slow_job.hpp"
#include "model/median.hpp"
#include "model/phrases.hpp"

namespace culprit::analyze {

namespace {

constexpr std::size_t kBins = 8;
constexpr std::size_t kFewestOfPiece = 64;  // of a piece
constexpr std::size_t kRowsBeside = 12;     // rows on each side of a fall
constexpr double kFallsTo = 0.8;            // of the rows before
constexpr double kLeastGrowth = 1.25;       // last bin against the first
constexpr double kLargestLeap = 0.4;        // of the growth, from one bin to the next
constexpr double kShrinks = 0.99;           // of the bin before: noise
constexpr double kAlikeBegin = 1.2;         // begins of pieces against each other

struct Piece {
  std::vector<std::size_t> rows;
  std::array<double, kBins> bins{};

  double growth() const { return bins.back() / bins.front(); }
};

double middle(const JobSteps& steps, const std::vector<std::size_t>& rows, std::size_t begin,
              std::size_t end) {
  std::vector<double> out;
  for (std::size_t i = begin; i < end; ++i) out.push_back(steps.ms[rows[i]]);
  return median_of(std::move(out));
}

// Whether the steps from this row on are short against those before it. The lowest of a fall is
// found once: the rows before it are those of the piece.
bool falls(const JobSteps& steps, const std::vector<std::size_t>& rows, std::size_t i) {
  const double limit = kFallsTo * middle(steps, rows, i - kRowsBeside, i);
  return steps.ms[rows[i]] < limit && middle(steps, rows, i, i + kRowsBeside) < limit;
}

std::vector<Piece> pieces_of(const JobSteps& steps) {
  std::vector<std::size_t> rows;
  for (std::size_t i = 0; i < steps.size(); ++i)
    if (steps.ms[i] > 0 && std::isfinite(steps.ms[i])) rows.push_back(i);
  std::vector<Piece> out(1);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const bool again = i > 0 && steps.attempt[rows[i]] != steps.attempt[rows[i - 1]];
    if (again || (out.back().rows.size() >= kRowsBeside && i + kRowsBeside <= rows.size() &&
                  falls(steps, rows, i)))
      out.emplace_back();
    out.back().rows.push_back(rows[i]);
  }
  return out;
}

// Whether it grows evenly from its begin to its end.
bool grows(const JobSteps& steps, Piece& piece) {
  if (piece.rows.size() < kFewestOfPiece) return false;
  for (std::size_t b = 0; b < kBins; ++b)
    piece.bins[b] = middle(steps, piece.rows, b * piece.rows.size() / kBins,
                           (b + 1) * piece.rows.size() / kBins);
  const double whole = piece.bins.back() - piece.bins.front();
  if (piece.growth() < kLeastGrowth) return false;
  for (std::size_t b = 1; b < kBins; ++b)
    if (piece.bins[b] < kShrinks * piece.bins[b - 1] ||
        piece.bins[b] - piece.bins[b - 1] > kLargestLeap * whole)
      return false;
  return true;
}

}  // namespace

std::optional<GrowingSteps> growing_steps(const JobSteps& steps) {
  if (!steps.from_calls.empty()) return std::nullopt;
  GrowingSteps out;
  double begin = 0;
  for (Piece& piece : pieces_of(steps)) {
    if (!grows(steps, piece)) {
      // As long a piece that does not grow speaks of another cause.
      if (piece.rows.size() >= 2 * kFewestOfPiece) return std::nullopt;
      continue;
    }
    if (out.starts > 0 &&
        (piece.bins.front() > kAlikeBegin * begin || begin > kAlikeBegin * piece.bins.front()))
      return std::nullopt;
    begin = piece.bins.front();
    if (out.starts++ == 0 || piece.bins.back() - piece.bins.front() > out.end_ms - out.begin_ms) {
      out.first = piece.rows.front(), out.last = piece.rows.back();
      out.begin_ms = piece.bins.front(), out.end_ms = piece.bins.back();
    }
    // A log may print every tenth step.
    const double each = std::max(1.0, static_cast<double>(steps.iteration[piece.rows.back()] -
                                                          steps.iteration[piece.rows.front()]) /
                                          static_cast<double>(piece.rows.size() - 1));
    for (const std::size_t row : piece.rows)
      out.cost_ms += each * std::max(0.0, steps.ms[row] - begin);
  }
  return out.starts > 0 ? std::optional(out) : std::nullopt;
}

Finding growing_finding(const Facts& facts, const JobSteps& steps, const GrowingSteps& growing) {
  Finding f = slow_job("slow/growing");
  if (steps.time[growing.first] != kNoValue) f.start = steps.time[growing.first];
  if (steps.time[growing.last] != kNoValue) f.end = steps.time[growing.last];
  f.count = growing.last - growing.first + 1;
  const double factor = growing.end_ms / growing.begin_ms;
  f.title = say(Phrase::steps_took, factor);
  f.why = say(Phrase::steps_grow, growing.begin_ms / 1e3, growing.end_ms / 1e3, growing.starts);
  f.facts = SlowFacts{.first = steps.iteration[growing.first],
                      .last = steps.iteration[growing.last],
                      .baseline_ms = growing.begin_ms,
                      .level_ms = growing.end_ms,
                      .factor = factor,
                      .cost_s = growing.cost_ms / 1e3,
                      .grows = growing.starts};
  for (const std::size_t row : {growing.first, growing.last}) {
    f.evidence.push_back(
        facts.evidence(steps.place[row],
                       fmt::format("iteration={} ms={:.1f}", steps.iteration[row], steps.ms[row])));
  }
  return f;
}

}  // namespace culprit::analyze
