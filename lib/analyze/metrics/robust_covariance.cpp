#include "analyze/metrics/robust_covariance.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include <Eigen/Cholesky>
#include <Eigen/Core>
#include <Eigen/Eigenvalues>

#include "analyze/metrics/crowd.hpp"

namespace culprit::analyze {

namespace {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;
using RowMatrix = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

constexpr double kHalf = 0.75;   // of the points make the core: up to a quarter may be bad
constexpr int kMostSteps = 30;   // of concentration; they end by themselves after some five
constexpr double kRidge = 1e-6;  // of a deviation: coordinates that are copies of others
constexpr double kFar = 1e3;     // deviations; nothing is gained by telling what lies further out
constexpr double kKept = 2.326;  // 1 % of the healthy ones are left out when the core is weighed

// Upper quantile of chi-square by Wilson & Hilferty 1931, of a normal quantile z.
double chi_square(double degrees, double z) {
  const double c = 2 / (9 * degrees), root = 1 - c + z * std::sqrt(c);
  return degrees * root * root * root;
}

// Every product of two matrices, in one form: each form of its own compiles for a second or more.
MatrixXd inner(const MatrixXd& a, const MatrixXd& b) { return a.transpose() * b; }

struct Shape {
  VectorXd centre;
  MatrixXd covariance;
};

VectorXd distances(const MatrixXd& points, const Shape& shape) {
  const Eigen::LLT<MatrixXd> factor(shape.covariance);
  const MatrixXd centred = (points.rowwise() - shape.centre.transpose()).transpose();
  const MatrixXd solved = factor.matrixL().solve(centred);
  return solved.colwise().squaredNorm().transpose();
}

Shape shape_of(const MatrixXd& points, std::span<const Index> chosen) {
  const Index n = static_cast<Index>(chosen.size()), d = points.cols();
  Shape out{VectorXd::Zero(d), MatrixXd::Zero(d, d)};
  for (const Index i : chosen) out.centre += points.row(i).transpose();
  out.centre /= static_cast<double>(n);
  MatrixXd centred(n, d);
  for (Index k = 0; k < n; ++k)
    centred.row(k) = points.row(chosen[static_cast<std::size_t>(k)]) - out.centre.transpose();
  out.covariance = inner(centred, centred) / static_cast<double>(std::max<Index>(1, n - 1));
  out.covariance.diagonal().array() += kRidge;
  return out;
}

// The points nearest to the shape; equal distances by their order.
std::vector<Index> nearest(const VectorXd& distance, Index count) {
  std::vector<Index> order(static_cast<std::size_t>(distance.size()));
  std::iota(order.begin(), order.end(), Index{0});
  std::nth_element(order.begin(), order.begin() + (count - 1), order.end(), [&](Index a, Index b) {
    return distance[a] != distance[b] ? distance[a] < distance[b] : a < b;
  });
  order.resize(static_cast<std::size_t>(count));
  std::ranges::sort(order);
  return order;
}

double median_of(VectorXd values) {
  std::vector<double> copy(values.data(), values.data() + values.size());
  return median_in_place(copy);
}

// A first shape of a scatter matrix whose directions hold: spread along them and the middle are
// measured by order (Hubert, Rousseeuw & Verdonck 2012, section 3).
Shape start_of(const MatrixXd& points, const MatrixXd& scatter) {
  const Eigen::SelfAdjointEigenSolver<MatrixXd> eigen(scatter);
  const MatrixXd turned = inner(points.transpose(), eigen.eigenvectors());
  VectorXd spread(points.cols()), middle(points.cols());
  for (Index c = 0; c < points.cols(); ++c) {
    middle[c] = median_of(turned.col(c));
    spread[c] = std::max(1e-3, 1.4826 * median_of((turned.col(c).array() - middle[c]).abs()));
  }
  const MatrixXd& e = eigen.eigenvectors();
  const MatrixXd directions = e.transpose();
  return {e * middle,
          inner(spread.array().square().matrix().asDiagonal() * directions, directions)};
}

// Ranks, ties in the middle, from -1 to 1.
MatrixXd ranks_of(const MatrixXd& points) {
  MatrixXd out(points.rows(), points.cols());
  std::vector<Index> order(static_cast<std::size_t>(points.rows()));
  for (Index c = 0; c < points.cols(); ++c) {
    std::iota(order.begin(), order.end(), Index{0});
    std::ranges::sort(order, {}, [&](Index a) { return points(a, c); });
    for (std::size_t first = 0, last = 0; first < order.size(); first = last) {
      while (last < order.size() && points(order[last], c) == points(order[first], c)) ++last;
      const double rank = static_cast<double>(first + last - 1) / 2;
      for (std::size_t i = first; i < last; ++i)
        out(order[i], c) = 2 * rank / static_cast<double>(points.rows() - 1) - 1;
    }
  }
  return out;
}

MatrixXd correlation_of(const MatrixXd& points) {
  const MatrixXd centred = points.rowwise() - points.colwise().mean();
  VectorXd size = centred.colwise().norm().transpose();
  for (Index c = 0; c < size.size(); ++c)
    if (size[c] <= 0) size[c] = 1;
  MatrixXd out = inner(centred, centred);
  out.array().rowwise() /= size.transpose().array();
  out.array().colwise() /= size.array();
  return out;
}

// Directions alone: what lies far out weighs no more than what lies near.
MatrixXd sign_scatter(const MatrixXd& points) {
  MatrixXd unit = points;
  for (Index r = 0; r < unit.rows(); ++r)
    if (const double size = unit.row(r).norm(); size > 0) unit.row(r) /= size;
  return inner(unit, unit) / static_cast<double>(unit.rows());
}

MatrixXd matrix_of(const PointTable& points) {
  return Eigen::Map<const RowMatrix>(points.values.data(), static_cast<Index>(points.rows),
                                     static_cast<Index>(points.columns));
}

MatrixXd evenly_chosen(MatrixXd all, std::size_t sample) {
  const std::size_t rows = static_cast<std::size_t>(all.rows());
  if (rows <= sample) return all;
  MatrixXd out(static_cast<Index>(sample), all.cols());
  for (std::size_t i = 0; i < sample; ++i)
    out.row(static_cast<Index>(i)) = all.row(static_cast<Index>(i * rows / sample));
  return out;
}

// The core of points in which every coordinate has middle 0 and spread 1.
Shape core_of(const MatrixXd& points) {
  const Index n = points.rows(), d = points.cols();
  const Index count =
      std::clamp<Index>(static_cast<Index>(std::ceil(kHalf * static_cast<double>(n))), d + 1, n);
  Shape best;
  double least = 0;
  for (const MatrixXd& scatter : {correlation_of(ranks_of(points)), sign_scatter(points)}) {
    Shape shape = start_of(points, scatter);
    std::vector<Index> chosen = nearest(distances(points, shape), (n + d + 1) / 2);
    for (int step = 0; step < kMostSteps; ++step) {
      shape = shape_of(points, chosen);
      std::vector<Index> next = nearest(distances(points, shape), count);
      if (next == chosen) break;
      chosen = std::move(next);
    }
    shape = shape_of(points, chosen);
    const Eigen::LLT<MatrixXd> factor(shape.covariance);
    const double size = 2 * MatrixXd(factor.matrixL()).diagonal().array().log().sum();
    if (best.centre.size() == 0 || size < least) best = std::move(shape), least = size;
  }
  return best;
}

}  // namespace

RobustFit robust_fit(const PointTable& points, std::size_t sample) {
  RobustFit out;
  const Index n = static_cast<Index>(points.rows), d = static_cast<Index>(points.columns);
  if (d < 2 || n < 2 * d + 2) return out;
  MatrixXd all = matrix_of(points);
  VectorXd middle(d), spread(d);
  for (Index c = 0; c < d; ++c) {
    middle[c] = median_of(all.col(c));
    spread[c] = 1.4826 * median_of((all.col(c).array() - middle[c]).abs());
    if (!(spread[c] > 0) || !std::isfinite(spread[c])) return out;
    all.col(c) = ((all.col(c).array() - middle[c]) / spread[c]).cwiseMax(-kFar).cwiseMin(kFar);
  }
  const Shape core = core_of(evenly_chosen(all, sample));
  // The spread of the core is that of what lies near; it is set by the middle distance of all, and
  // then measured once more with all that are not far (one step of reweighting).
  const VectorXd distance = distances(all, core);
  const double scale = median_of(distance) / chi_square(static_cast<double>(d), 0);
  if (!(scale > 0) || !std::isfinite(scale)) return out;
  std::vector<Index> kept;
  for (Index i = 0; i < n; ++i)
    if (distance[i] <= scale * chi_square(static_cast<double>(d), kKept)) kept.push_back(i);
  const Index m = static_cast<Index>(kept.size());
  if (m < d + 3) return out;
  const Shape shape = shape_of(all, kept);
  const Eigen::LLT<MatrixXd> factor(shape.covariance);
  if (factor.info() != Eigen::Success) return out;
  const MatrixXd inverse = factor.solve(MatrixXd::Identity(d, d));
  out.columns = points.columns;
  out.core = static_cast<std::size_t>(m);
  for (Index c = 0; c < d; ++c) {
    out.centre.push_back(middle[c] + spread[c] * shape.centre[c]);
    out.explained.push_back(std::clamp(1 - 1 / (inverse(c, c) * shape.covariance(c, c)), 0.0, 1.0));
    for (Index o = 0; o < d; ++o) out.precision.push_back(inverse(c, o) / (spread[c] * spread[o]));
  }
  out.valid = std::ranges::all_of(out.precision, [](double v) { return std::isfinite(v); });
  return out;
}

void RobustFit::residuals(std::span<const double> point, std::span<Residual> out) const {
  const Index d = static_cast<Index>(columns);
  const Eigen::Map<const RowMatrix> inverse(precision.data(), d, d);
  const VectorXd off =
      Eigen::Map<const VectorXd>(point.data(), d) - Eigen::Map<const VectorXd>(centre.data(), d);
  const VectorXd pulled = inverse * off;
  const double distance = off.dot(pulled), n = static_cast<double>(core);
  // Of a regression on d - 1 coordinates and a constant: the variance of a prediction.
  const double free = std::max(1.0, n - static_cast<double>(d));
  for (Index c = 0; c < d; ++c) {
    const double own = inverse(c, c), value = pulled[c] / own;
    const double others = std::max(0.0, distance - value * value * own);
    const double variance = (n - 1) / free / own * (1 + 1 / n + others / (n - 1));
    out[static_cast<std::size_t>(c)] = {value, std::fabs(value) / std::sqrt(variance)};
  }
}

std::vector<double> RobustFit::weights(std::size_t column) const {
  std::vector<double> out(columns, 0);
  for (std::size_t o = 0; o < columns; ++o)
    if (o != column)
      out[o] = std::fabs(precision[column * columns + o]) /
               std::sqrt(precision[column * columns + column] * precision[o * columns + o]);
  return out;
}

std::vector<double> rank_correlation(const PointTable& points, std::size_t sample) {
  const MatrixXd matrix =
      correlation_of(ranks_of(evenly_chosen(matrix_of(points), std::max<std::size_t>(2, sample))));
  return {matrix.data(), matrix.data() + matrix.size()};
}

}  // namespace culprit::analyze
