#pragma once

// How the ranks of one process share the summing of a bucket: each owns a fixed part. Pure.

#include <algorithm>
#include <cstdint>

#include "plan/plan.h"

namespace dptrain::distributed {

/// Floats in a cache line, and four times what a GPU loads at once: parts are cut there, so that no line is written by
/// two.
inline constexpr std::int64_t kLineFloats = 16;

/// The part of a bucket that a rank sums; may be empty.
inline plan::Bucket part_of(const plan::Bucket& bucket, int rank, int ranks) {
  const std::int64_t lines = (bucket.end - bucket.begin + kLineFloats - 1) / kLineFloats;
  const auto cut = [&](int r) { return std::min(bucket.begin + lines * r / ranks * kLineFloats, bucket.end); };
  return {cut(rank), cut(rank + 1)};
}

}  // namespace dptrain::distributed
