#pragma once

// Room for kernels that keep partial results.

#include <algorithm>
#include <cstdint>

#include "kernels/cpu/parallel.h"

namespace dptrain::backend::cpu {

/// Bytes that suffice for any number of rows up to `rows`, where `floats(r)` is what a kernel wants for r rows. That
/// need not grow with r: pieces are cut to about equal size. With so many rows that each of kMaxPartials pieces is
/// full, it has been at its largest.
template <class F>
std::uint64_t workspace_bytes(std::int64_t rows, const F& floats) {
  std::int64_t most = 0;
  const std::int64_t enough = std::min(rows, kernels::cpu::kMaxPartials * kernels::cpu::kPieceElements);
  for (std::int64_t r = 1; r <= enough; ++r) most = std::max<std::int64_t>(most, floats(r));
  return static_cast<std::uint64_t>(most) * sizeof(float);
}

}  // namespace dptrain::backend::cpu
