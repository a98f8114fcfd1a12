#pragma once

#include <string>

namespace dptrain::report {

/// The page's style sheet, that of its pictures included: light or dark as the reader's system is, light in print. Its
/// colours are those of picture/drawing.h. Pure; any thread.
std::string style_sheet();

}  // namespace dptrain::report
