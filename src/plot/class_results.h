#pragma once

// Results of a classification by class: predicted against true classes as a matrix of cells, and precision, recall and
// F1 as a bar and two marks in each row. Pure; any thread.

#include <cstdint>
#include <optional>
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

struct ClassBar {
  std::string name;
  std::int64_t samples = 0;
  std::optional<double> precision{}, recall{}, f1{};  ///< from 0 to 1; nothing where the divisor is zero
};

/// The classes in their order, and `mean` below them and as a line through them. With more than 60 classes only the 40
/// with the smallest F1 are drawn, the smallest first, and a note gives the numbers.
Drawing class_bars(const std::string& title, const std::vector<ClassBar>& classes, const ClassBar& mean,
                   double width = 900);

}  // namespace dptrain::plot
