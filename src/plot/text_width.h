#pragma once

// The typeface of pictures and pages, and text widths without opening a font. The widths are those of Arial, which
// Liberation Sans, Helvetica, Arimo and Nimbus Sans share. Pure functions; any thread.

#include <string>
#include <string_view>

namespace dptrain::plot {

/// Font families in order of preference, in CSS syntax.
inline constexpr const char* kFontFamilies =
    "Arial,'Liberation Sans',Helvetica,Arimo,'Nimbus Sans','dptrain fallback',sans-serif";
/// The CSS rule for "dptrain fallback": the wider fonts of Linux, reduced to the widths of this file.
inline constexpr const char* kFallbackFontRule =
    "@font-face{font-family:'dptrain fallback';src:local('DejaVu Sans'),local('Verdana');size-adjust:88%}\n";

/// Pixels of UTF-8 text in a font of `size` pixels. A byte that is not UTF-8 counts as one letter.
double text_width(std::string_view text, double size, bool bold = false);

/// The text, or its beginning and end joined by "…", at most `most` pixels wide; "…" if nothing fits.
std::string shortened(const std::string& text, double size, double most, bool bold = false);

}  // namespace dptrain::plot
