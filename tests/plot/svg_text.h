#pragma once

// Queries on SVG documents for tests.

#include <string>
#include <vector>

namespace dptrain::plot {

std::size_t count(const std::string& text, const std::string& part);
/// The points x0, y0, x1, y1, ... of each polyline with this class; "": of all.
std::vector<std::vector<double>> polylines(const std::string& svg, const std::string& of_class = "");

}  // namespace dptrain::plot
