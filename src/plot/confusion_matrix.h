#pragma once

// Predicted against true classes as a matrix of cells. Pure; any thread.

#include <cstdint>
#include <string>
#include <vector>

#include "plot/drawing.h"

namespace dptrain::plot {

struct ConfusionCounts {
  std::string title;
  std::vector<std::string> names;    ///< of the classes, one or more
  std::vector<std::int64_t> counts;  ///< row by row: rows are labels, columns predictions
};

/// What is right in one colour, mistakes in another, the stronger the larger the share of the label's samples (by its
/// square root, so that one in a hundred is seen). Counts stand in cells that have room for them, and in titles. Of
/// more than 60 classes the 40 with most mistakes are drawn, and the picture says so.
Drawing confusion_matrix(const ConfusionCounts& confusion);

}  // namespace dptrain::plot
