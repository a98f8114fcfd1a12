#pragma once

// How far words lie apart that several threads write, so that none waits for another's cache line: processors fetch
// lines of 64 bytes in pairs.

#include <cstddef>

namespace dptrain::kernels::cpu {

/// Bytes; for alignas.
inline constexpr std::size_t kApart = 128;

}  // namespace dptrain::kernels::cpu
