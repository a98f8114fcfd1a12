#pragma once

#include "picture/chart.h"

namespace dptrain::picture {

/// Where a panel stands, with its title and axes.
struct PanelPlace {
  double left = 0, top = 0, width = 0, height = 0;
};

/// Pure; any thread.
void draw_panel(const Panel& panel, const PanelPlace& place, Drawing& out);

}  // namespace dptrain::picture
