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
  bool beside = false;  // the panel before is half of a row
  for (const Panel& panel : chart.panels) {
    const double half = (inner - kBetween) / 2;
    if (panel.half && beside) {
      PanelPlace place = places.back();
      place.left += half + kBetween;
      places.push_back(place);
      beside = false;
      continue;
    }
    places.push_back({kMargin, y, panel.half ? half : inner, panel.height});
    y += panel.height + kPanelGap;
    beside = panel.half;
  }
  const Legend legend(chart.legend, inner);
  Drawing out(kChartWidth, y + (chart.legend.empty() ? 0 : legend.height() + 8) + kFoot);
  out.add_fitting({.at = {kMargin, 34}, .text = chart.title, .size = 17, .bold = true}, inner);
  draw_keys(chart.keys, {kMargin, kHead + 6}, out);
  for (std::size_t i = 0; i < chart.panels.size(); ++i) draw_panel(chart.panels[i], places[i], out);
  legend.draw({kMargin, y + 4}, out);
  return out;
}

}  // namespace dptrain::picture
