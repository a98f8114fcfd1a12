#pragma once

// Texts of quantities for people: one unit and one number format per quantity. Pure functions; any thread.

#include <concepts>
#include <cstdint>
#include <string>
#include <string_view>

#include "core/text.h"

namespace dptrain {

/// 3 and "batch" -> "batches". `noun`: a singular with a regular plural, or "epoch".
std::string plural(std::int64_t count, std::string_view noun);
/// "1 epoch", "4,690 steps", "3 batches"
template <std::integral Count>
std::string counted(Count count, std::string_view noun) {
  const auto number = static_cast<std::int64_t>(count);
  return with_commas(number) + " " + plural(number, noun);
}

/// A rate with three digits, or all digits before the point: 12345.6 -> "12,346", 23.45 -> "23.4", 1.234 -> "1.23".
std::string rate_text(double per_second);
/// "12,346 samples/s"
std::string speed_text(double samples_per_second);

/// "0.97 ms", "0.84 s", "12 s", "3 min 20 s", "1 h 02 min"
std::string duration_text(double seconds);

}  // namespace dptrain
