#pragma once

// Samples per second as people read them: three digits, of a large network too. Any thread.

#include <string>

#include "core/format.h"

namespace dptrain {

/// 12345.6 -> "12346", 23.45 -> "23.4", 1.234 -> "1.23".
inline std::string rate_text(double per_second) {
  const int digits = per_second < 9.995 ? 2 : per_second < 99.95 ? 1 : 0;
  return fmt::format("{:.{}f}", per_second, digits);
}

}  // namespace dptrain
