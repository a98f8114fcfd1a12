#pragma once

#include <string>

#include "plot/drawing.h"

namespace dptrain::plot {

/// A complete SVG document, well-formed whatever the words hold: what is not UTF-8 and control characters are shown as
/// printable() shows them. Words stay words, which a browser finds. Light or dark as the reader's page is
/// (prefers-color-scheme), light in print and for programs without style sheets. Pure; any thread.
std::string to_svg(const Drawing& drawing);

/// The same as an element of a web page that has svg_style_sheet() once, for all of its pictures: without a style sheet
/// and a background of its own. `label` says to readers who do not see it what it shows. `without_title`: the page says
/// that: the room that charts, matrices and bars leave for a title is cut off, and most of their margins.
std::string svg_element(const Drawing& drawing, const std::string& label, bool without_title = false);
/// The rules of all pictures. They touch no element but `text` and `polyline`, which only pictures have, and classes
/// that begin with "f-" and "s-", and "hollow".
std::string svg_style_sheet();

}  // namespace dptrain::plot
