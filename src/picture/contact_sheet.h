#pragma once

// Small images side by side under their names: what a data set looks like. Pure; any thread.

#include <memory>
#include <string>
#include <vector>

#include "picture/drawing.h"

namespace dptrain::picture {

/// One row of the sheet: what it is, and its images from left to right.
struct SheetRow {
  std::string label, note;                              ///< the note behind the label, or below it, with less weight
  std::vector<std::shared_ptr<const RgbImage>> images;  ///< one or more
};

struct Sheet {
  std::string title, note;
  std::vector<std::string> columns;  ///< their titles
  std::vector<SheetRow> rows;
};

/// Rows below each other, each under its label, columns under their titles. Rows of one image stand side by side
/// instead, as many as fit a page, with label and note below. Small images are enlarged by a whole factor, to some 96
/// pixels, or 128 where they stand alone.
Drawing contact_sheet(const Sheet& sheet);
/// How many pixels a pixel of these images becomes in a sheet.
double enlargement(const std::vector<SheetRow>& rows);

}  // namespace dptrain::picture
