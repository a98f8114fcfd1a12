#pragma once

// Chart: panels of lines, one below the other or two side by side, under one title and above one legend. Plain data in,
// a Drawing out. Pure; any thread.

#include <optional>
#include <string>
#include <vector>

#include "picture/axis.h"
#include "picture/drawing.h"
#include "picture/legend.h"

namespace dptrain::picture {

struct Line {
  std::string name;             ///< in titles, which a browser shows beside the pointer
  std::vector<Point> points{};  ///< x ascending and finite; y not finite: a gap, with a cross where it is
  LineStyle style{};
  Dash dash = Dash::kSolid;
  double width = 2, opacity = 1;
  bool marks = true;                  ///< drawn on all points if they are few, else on some
  bool joined = true;                 ///< false: a cloud of small marks, x in any order
  std::vector<Range> spread{};        ///< a vertical bar through each point, or empty
  std::optional<std::size_t> best{};  ///< this point gets a ring
  std::string best_text{};  ///< at the right of the title, and a line from the ring down to its x; "": neither
};

struct Panel {
  std::string title;   ///< what is drawn, with its unit
  std::string note{};  ///< after the title, in a lighter weight
  std::string x_label{};
  std::vector<Line> lines{};
  Scale scale = Scale::kLinear;  ///< of y; a note after the title names a logarithmic one
  bool from_zero = false;        ///< the linear y axis begins at 0
  bool whole_x = false;          ///< ticks of x at whole numbers only
  bool log_x = false;
  Range x_limits{};                    ///< ends of the axis; empty: those of the points
  std::vector<double> x_ticks{};       ///< these alone, where there are some
  std::vector<std::string> x_names{};  ///< of x = 0, 1, ...: words in place of numbers
  double top_unit = 0;                 ///< a second x axis above, in units of so many x; 0: none
  std::string top_label{};
  double height = 260;  ///< with title and axes
  bool half = false;    ///< two of these share a row; the last of an odd number has a row of its own
};

struct Chart {
  std::string title;
  std::vector<LegendEntry> keys{};  ///< under the title: what the kinds of lines mean
  std::vector<Panel> panels{};
  std::vector<LegendEntry> legend{};  ///< below the panels: the names; all of them
};

/// A panel without values has a note in its middle.
Drawing draw(const Chart& chart);

/// Each panel as a drawing of its own, all of one size, for a page that arranges them and writes keys and legend
/// itself.
std::vector<Drawing> draw_panels(const Chart& chart, double width);

}  // namespace dptrain::picture
