#pragma once

// Drawing: a picture as a list of boxes, lines, marks, words and images, written by svg.h. Colours are inks, named by
// purpose. Lengths are in pixels; y points down. A value: one thread at a time.

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "plot/rgb_image.h"

namespace dptrain::plot {

// The colours of all pictures, for a light and a dark page. Constants and pure functions; any thread.

enum class Ink : std::uint8_t {
  kPaper,
  kText,
  kMuted,  ///< secondary text: ticks, notes
  kGrid,
  kAxis,
  kRight,     ///< cells and bars of correct answers
  kWrong,     ///< cells of mistakes
  kOnMiddle,  ///< words on kRight and kWrong of opacities from 0.6 to 0.88
  kOnColor,   ///< words on higher opacities
  kLine0,     ///< lines, by line_style()
  kLine1,
  kLine2,
  kLine3,
  kLine4,
  kLine5,
  kLine6,
};

struct Hue {
  Ink ink;
  const char* name;           ///< name in style sheets: "text"
  std::uint32_t light, dark;  ///< 0xRRGGBB on a light and on a dark page
};
/// One for each Ink, in their order.
const std::vector<Hue>& hues();
const Hue& hue(Ink ink);

/// Marks distinguish lines where colours do not: for colour-blind readers, and in print.
enum class Mark : std::uint8_t { kDisc, kSquare, kTriangle, kDiamond, kCross };

/// The style of one run, or of one swept value, in every panel.
struct LineStyle {
  Ink ink = Ink::kLine0;
  Mark mark = Mark::kDisc;
  bool hollow = false;

  friend bool operator==(const LineStyle&, const LineStyle&) = default;
};

/// Style of the i-th line. The first seven differ in colour, neighbours in colour and mark, and the first 70 in colour,
/// mark or hollowness; then styles repeat.
LineStyle line_style(std::size_t i);

struct Point {
  double x = 0, y = 0;
};

struct Box {
  Point at{};  ///< upper left corner
  double width = 0, height = 0;
  Ink ink = Ink::kText;
  double opacity = 1;
  double radius = 0;           ///< corner radius
  std::optional<Rgb> color{};  ///< on any page, in place of the ink
};

enum class Dash : std::uint8_t { kSolid, kDashed, kDotted };

struct Polyline {
  std::vector<Point> points;  ///< two or more, finite
  Ink ink = Ink::kText;
  double width = 1;
  Dash dash = Dash::kSolid;
  double opacity = 1;
};

struct MarkItem {
  Point at{};
  Mark mark = Mark::kDisc;
  double radius = 3;
  Ink ink = Ink::kText;
  bool hollow = false;  ///< filled with the paper's colour
  double opacity = 1;
};

enum class Anchor : std::uint8_t { kStart, kMiddle, kEnd };

struct TextItem {
  Point at;  ///< on the baseline
  std::string text;
  Ink ink = Ink::kText;
  double size = 12;  ///< font size
  Anchor anchor = Anchor::kStart;
  bool bold = false;
  double angle = 0;  ///< degrees clockwise around `at`
};

struct ImageItem {
  Point at{};
  double width = 0, height = 0;
  std::shared_ptr<const RgbImage> image;  ///< enlarged without smoothing
};

struct Item {
  std::variant<Box, Polyline, MarkItem, TextItem, ImageItem> what;
  std::string title;  ///< tooltip in a browser; "": none
};

class Drawing {
 public:
  /// Rounds up to whole pixels.
  Drawing(double width, double height) : width_(std::ceil(width)), height_(std::ceil(height)) {}

  void add(Item item) { items_.push_back(std::move(item)); }
  /// Adds words at most `most` wide: longer ones are shortened in the middle, with the whole text as default `title`.
  void add_fitting(TextItem words, double most, std::string title = "");

  double width() const noexcept { return width_; }
  double height() const noexcept { return height_; }
  const std::vector<Item>& items() const noexcept { return items_; }

 private:
  double width_, height_;
  std::vector<Item> items_;
};

}  // namespace dptrain::plot
