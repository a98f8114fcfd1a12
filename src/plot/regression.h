#pragma once

// Charts of regression results: predicted over true values, and residuals. Pure; any thread.

#include <string>
#include <vector>

#include "plot/chart.h"

namespace dptrain::plot {

/// One value of an output, for the samples that are drawn.
struct ValuePairs {
  std::string name{};                       ///< "" if the output has one value
  std::vector<double> labels{}, answers{};  ///< of equal length; pairs that are not finite are not drawn
};

/// Whether the finite pairs have at least three different labels. Two are usually classes, and one has no range.
bool is_drawable(const ValuePairs& pairs);

/// A mark for each sample, and the line of equality.
Panel predicted_panel(const ValuePairs& pairs);
/// Answer minus label over the answer, and the zero line.
Panel residuals_panel(const ValuePairs& pairs);

}  // namespace dptrain::plot
