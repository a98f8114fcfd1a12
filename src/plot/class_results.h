#pragma once

// Charts of classification results: a confusion matrix, and scores of each class as a bar with marks. Pure; any thread.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "plot/drawing.h"

namespace dptrain::plot {

struct ConfusionCounts {
  std::string title;
  std::vector<std::string> names;    ///< class names, one or more
  std::vector<std::int64_t> counts;  ///< row by row: rows are labels, columns predictions
};

/// Correct answers in one colour, mistakes in another. Opacity is the square root of the proportion of the label's
/// samples, so that 1 % is visible. Tooltips and large enough cells show the counts. With more than 60 classes, only
/// the 40 with the most mistakes are drawn, with a note.
Drawing confusion_matrix(const ConfusionCounts& confusion);

struct ClassBar {
  std::string name;
  std::int64_t samples = 0;
  std::optional<double> precision{}, recall{}, f1{};  ///< from 0 to 1; nothing if the divisor is zero
  std::optional<double> iou{};                        ///< only if the samples are positions of maps
};

/// The classes in their order, and `mean` below them and as a line. With more than 60 classes, only the 40 with the
/// smallest F1 are drawn, the smallest first, with a note.
Drawing class_bars(const std::string& title, const std::vector<ClassBar>& classes, const ClassBar& mean,
                   double width = 900);

}  // namespace dptrain::plot
