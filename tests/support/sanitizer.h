#pragma once

// The sanitizer of the build, for tests that need or must avoid one.

#include <cstdint>

namespace dptrain::test {

#ifdef __SANITIZE_ADDRESS__
inline constexpr bool kAddressSanitizer = true;
#else
inline constexpr bool kAddressSanitizer = false;
#endif

#ifdef __SANITIZE_THREAD__
inline constexpr bool kThreadSanitizer = true;
#else
inline constexpr bool kThreadSanitizer = false;
#endif

/// Number of seeds for the emulator's order of streams. One under ThreadSanitizer, which is thirty times slower and
/// detects races in any order.
constexpr std::uint64_t seeds(std::uint64_t most) { return kThreadSanitizer ? 1 : most; }

}  // namespace dptrain::test
