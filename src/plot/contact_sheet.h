#pragma once

// Small images side by side under their names: what a data set looks like. Pure; any thread.

#include <memory>
#include <string>
#include <vector>

#include "plot/drawing.h"

namespace dptrain::plot {

/// One row of the sheet: its captions, and its images from left to right.
struct SheetRow {
  std::string label, note;                              ///< the note has less weight and follows the other captions
  std::vector<std::shared_ptr<const RgbImage>> images;  ///< one or more
  std::string answer{};        ///< of a model, after the label or on a line of its own; "": none
  std::string answer_value{};  ///< follows the answer and is never shortened: "0.98"
  Ink answer_ink = Ink::kWrong;
};

struct Sheet {
  std::string title, note;
  std::vector<std::string> columns;  ///< their titles
  std::vector<SheetRow> rows;
};

/// Rows below each other, each under its captions, columns under their titles. Rows of one image form a grid instead,
/// as wide as a page, with a line for each of label, answer and note below the image. Small images are enlarged by a
/// whole factor, to some 96 pixels, or 128 for a single one.
Drawing contact_sheet(const Sheet& sheet);

}  // namespace dptrain::plot
