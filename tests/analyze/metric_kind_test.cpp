// A counter and its rate are told apart by their samples, and say the same of who stands out.
#include "analyze/metrics/metric_kind.hpp"

#include <gtest/gtest.h>

#include "analyze/metrics/outlier_search.hpp"

namespace culprit::analyze {
namespace {

using rules::Catalogue;
using rules::MetricKind;

// 32 adapters, a sample each 15 s; from half an hour on the sixth marks 20 k packets a second
// (Aegis figure 8). What a driver had counted before differs from host to host.
MetricSeries ecn(const std::string& name, bool counts) {
  constexpr int kSamples = 240, kSeconds = 15;
  MetricSeries out{name, "", {}};
  for (int nic = 0; nic < 32; ++nic) {
    MetricSeries::Entity one;
    one.name = "n" + std::to_string(10 + nic) + "/mlx5_0";
    double total = 1e9 * ((nic * 7) % 32);
    for (int i = 0; i < kSamples; ++i) {
      const double noise = (nic * 31 + i * 17) % 20;
      const double rate = nic == 5 && i >= kSamples / 2 ? 20'000 + 100 * noise : noise;
      total += rate * kSeconds;
      one.times.push_back((1'795'000'000LL + i * kSeconds) * kSecond);
      one.values.push_back(counts ? total : rate);
    }
    out.entities.push_back(std::move(one));
  }
  return out;
}

TEST(MetricKind, EitherNameTakesEitherForm) {
  for (const char* name : {"np_ecn_marked_roce_packets", "ecn_marked_packets", "ecn", "ecn_rate"})
    for (const bool counts : {false, true}) {
      const MetricSeries series = ecn(name, counts);
      const auto match = match_by_samples(series, Catalogue::built_in());
      ASSERT_TRUE(match) << name;
      EXPECT_EQ(match->kind, counts ? MetricKind::counter : MetricKind::gauge) << name << counts;
      const OutlierReport report = search_outliers({series}, Catalogue::built_in());
      ASSERT_EQ(report.outliers.size(), 1u) << name << counts;
      EXPECT_EQ(report.outliers[0].outlier.entity, "n15/mlx5_0") << name << counts;
      EXPECT_NEAR(report.outliers[0].outlier.value, 21'000, 1'000) << name << counts;
    }
}

MetricSeries of(const std::string& name, std::vector<double> values) {
  MetricSeries::Entity one{.name = "a", .role = "", .host = {}, .times = {}, .values = values};
  for (std::size_t i = 0; i < values.size(); ++i)
    one.times.push_back(static_cast<Nanoseconds>(i) * kSecond);
  return {name, "", {std::move(one)}};
}

TEST(MetricKind, WithoutEnoughStepsTheNameDecides) {
  const auto kind = [](const MetricSeries& series) {
    return match_by_samples(series, Catalogue::built_in())->kind;
  };
  // A driver that started again is no rate, a few rising rates are no counter.
  EXPECT_EQ(kind(of("np_ecn_marked_roce_packets", {5, 9, 3, 4, 8, 11, 12, 1, 2, 5, 9, 14})),
            MetricKind::counter);
  EXPECT_EQ(kind(of("ecn", {1, 2, 3, 4, 5})), MetricKind::gauge);
  EXPECT_EQ(kind(of("ecn", std::vector<double>(100, 7))), MetricKind::gauge);
  // What is no rate is never a counter.
  EXPECT_EQ(kind(of("gpu_temp", {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12})), MetricKind::gauge);
  // Who counts what a bad path loses is not who is at fault.
  std::vector<double> loss;
  for (int i = 0; i < 100; ++i) loss.push_back(i * 37 % 11);
  EXPECT_EQ(kind(of("local_ack_timeout_err", loss)), MetricKind::counter);
  EXPECT_EQ(kind(of("np_ecn_marked_roce_packets", loss)), MetricKind::gauge);
  EXPECT_FALSE(match_by_samples(of("frobnication", {1, 2}), Catalogue::built_in()));
}

}  // namespace
}  // namespace culprit::analyze
