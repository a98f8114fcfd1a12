#pragma once

// Pictures as SVG files.

#include <string>

#include "plot/drawing.h"

namespace dptrain::plot {

/// Throws Error{kUsage} unless the path given by `flag` has the suffix .svg or none. Call before opening data.
void require_picture(const std::string& path, const std::string& flag);

/// Writes SVG atomically, whatever the suffix. Throws Error{kWrite}. Any thread; calls for one path must not overlap.
void write(const std::string& path, const Drawing& drawing);

}  // namespace dptrain::plot
