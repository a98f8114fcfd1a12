#pragma once

// Line charts as SVG text: panels one below the other, each with axes, ticks, grid and a legend. Pure functions over
// plain data; any thread.

#include <cstddef>
#include <string>
#include <vector>

namespace dptrain::cli {

struct Series {
  std::string name;          ///< in the legend; "": not there
  std::vector<double> x, y;  ///< of equal length; a point that is not finite interrupts the line
  std::size_t color = 0;     ///< index into the palette, taken modulo its size
  bool dashed = false;
};

struct Panel {
  std::string title, x_label, y_label;
  std::vector<Series> series;
  bool from_zero = false;  ///< the y axis begins at 0
  bool whole_x = false;    ///< ticks of x at whole numbers only (epochs, devices)
};

/// Throws Error{kUsage} for a file that `flag` names and whose suffix promises another kind of picture than SVG.
void require_svg(const std::string& path, const std::string& flag);

/// A complete SVG document. Panels without a finite point are left out.
std::string svg_chart(const std::string& title, const std::vector<Panel>& panels);

/// About `count` round numbers (1, 2 or 5 times a power of ten apart) that lie in [low, high].
std::vector<double> ticks(double low, double high, int count, bool whole);

}  // namespace dptrain::cli
