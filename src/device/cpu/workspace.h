#pragma once

// Room for kernels that keep partial results.

#include <algorithm>
#include <cstdint>

namespace dptrain::device::cpu {

/// Bytes that suffice for any number of rows up to `rows`, where `floats(r)` is what a kernel wants for r rows. That need
/// not grow with r: pieces are cut to about equal size.
template <class F>
std::uint64_t workspace_bytes(std::int64_t rows, const F& floats) {
  std::int64_t most = 0;
  for (std::int64_t r = 1; r <= rows; ++r) most = std::max<std::int64_t>(most, floats(r));
  return static_cast<std::uint64_t>(most) * sizeof(float);
}

}  // namespace dptrain::device::cpu
