#pragma once

// Element-wise passes over flat arrays, the hash of an arena, and the sum of arenas on devices with peer access. An
// output may be an input (the same pointer) unless stated otherwise. Fastest if pointers are aligned to 16 bytes.

#include "core/dtype.h"
#include "kernels/cuda/launch.h"

namespace dptrain::kernels::DPTRAIN_BACKEND {

void fill(const Launch& at, float value, float* y, std::int64_t n);

void copy(const Launch& at, DType type, const void* x, void* y, std::int64_t n);

/// y += x, added in float.
void accumulate(const Launch& at, DType type, const void* x, void* y, std::int64_t n);

/// y = factor x.
void scale(const Launch& at, DType type, float factor, const void* x, void* y, std::int64_t n);

/// y = x, rounded to `type`. Not in place.
void cast_from_float(const Launch& at, const float* x, DType type, void* y, std::int64_t n);

/// y = x. Not in place.
void cast_to_float(const Launch& at, DType type, const void* x, float* y, std::int64_t n);

/// Number of std::uint64_t in `partials` of hash().
inline constexpr int kHashPartials = 1024;

/// *result = hash of the bits of x[0, n), independent of grid and device: words are mixed with their positions and
/// added modulo 2^64. x may contain any 4-byte words.
void hash(const Launch& at, const float* x, std::int64_t n, std::uint64_t* partials, std::uint64_t* result);

/// largest[0] = the largest |x - y|, largest[1] = the largest |x|, which must be zero before; NaN if a value is NaN, or
/// if x and y have the same infinity.
void largest_difference(const Launch& at, DType type, const void* x, const void* y, std::int64_t n, float* largest);

inline constexpr int kMaxRanks = 16;

/// One array per rank, all visible to the launching device.
struct RankArrays {
  float* array[kMaxRanks] = {};
  int ranks = 0;
};

/// Writes the sum over the ranks, in the order of SumTree(ranks), to all ranks' arrays, for elements [begin, end).
void sum_ranks(const Launch& at, const RankArrays& arrays, std::int64_t begin, std::int64_t end);

/// Delays the stream for about this time. For tests; does nothing on the emulator, whose queues run in random order.
void delay(const Launch& at, std::int64_t microseconds);

}  // namespace dptrain::kernels::DPTRAIN_BACKEND
