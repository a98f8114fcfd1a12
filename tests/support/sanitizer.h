#pragma once

// Which sanitizer the tests are built with, for what only one of them can see or stands in the way of.

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

/// How many seeds of the emulator's order of streams a test goes through. Under ThreadSanitizer each takes thirty times
/// as long, and shows races in one order as in another.
constexpr std::uint64_t seeds(std::uint64_t most) { return kThreadSanitizer ? 1 : most; }

}  // namespace dptrain::test
