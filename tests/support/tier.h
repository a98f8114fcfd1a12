#pragma once

// How much a test does on every change, and how much in the nightly tier (scripts/test.sh --nightly, which sets
// DPTRAIN_NIGHTLY to a number of its own each night). Any thread.

#include <algorithm>
#include <cstdint>
#include <cstdlib>

#include "support/sanitizer.h"

namespace dptrain::tier {

/// 0 but in the nightly tier.
inline std::uint32_t night() {
  const char* number = std::getenv("DPTRAIN_NIGHTLY");
  return number == nullptr ? 0 : static_cast<std::uint32_t>(std::strtoul(number, nullptr, 10));
}

/// With a sanitizer each case takes ten to thirty times as long: a third of them with AddressSanitizer, a tenth with
/// ThreadSanitizer, which sees the same threads in each.
inline int how_many(int on_every_change, int nightly) {
  const int cases = night() != 0 ? nightly : on_every_change;
  return std::max(1, test::kThreadSanitizer ? cases / 10 : test::kAddressSanitizer ? cases / 3 : cases);
}

/// Of random cases: the same on every change, others each night.
inline std::uint32_t case_seed(std::uint32_t seed) { return seed + night(); }

}  // namespace dptrain::tier
