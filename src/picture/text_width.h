#pragma once

// How wide words will be, without a font: a browser takes its own anyway. The widths are those of DejaVu Sans, which is
// wider than the other fonts that pictures ask for, so what fits here fits there. Pure functions; any thread.

#include <string>
#include <string_view>

namespace dptrain::picture {

/// Pixels of UTF-8 text in a font of `size` pixels. A byte that is not UTF-8 counts as one letter.
double text_width(std::string_view text, double size, bool bold = false);

/// The text, or its begin and end with "…" between them, at most `most` pixels wide; "…" where nothing fits.
std::string shortened(const std::string& text, double size, double most, bool bold = false);

}  // namespace dptrain::picture
