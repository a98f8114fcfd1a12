#pragma once

#include <string>

#include "picture/drawing.h"

namespace dptrain::picture {

/// A complete SVG document, well-formed whatever the words hold: what is not UTF-8 and control characters are shown as
/// printable() shows them. Words stay words, which a browser finds. Light or dark as the reader's page is
/// (prefers-color-scheme), light in print and for programs without style sheets. Pure; any thread.
std::string to_svg(const Drawing& drawing);

}  // namespace dptrain::picture
