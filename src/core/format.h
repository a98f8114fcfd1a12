#pragma once

// Text formatting of the house: `fmt::format("{:.3f}", x)`. fmt is the formatting half of spdlog; the standard's own
// <format> is missing from g++ 12. Always call it qualified: newer standard libraries would make `format` ambiguous.

#include <fmt/core.h>
