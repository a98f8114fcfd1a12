#pragma once

// Elementwise passes over flat arrays in device memory, and two things for replicas: the hash of an arena and the sum
// of arenas on devices that see each other's memory. Asynchronous on the launch's stream; any thread. Outputs are
// overwritten unless said otherwise; an output may be an input (the same pointer, not merely overlapping) unless said
// otherwise. Pointers are aligned to their element at least; where all are aligned to 16 bytes, accesses are 16 bytes
// wide.

#include "core/dtype.h"
#include "kernels/cuda/launch.h"

namespace dptrain::kernels::DPTRAIN_BACKEND {

void fill(const Launch& at, float value, float* y, std::int64_t n);

/// y = x.
void copy(const Launch& at, DType type, const void* x, void* y, std::int64_t n);

/// y += x, the sum in float.
void accumulate(const Launch& at, DType type, const void* x, void* y, std::int64_t n);

/// y = factor x.
void scale(const Launch& at, DType type, float factor, const void* x, void* y, std::int64_t n);

/// y = x, rounded to `type`. Not in place.
void cast_from_float(const Launch& at, const float* x, DType type, void* y, std::int64_t n);

/// y = x. Not in place.
void cast_to_float(const Launch& at, DType type, const void* x, float* y, std::int64_t n);

/// Elements of std::uint64_t that hash() needs for `partials`.
inline constexpr int kHashPartials = 1024;

/// *result = hash of the bits of x[0, n): every word is mixed with its position, and these are added modulo 2^64, so
/// the result depends on neither grid nor device. x [n] is any 4-byte words.
void hash(const Launch& at, const float* x, std::int64_t n, std::uint64_t* partials, std::uint64_t* result);

inline constexpr int kMaxRanks = 16;

/// One array per rank, all visible to the launching device.
struct RankArrays {
  float* array[kMaxRanks] = {};
  int ranks = 0;
};

/// For each element in [begin, end): the sum over the ranks, in the order of SumTree(ranks), is written to every rank's
/// array, so that it does not matter which device does which range.
void sum_ranks(const Launch& at, const RankArrays& arrays, std::int64_t begin, std::int64_t end);

/// Holds the stream up for about this long. Tests only; nothing on the emulator, whose queues run in random order
/// anyway.
void delay(const Launch& at, std::int64_t microseconds);

}  // namespace dptrain::kernels::DPTRAIN_BACKEND
