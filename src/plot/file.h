#pragma once

// Pictures as SVG files.

#include <string>

#include "plot/drawing.h"

namespace dptrain::plot {

/// Throws Error{kUsage} unless the path given by `flag` has the suffix .svg or none. Commands call it before they open
/// data or models.
void require_picture(const std::string& path, const std::string& flag);

/// Writes the file atomically, as SVG whatever its suffix. Throws Error{kWrite}. Any thread; calls for the same path
/// must not overlap.
void write(const std::string& path, const Drawing& drawing);

}  // namespace dptrain::plot
