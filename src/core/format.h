#pragma once

// Text formatting: `fmt::format("{:.3f}", x)`. fmt is the formatting library of spdlog; g++ 12 has no <format>. Always
// qualify the call, because newer standard libraries make `format` ambiguous.

#include <fmt/core.h>
