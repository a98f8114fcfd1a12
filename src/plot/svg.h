#pragma once

#include <string>

#include "plot/drawing.h"

namespace dptrain::plot {

/// A complete, well-formed SVG document. Invalid UTF-8 and control characters appear as in printable(); words stay text
/// that a browser can search. Light or dark like the reader's page (prefers-color-scheme), light in print and for
/// programs without style sheets. Pure; any thread.
std::string to_svg(const Drawing& drawing);

/// An <svg> element for a page that includes svg_style_sheet() once. `label` describes it for screen readers.
/// `without_title` cuts off the space for the title and most of the margins.
std::string svg_element(const Drawing& drawing, const std::string& label, bool without_title = false);
/// Rules for all pictures. They affect only `text`, `polyline` and the classes "f-...", "s-..." and "hollow".
std::string svg_style_sheet();

}  // namespace dptrain::plot
