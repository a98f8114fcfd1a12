#include "picture/svg_text.h"

#include <regex>

namespace dptrain::picture {

std::size_t count(const std::string& text, const std::string& part) {
  std::size_t found = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + part.size())) ++found;
  return found;
}

std::vector<std::vector<double>> polylines(const std::string& svg, const std::string& of_class) {
  const std::regex line("<polyline class=\"([^\"]*)\"[^>]* points=\"([^\"]*)\""), number("[-0-9.]+");
  std::vector<std::vector<double>> all;
  for (auto found = std::sregex_iterator(svg.begin(), svg.end(), line); found != std::sregex_iterator(); ++found) {
    if (!of_class.empty() && (*found)[1] != of_class) continue;
    const std::string points = (*found)[2];
    std::vector<double>& values = all.emplace_back();
    for (auto p = std::sregex_iterator(points.begin(), points.end(), number); p != std::sregex_iterator(); ++p)
      values.push_back(std::stod(p->str()));
  }
  return all;
}

}  // namespace dptrain::picture
