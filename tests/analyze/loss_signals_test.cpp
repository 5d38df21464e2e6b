#include "analyze/pace/loss_signals.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace culprit::analyze {
namespace {

std::vector<LossRecord> falling(std::int64_t n) {
  std::vector<LossRecord> rows;
  for (std::int64_t i = 1; i <= n; ++i)
    rows.push_back({i, 10.0 / std::sqrt(static_cast<double>(i)) + 1, 0.5});
  return rows;
}

TEST(LossSignals, AFallingLossIsSilent) {
  const LossSignals s = loss_signals(falling(300));
  EXPECT_TRUE(s.spikes.empty());
  EXPECT_FALSE(s.first_bad);
}

TEST(LossSignals, FiveTimesTheUsual) {
  auto rows = falling(300);
  const double usual = *rows[200].loss;
  rows[200].loss = 4.5 * usual;
  EXPECT_TRUE(loss_signals(rows).spikes.empty());
  rows[200].loss = 6 * usual;
  rows[201].loss = 7 * usual;
  rows[250].grad_norm = 3.0;
  const LossSignals s = loss_signals(rows);
  ASSERT_EQ(s.spikes.size(), 2u);
  EXPECT_EQ(s.spikes[0].metric, "loss");
  EXPECT_EQ(s.spikes[0].first, 201);
  EXPECT_EQ(s.spikes[0].last, 202);
  EXPECT_DOUBLE_EQ(s.spikes[0].peak, 7 * usual);
  EXPECT_EQ(s.spikes[1].metric, "grad_norm");
  EXPECT_EQ(s.spikes[1].first, 251);
}

TEST(LossSignals, FirstBadAndTheStateBeforeIt) {
  auto rows = falling(300);
  rows[150].grad_norm = std::numeric_limits<double>::infinity();
  for (std::size_t i = 151; i < rows.size(); ++i) rows[i].loss = std::nan("");
  rows[149].loss.reset();  // not printed
  rows[149].grad_norm.reset();
  const std::int64_t saved[] = {200, 50, 100, 149, 151};
  const LossSignals s = loss_signals(rows, saved);
  EXPECT_EQ(s.first_bad, 151);
  EXPECT_EQ(s.bad_metric, "grad_norm");
  EXPECT_EQ(s.bad_value, "inf");
  EXPECT_EQ(s.last_good, 149);
  EXPECT_EQ(s.checkpoint, 149);
  EXPECT_FALSE(s.recovered);
  EXPECT_EQ(s.bad_rows, 150u);
}

TEST(LossSignals, ALossBelowZeroHasNoFiveTimes) {
  std::vector<LossRecord> rows;
  for (std::int64_t i = 0; i < 100; ++i) rows.push_back({i, i == 60 ? 100.0 : -2.0, {}});
  const LossSignals s = loss_signals(rows);
  EXPECT_TRUE(s.spikes.empty());
  EXPECT_EQ(s.notes.size(), 1u);
}

TEST(LossSignals, NothingAndAllBad) {
  EXPECT_FALSE(loss_signals({}).first_bad);
  const std::vector<LossRecord> rows(5, {7, std::nan(""), {}});
  const LossSignals s = loss_signals(rows);
  EXPECT_EQ(s.first_bad, 7);
  EXPECT_FALSE(s.last_good);
  EXPECT_FALSE(s.checkpoint);
}

}  // namespace
}  // namespace culprit::analyze
