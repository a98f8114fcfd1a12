#pragma once

// The kinds of files that pictures are written as, chosen by the suffix of the path.

#include <string>

#include "picture/drawing.h"

namespace dptrain::picture {

/// Throws Error{kUsage} unless the suffix of a path that `flag` names is one that write() knows: .svg (or none) or
/// .png, which this machine must be able to draw. Before hours of work.
void require_picture(const std::string& path, const std::string& flag);

/// Writes the file as a whole, as its suffix says. Throws Error{kWrite}, Error{kUsage} as above. Any thread; two
/// writers of one path must take turns.
/// `scale`: pixels of a PNG for each of the drawing.
void write(const std::string& path, const Drawing& drawing, double scale = 2);

}  // namespace dptrain::picture
