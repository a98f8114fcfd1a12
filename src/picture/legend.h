#pragma once

// The names beside samples of lines. Pure; any thread.

#include <string>
#include <vector>

#include "picture/drawing.h"

namespace dptrain::picture {

struct LegendEntry {
  std::string name;
  std::string note{};  ///< behind it, with less weight: "best 0.912"
  LineStyle style{};
  Dash dash = Dash::kSolid;
  enum class Sample {
    kLine,
    kMarkedLine,
    kMark,
    kRing,
    kCross,
    kBar
  } sample = Sample::kMarkedLine;  ///< what stands before it
};

/// One line of entries from `at` (the baseline) to the right: what the kinds of lines mean.
void draw_keys(const std::vector<LegendEntry>& entries, Point at, Drawing& out);

/// All entries in columns of one width, filled one after the other: as many columns as leave four fifths of the names
/// whole. The other names lose their middle and keep it in the title; no entry is left out.
class Legend {
 public:
  Legend(const std::vector<LegendEntry>& entries, double width);

  double height() const;
  void draw(Point at, Drawing& out) const;

 private:
  const std::vector<LegendEntry>& entries_;
  double name_ = 0, note_ = 0;  ///< widths in each column
  std::size_t columns_ = 1, rows_ = 0;
};

double sample_width(const LegendEntry& entry);
/// The line, mark or ring alone, its middle at height `at.y`.
void draw_sample(const LegendEntry& entry, Point at, Drawing& out);

}  // namespace dptrain::picture
