#pragma once

// Chart: panels of lines in one column or in pairs, with a title and a legend. Data in, Drawing out. Pure; any thread.

#include <optional>
#include <string>
#include <vector>

#include "plot/axis.h"
#include "plot/drawing.h"

namespace dptrain::plot {

struct Line {
  std::string name;             ///< shown in tooltips
  std::vector<Point> points{};  ///< x ascending and finite; a y that is not finite is a gap with a cross
  LineStyle style{};
  Dash dash = Dash::kSolid;
  double width = 2, opacity = 1;
  bool marks = true;                  ///< on all points if they are few, else on some
  bool joined = true;                 ///< false: a cloud of small marks, x in any order
  std::vector<Range> spread{};        ///< vertical bars through the points; may be empty
  std::optional<std::size_t> best{};  ///< index of the point that gets a ring
  std::string best_text{};            ///< right of the title, with a line from the ring to its x; "": neither
};

struct Panel {
  std::string title;   ///< the quantity and its unit
  std::string note{};  ///< after the title, in a lighter weight
  std::string x_label{};
  std::vector<Line> lines{};
  Scale scale = Scale::kLinear;  ///< of y; a note after the title names a logarithmic one
  bool from_zero = false;        ///< the linear y axis begins at 0
  bool whole_x = false;          ///< ticks of x at whole numbers only
  bool log_x = false;
  Range x_limits{};                    ///< ends of the axis; empty: those of the points
  std::vector<double> x_ticks{};       ///< replace the computed ticks unless empty
  std::vector<std::string> x_names{};  ///< labels for x = 0, 1, ...
  double top_unit = 0;                 ///< x per unit of a second axis above; 0: no such axis
  std::string top_label{};
  double height = 260;  ///< with title and axes
  bool half = false;    ///< two of these share a row; the last of an odd number has a row of its own
};

struct Chart {
  std::string title;
  std::vector<LegendEntry> keys{};  ///< below the title: the kinds of lines
  std::vector<Panel> panels{};
  std::vector<LegendEntry> legend{};  ///< below the panels: the names of all lines
};

/// A panel without values shows a note.
Drawing draw(const Chart& chart);

/// Each panel as a separate drawing, all of one size, for a page that arranges them and draws keys and legend.
std::vector<Drawing> draw_panels(const Chart& chart, double width);

}  // namespace dptrain::plot
