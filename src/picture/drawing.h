#pragma once

// Drawing: a picture as a list of boxes, lines, marks, words and images, which svg.h and png.h write. It knows colours
// by what they stand for (ink.h), and nothing of charts. Lengths are in pixels, y counts downwards. A value: one thread
// at a time.

#include <cmath>
#include <cstdint>
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "picture/ink.h"
#include "picture/rgb_image.h"

namespace dptrain::picture {

struct Point {
  double x = 0, y = 0;
};

struct Box {
  Point at{};  ///< upper left corner
  double width = 0, height = 0;
  Ink ink = Ink::kText;
  double opacity = 1;
  double radius = 0;  ///< of the corners
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

struct Words {
  Point at;  ///< on the baseline
  std::string text;
  Ink ink = Ink::kText;
  double size = 12;  ///< of the font
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
  std::variant<Box, Polyline, MarkItem, Words, ImageItem> what;
  std::string title;  ///< what a browser shows when the pointer rests on it; "": nothing
};

class Drawing {
 public:
  /// Whole pixels, rounded up.
  Drawing(double width, double height) : width_(std::ceil(width)), height_(std::ceil(height)) {}

  void add(Item item) { items_.push_back(std::move(item)); }
  /// Words at most `most` wide by text_width(): longer ones lose their middle, and the title has all of them.
  void add_fitting(Words words, double most, std::string title = "");

  double width() const noexcept { return width_; }
  double height() const noexcept { return height_; }
  const std::vector<Item>& items() const noexcept { return items_; }

 private:
  double width_, height_;
  std::vector<Item> items_;
};

}  // namespace dptrain::picture
