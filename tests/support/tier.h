#pragma once

// Amount of testing on every change and in the nightly tier: scripts/test.sh --nightly sets DPTRAIN_NIGHTLY to a
// different number each night. Any thread.

#include <algorithm>
#include <cstdint>
#include <cstdlib>

#include "support/sanitizer.h"

namespace dptrain::tier {

/// 0 except in the nightly tier.
inline std::uint32_t night() {
  const char* number = std::getenv("DPTRAIN_NIGHTLY");
  return number == nullptr ? 0 : static_cast<std::uint32_t>(std::strtoul(number, nullptr, 10));
}

/// Each case is ten to thirty times slower with a sanitizer: a third of them with AddressSanitizer, a tenth with
/// ThreadSanitizer, since all have the same threads.
inline int how_many(int on_every_change, int nightly) {
  const int cases = night() != 0 ? nightly : on_every_change;
  return std::max(1, test::kThreadSanitizer ? cases / 10 : test::kAddressSanitizer ? cases / 3 : cases);
}

/// Seed of random cases: fixed on every change, different each night.
inline std::uint32_t case_seed(std::uint32_t seed) { return seed + night(); }

}  // namespace dptrain::tier
