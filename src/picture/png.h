#pragma once

#include <cstdint>
#include <vector>

#include "picture/drawing.h"

namespace dptrain::picture {

/// Whether PNG files can be drawn here. Opens the libraries, once. Any thread.
bool can_png();
/// Throws Error{kUsage} in one sentence where PNG files cannot be drawn: a build without Pango's headers, or a machine
/// without its libraries, which are opened here, once. Any thread.
void need_png();

/// The bytes of a PNG file in the light colours, `scale` pixels for each of the drawing. Words in any script for which
/// the machine has a font. Throws as need_png(), and Error{kMemory}. Any thread, one at a time.
std::vector<std::uint8_t> to_png(const Drawing& drawing, double scale = 2);

}  // namespace dptrain::picture
