#pragma once

// Which input places each place of a resized axis reads, and with what weights. Pure.

#include <cstdint>
#include <vector>

#include "kernels/cpu/resize.h"

namespace dptrain::data {

enum class ResizeFilter { kNearest, kBilinear, kTriangle /*bilinear with antialiasing*/ };

struct ResizeTable {
  std::int64_t size = 0, taps = 1;
  std::vector<std::int32_t> first;  ///< [size]
  std::vector<float> weights;       ///< [taps, size]; empty for kNearest

  kernels::cpu::ResizeAxis axis() const { return {size, taps, first.data(), weights.data()}; }
};

/// From `in` places to `out`; `mirror` in reverse order.
ResizeTable make_resize_table(std::int64_t in, std::int64_t out, ResizeFilter filter, bool mirror);

}  // namespace dptrain::data
