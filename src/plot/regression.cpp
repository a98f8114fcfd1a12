#include "plot/regression.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "core/format.h"

namespace dptrain::plot {
namespace {

constexpr std::size_t kFewPairs = 300;

struct Cloud {
  std::vector<Point> points{};  ///< x: label, y: answer
  Range labels{}, answers{};
};

Cloud finite_pairs(const ValuePairs& pairs) {
  Cloud cloud;
  for (std::size_t i = 0; i < std::min(pairs.labels.size(), pairs.answers.size()); ++i) {
    if (!std::isfinite(pairs.labels[i]) || !std::isfinite(pairs.answers[i])) continue;
    cloud.points.push_back({pairs.labels[i], pairs.answers[i]});
    cloud.labels.add(pairs.labels[i]);
    cloud.answers.add(pairs.answers[i]);
  }
  return cloud;
}

Line reference_line(const std::string& name, Point from, Point to) {
  return {.name = name,
          .points = {from, to},
          .style = {.ink = Ink::kMuted},
          .dash = Dash::kDashed,
          .width = 1.3,
          .marks = false};
}

Line cloud_of(std::vector<Point> points) {
  const double opacity = points.size() > kFewPairs ? 0.4 : 0.7;
  return {.name = "samples", .points = std::move(points), .opacity = opacity, .joined = false};
}

Panel panel_of(const std::string& name, const std::string& what, const std::string& note, const std::string& x_label) {
  return {.title = name.empty() ? what : name + ": " + what,
          .note = note,
          .x_label = x_label,
          .lines = {},
          .scale = Scale::kLinear,
          .height = 300,
          .half = true};
}

}  // namespace

bool is_drawable(const ValuePairs& pairs) {
  std::set<double> different;
  for (const Point& point : finite_pairs(pairs).points)
    if (different.insert(point.x).second && different.size() > 2) return true;
  return false;
}

Panel predicted_panel(const ValuePairs& pairs) {
  Cloud cloud = finite_pairs(pairs);
  Panel panel = panel_of(pairs.name, "predicted over true", "dashed: equal", "true value");
  if (cloud.points.empty()) return panel;
  const double low = std::min(cloud.labels.low, cloud.answers.low),
               high = std::max(cloud.labels.high, cloud.answers.high);
  panel.lines = {reference_line("equal", {low, low}, {high, high}), cloud_of(std::move(cloud.points))};
  return panel;
}

Panel residuals_panel(const ValuePairs& pairs) {
  Cloud cloud = finite_pairs(pairs);
  Panel panel = panel_of(pairs.name, "residuals", "predicted minus true", "predicted value");
  if (cloud.points.empty()) return panel;
  for (Point& point : cloud.points) point = {point.y, point.y - point.x};
  panel.lines = {reference_line("zero", {cloud.answers.low, 0}, {cloud.answers.high, 0}),
                 cloud_of(std::move(cloud.points))};
  return panel;
}

}  // namespace dptrain::plot
