#pragma once

// Axis: maps values to pixels, and chooses round numbers for ticks. Pure; any thread.

#include <limits>
#include <string>
#include <vector>

#include "plot/drawing.h"

namespace dptrain::plot {

enum class Scale {
  kLinear,
  kLog,
  kAuto,  ///< kLog if spans_decades()
};

struct Range {
  double low = std::numeric_limits<double>::infinity(), high = -std::numeric_limits<double>::infinity();

  void add(double value);
  bool empty() const { return low > high; }
};

/// Whether a logarithmic axis suits these values: at most 5 % are zero or less, and the largest is at least 100 times
/// the 10th percentile of the positive ones. A rate that starts high and decays to near zero stays linear.
bool spans_decades(const std::vector<double>& values);

/// About `count` round numbers (1, 2 or 5 times a power of ten apart) in [low, high].
std::vector<double> ticks(double low, double high, int count, bool whole);
/// Powers of ten in [low, high], thinned out if many; with fewer than three, also 2 and 5 times them. low > 0.
std::vector<double> log_ticks(double low, double high, int count);

/// 12500 -> "12.5k". The largest tick determines the unit, the distance between ticks the digits.
std::string tick_text(double value, const std::vector<double>& all);
/// 0.01, 100, 1e-6.
std::string log_tick_text(double value);

class Axis {
 public:
  /// Maps `range` to pixels from `begin` to `end`; widens a range of one value. `log` requires range.low > 0.
  Axis(Range range, bool log, double begin, double end);

  double at(double value) const;
  /// Whether a value is finite and, on a logarithmic axis, positive.
  bool shows(double value) const;
  bool log() const { return log_; }
  const Range& range() const { return range_; }
  std::vector<double> tick_values(int count, bool whole) const;
  std::string text(double value, const std::vector<double>& all) const;

 private:
  Range range_;
  bool log_;
  double begin_, end_;
};

// Legends: names next to samples of lines. Pure; any thread.

struct LegendEntry {
  std::string name;
  std::string note{};  ///< after the name, less prominent: "best 0.912"
  LineStyle style{};
  Dash dash = Dash::kSolid;
  enum class Sample {
    kLine,
    kMarkedLine,
    kMark,
    kRing,
    kCross,
    kBar
  } sample = Sample::kMarkedLine;  ///< drawn before the name
};

/// Draws entries that explain the kinds of lines, in one row to the right of `at` (the baseline).
void draw_keys(const std::vector<LegendEntry>& entries, Point at, Drawing& out);

/// All entries in columns of equal width, filled one after the other. The number of columns leaves four fifths of the
/// names whole. Longer names are shortened in the middle, with the whole name as tooltip.
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
/// Draws the line, mark or ring without its name, with its middle at height `at.y`.
void draw_sample(const LegendEntry& entry, Point at, Drawing& out);

}  // namespace dptrain::plot
