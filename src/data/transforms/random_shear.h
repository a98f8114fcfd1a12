#pragma once

#include <vector>

#include "data/transforms/random_warp.h"

namespace dptrain::data {

/// Columns moved by x_factor times their row, rows by y_factor times their column, from the upper left corner. Each is
/// uniform in [-f, f] or [lower, upper], and both turn their sign with probability 1/2.
struct RandomShearSpec : WarpArguments {
  std::vector<double> x_factor{0}, y_factor{0};
};
/// The matrix of what is drawn.
WarpMatrix shear_matrix(double x, double y);

}  // namespace dptrain::data
