// Centre and covariance of the healthy part of a crowd of points (minimum covariance determinant),
// and what each coordinate would be by the others. The linear algebra is Eigen's; only the source
// file includes it.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace culprit::analyze {

// A point a row, row by row; finite.
struct PointTable {
  std::size_t rows = 0, columns = 0;
  std::vector<double> values;
  double at(std::size_t row, std::size_t column) const { return values[row * columns + column]; }
};

struct RobustFit {
  bool valid = false;
  std::size_t columns = 0, core = 0;  // points that the fit rests on
  std::vector<double> centre;
  std::vector<double> precision;  // inverse of the covariance, row by row
  std::vector<double> explained;  // share of each coordinate's variance that the others explain

  // One coordinate held against the others.
  struct Residual {
    double value = 0, score = 0;  // in units of the coordinate, in deviations of a prediction
  };
  // All coordinates of a point; out has room for `columns`. Points far from the crowd are predicted
  // with less certainty, so that one which only carries more load is not far from its prediction.
  void residuals(std::span<const double> point, std::span<Residual> out) const;
  // How much each of the others moves the prediction of one coordinate, per deviation of theirs.
  std::vector<double> weights(std::size_t column) const;
};

// sample: points that the search for the core looks at, evenly chosen; all of them count in the
// end. At least a quarter of the points may be bad. Not valid: too few points, or a column without
// spread.
RobustFit robust_fit(const PointTable& points, std::size_t sample);

// Rank correlation (Spearman) of all columns, row by row.
std::vector<double> rank_correlation(const PointTable& points, std::size_t sample);

}  // namespace culprit::analyze
