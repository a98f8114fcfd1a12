#pragma once

// Precision, recall and F1 of classes, as a bar and two marks in each row. Pure; any thread.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "plot/drawing.h"

namespace dptrain::plot {

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
