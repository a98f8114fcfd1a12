#pragma once

// Fixed division of a bucket among the ranks that sum it. Pure functions.

#include <algorithm>
#include <cstdint>

#include "plan/plan.h"

namespace dptrain::distributed {

/// Floats in a cache line. Parts are cut at multiples of it, so no two ranks write to one line and GPUs can load four
/// floats at once.
inline constexpr std::int64_t kLineFloats = 16;

/// The part of a bucket that a rank sums; may be empty.
inline plan::Bucket part_of(const plan::Bucket& bucket, int rank, int ranks) {
  const std::int64_t lines = (bucket.end - bucket.begin + kLineFloats - 1) / kLineFloats;
  const auto cut = [&](int r) { return std::min(bucket.begin + lines * r / ranks * kLineFloats, bucket.end); };
  return {cut(rank), cut(rank + 1)};
}

}  // namespace dptrain::distributed
