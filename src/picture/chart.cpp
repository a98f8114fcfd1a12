#include "picture/chart.h"

#include <algorithm>

#include "picture/panel.h"
#include "picture/text_width.h"

namespace dptrain::picture {
namespace {

constexpr double kChartWidth = 900, kMargin = 24, kHead = 52, kKeys = 24, kFoot = 18, kBetween = 20, kPanelGap = 8;

}  // namespace

Drawing draw(const Chart& chart) {
  const double inner = kChartWidth - 2 * kMargin;
  std::vector<PanelPlace> places;
  double y = kHead + (chart.keys.empty() ? 0 : kKeys);
  const double half = (inner - kBetween) / 2;
  const auto is_half = [&](std::size_t i) { return i < chart.panels.size() && chart.panels[i].half; };
  for (std::size_t i = 0; i < chart.panels.size(); ++i) {
    const double height = chart.panels[i].height;
    const bool pair = is_half(i) && is_half(i + 1);
    places.push_back({kMargin, y, pair ? half : inner, height});
    if (pair) {
      places.push_back({kMargin + half + kBetween, y, half, height});
      ++i;
    }
    y += height + kPanelGap;
  }
  const Legend legend(chart.legend, inner);
  Drawing out(kChartWidth, y + (chart.legend.empty() ? 0 : legend.height() + 8) + kFoot);
  out.add_fitting({.at = {kMargin, 34}, .text = chart.title, .size = 17, .bold = true}, inner);
  draw_keys(chart.keys, {kMargin, kHead + 6}, out);
  for (std::size_t i = 0; i < chart.panels.size(); ++i) draw_panel(chart.panels[i], places[i], out);
  legend.draw({kMargin, y + 4}, out);
  return out;
}

std::vector<Drawing> draw_panels(const Chart& chart, double width) {
  double height = 0;
  for (const Panel& panel : chart.panels) height = std::max(height, panel.height);
  std::vector<Drawing> all;
  for (const Panel& panel : chart.panels) draw_panel(panel, {0, 0, width, height}, all.emplace_back(width, height));
  return all;
}

}  // namespace dptrain::picture
