#include "plot/svg_text.h"

#include <cstdlib>

namespace dptrain::plot {

std::size_t count(const std::string& text, const std::string& part) {
  std::size_t found = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + part.size())) ++found;
  return found;
}

std::vector<std::vector<double>> polylines(const std::string& svg, const std::string& of_class) {
  const std::string begin = "<polyline class=\"", points = " points=\"";
  std::vector<std::vector<double>> all;
  for (std::size_t at = svg.find(begin); at != std::string::npos; at = svg.find(begin, at + 1)) {
    const std::size_t name = at + begin.size();
    if (!of_class.empty() && svg.substr(name, svg.find('"', name) - name) != of_class) continue;
    std::vector<double>& values = all.emplace_back();
    const char* text = svg.c_str() + svg.find(points, at) + points.size();
    for (; *text != '"'; text += *text == ',' || *text == ' ' ? 1 : 0) {
      char* end = nullptr;
      values.push_back(std::strtod(text, &end));
      if (end == text) break;  // not a number: the caller checks the values
      text = end;
    }
  }
  return all;
}

}  // namespace dptrain::plot
