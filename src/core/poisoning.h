#pragma once

// AddressSanitizer's poisoned memory: it reports an access to a poisoned byte as use-after-poison. In other builds
// set_poisoned() has no effect.

#include <cstddef>

#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/asan_interface.h>
#endif

namespace dptrain {

#ifdef __SANITIZE_ADDRESS__
inline constexpr bool kPoisoning = true;
#else
inline constexpr bool kPoisoning = false;
#endif

/// `memory` is a multiple of 8. Memory must be unpoisoned before munmap().
inline void set_poisoned([[maybe_unused]] void* memory, [[maybe_unused]] std::size_t bytes,
                         [[maybe_unused]] bool poisoned) noexcept {
#ifdef __SANITIZE_ADDRESS__
  poisoned ? __asan_poison_memory_region(memory, bytes) : __asan_unpoison_memory_region(memory, bytes);
#endif
}

}  // namespace dptrain
