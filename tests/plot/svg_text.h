#pragma once

// What tests ask of an SVG document.

#include <string>
#include <vector>

namespace dptrain::plot {

std::size_t count(const std::string& text, const std::string& part);
/// The points of each polyline that has the class, as numbers x0, y0, x1, y1, ...; "": of all.
std::vector<std::vector<double>> polylines(const std::string& svg, const std::string& of_class = "");

}  // namespace dptrain::plot
