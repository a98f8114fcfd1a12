#pragma once

// What eval draws of a model that tells classes apart: confusion.svg and scores.svg. Pure; any thread.

#include <string>
#include <vector>

#include "cli/class_scores.h"
#include "picture/drawing.h"

namespace dptrain::cli {

picture::Drawing draw_confusion(const std::string& title, const Confusion& confusion, const Classes& classes);
/// With macro_average() of them.
picture::Drawing draw_scores(const std::string& title, const std::vector<ClassScore>& scores);

}  // namespace dptrain::cli
