#pragma once

// Contact sheet: small images in rows with captions, to show samples of a data set. Pure; any thread.

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "plot/drawing.h"

namespace dptrain::plot {

/// One row of the sheet: its captions, and its images from left to right.
struct SheetRow {
  std::string label, note;                              ///< the note is muted and follows the other captions
  std::vector<std::shared_ptr<const RgbImage>> images;  ///< one or more
  std::string answer{};                                 ///< of a model, after the label or on its own line; "": none
  std::string answer_value{};                           ///< follows the answer and is never shortened: "0.98"
  Ink answer_ink = Ink::kWrong;
};

/// The color of a class in the images.
struct ClassColor {
  std::string name;
  std::optional<Rgb> color{};  ///< none: the image is unchanged
  bool hatched = false;        ///< white stripes, as overlaid() draws ignored pixels
};

struct Sheet {
  std::string title, note;
  std::vector<std::string> columns;  ///< column titles
  std::vector<SheetRow> rows;
  std::vector<ClassColor> legend{};  ///< below the note
  double min_image = 0;              ///< size to which small images are enlarged; 0: default of contact_sheet()
};

/// Rows one below the other, each under its captions; columns under their titles. Rows of one image form a grid as wide
/// as a page instead, with label, answer and note on separate lines below the image. Small images are enlarged by a
/// whole factor, by default to about 96 pixels, or 128 in a grid.
Drawing contact_sheet(const Sheet& sheet);

}  // namespace dptrain::plot
