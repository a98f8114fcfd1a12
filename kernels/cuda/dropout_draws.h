#pragma once

// Random numbers of dropout (dropout.h), for kernels that fuse it. Only for .cu files.

#include <cmath>

#include "kernels/cuda/dropout.h"
#include "kernels/philox.h"

namespace dptrain::kernels::DPTRAIN_BACKEND {

/// The comparison uniform >= rate in integers: kept if (bits >> 8) >= threshold.
struct Keep {
  std::uint32_t threshold;
  float factor;
  std::uint32_t seed, layer, first_row;
};

__device__ inline PhiloxBlock draw(const Keep& keep, std::int64_t row, std::int64_t group, std::int64_t step) {
  const std::uint64_t count = static_cast<std::uint64_t>(step);
  return philox4x32({{keep.first_row + static_cast<std::uint32_t>(row), static_cast<std::uint32_t>(group),
                      static_cast<std::uint32_t>(count), static_cast<std::uint32_t>(count >> 32)}},
                    {{keep.seed, keep.layer}});
}

__device__ inline float drop(const Keep& keep, std::uint32_t bits, float x) {
  return (bits >> 8) >= keep.threshold ? x * keep.factor : 0.0F;
}

inline Keep keep_of(const Dropout& dropout) {
  const double rate = static_cast<double>(dropout.rate);
  return {.threshold = static_cast<std::uint32_t>(std::ceil(rate * 16777216.0)),
          .factor = static_cast<float>(1.0 / (1.0 - rate)),
          .seed = dropout.seed,
          .layer = dropout.layer,
          .first_row = static_cast<std::uint32_t>(dropout.first_row)};
}

}  // namespace dptrain::kernels::DPTRAIN_BACKEND
