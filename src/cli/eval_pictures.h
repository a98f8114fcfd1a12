#pragma once

// The pictures of an evaluation: confusion.svg and scores.svg of classes, predicted.svg and residuals.svg of a
// regression. Pure; any thread.

#include <optional>
#include <string>
#include <vector>

#include "cli/class_scores.h"
#include "picture/drawing.h"

namespace dptrain::cli {

picture::Drawing draw_confusion(const std::string& title, const Confusion& confusion, const Classes& classes);
/// With macro_average() of them.
picture::Drawing draw_scores(const std::string& title, const std::vector<ClassScore>& scores);

struct ValuePictures {
  picture::Drawing predicted, residuals;
};
/// A panel for each value; nothing where none is_drawable().
std::optional<ValuePictures> draw_values(const std::string& title, const std::vector<picture::ValuePairs>& values);

}  // namespace dptrain::cli
