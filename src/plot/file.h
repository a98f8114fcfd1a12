#pragma once

// The kinds of files that pictures are written as, chosen by the suffix of the path.

#include <cstdint>
#include <string>
#include <vector>

#include "plot/drawing.h"

namespace dptrain::plot {

/// Whether PNG files can be drawn here. Opens the libraries, once. Any thread.
bool can_png();
/// Throws Error{kUsage} in one sentence where PNG files cannot be drawn: a build without Pango's headers, or a machine
/// without its libraries, which are opened here, once. Any thread.
void need_png();

/// The bytes of a PNG file in the light colours, `scale` pixels for each of the drawing. Words in any script for which
/// the machine has a font. Throws as need_png(), and Error{kMemory}. Any thread, one at a time.
std::vector<std::uint8_t> to_png(const Drawing& drawing, double scale = 2);

/// Throws Error{kUsage} unless the suffix of a path that `flag` names is one that write() knows: .svg (or none) or
/// .png, which this machine must be able to draw. Before hours of work.
void require_picture(const std::string& path, const std::string& flag);

/// Writes the file as a whole, as its suffix says. Throws Error{kWrite}, Error{kUsage} as above. Any thread; two
/// writers of one path must take turns.
/// `scale`: pixels of a PNG for each of the drawing.
void write(const std::string& path, const Drawing& drawing, double scale = 2);

}  // namespace dptrain::plot
