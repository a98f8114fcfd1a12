#pragma once

// Pictures as files, which are SVG.

#include <string>

#include "plot/drawing.h"

namespace dptrain::plot {

/// Throws Error{kUsage} unless the suffix of a path that `flag` names is .svg or there is none. Commands call it before
/// they open data or models.
void require_picture(const std::string& path, const std::string& flag);

/// Writes the file as a whole, as SVG whatever its name. Throws Error{kWrite}. Any thread; calls for one path must not
/// overlap.
void write(const std::string& path, const Drawing& drawing);

}  // namespace dptrain::plot
