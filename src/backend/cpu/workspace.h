#pragma once

// Sizes of workspaces for partial sums. Any thread.

#include <algorithm>
#include <cstdint>

#include "kernels/cpu/parallel.h"

namespace dptrain::backend::cpu {

/// Bytes for any number of rows up to `rows`, if a kernel needs floats(r) for r rows. floats() is not monotonic, since
/// pieces have about equal sizes. It reaches its maximum before each of kMaxPartials pieces is full.
template <class F>
std::uint64_t workspace_bytes(std::int64_t rows, const F& floats) {
  std::int64_t most = 0;
  const std::int64_t enough = std::min(rows, kernels::cpu::kMaxPartials * kernels::cpu::kPieceElements);
  for (std::int64_t r = 1; r <= enough; ++r) most = std::max<std::int64_t>(most, floats(r));
  return static_cast<std::uint64_t>(most) * sizeof(float);
}

}  // namespace dptrain::backend::cpu
