#pragma once

// Sums over blocks of consecutive rows of [rows, channels]: bias gradients, global average pooling. Only for .cu files.

#include "kernels/cuda/lanes.h"

namespace dptrain::kernels::DPTRAIN_BACKEND {

struct ColumnSums {
  std::int64_t rows, channels;
  std::int64_t rows_per_block;  ///< the last block may have fewer
  float factor;                 ///< multiplies the sums
  int tile;                     ///< groups of V channels per thread block, a power of two up to kBlock
};

inline int power_of_two(std::int64_t at_least, int at_most) {
  int power = 1;
  while (power < at_least && power < at_most) power *= 2;
  return power;
}

/// sums[b, c] = factor * sum of x[row, c] over the rows of block b. With kMask, x is set to zero where mask <= 0. A
/// thread sums every (kBlock / tile)th row of V channels; a tree adds the threads' sums. The order depends only on the
/// shape. Needs kBlock threads for each (block of rows, tile of channels).
template <class T, int V, bool kMask, class Out>
__global__ void column_sums_kernel(const ColumnSums s, T* x, const T* mask, Out* sums) {
  __shared__ float partial[kBlock * V];
  const int lanes = kBlock / s.tile, thread = static_cast<int>(threadIdx.x);
  const int column = thread % s.tile, lane = thread / s.tile;
  const std::int64_t tiles = (s.channels + s.tile * V - 1) / (s.tile * V);
  const Split place = split(blockIdx.x, tiles);
  const std::int64_t c = (place.remainder * s.tile + column) * V;
  const std::int64_t begin = place.quotient * s.rows_per_block;
  const std::int64_t end = begin + s.rows_per_block < s.rows ? begin + s.rows_per_block : s.rows;
  Lanes<V> sum = all<V>(0.0F);
  if (c < s.channels) {
    for (std::int64_t row = begin + lane; row < end; row += lanes) {
      const std::int64_t i = row * s.channels + c;
      Lanes<V> value = load<V>(x + i);
      if constexpr (kMask) {
        const Lanes<V> gate = load<V>(mask + i);
        DPTRAIN_UNROLL
        for (int k = 0; k < V; ++k) value.v[k] = gate.v[k] > 0.0F ? value.v[k] : 0.0F;
        store<V>(value, x + i);
      }
      DPTRAIN_UNROLL
      for (int k = 0; k < V; ++k) sum.v[k] += value.v[k];
    }
  }
  DPTRAIN_UNROLL
  for (int k = 0; k < V; ++k) partial[k * kBlock + thread] = sum.v[k];
  for (int half = lanes / 2; half > 0; half /= 2) {
    __syncthreads();
    if (lane < half) {
      DPTRAIN_UNROLL
      for (int k = 0; k < V; ++k) partial[k * kBlock + thread] += partial[k * kBlock + thread + half * s.tile];
    }
  }
  if (lane == 0 && c < s.channels) {
    DPTRAIN_UNROLL
    for (int k = 0; k < V; ++k) sum.v[k] = partial[k * kBlock + thread] * s.factor;
    store<V>(sum, sums + place.quotient * s.channels + c);
  }
}

/// `tile`: maximum groups of channels per thread block. x is written only if mask is not null.
template <class T, class Out>
void column_sums(const Launch& at, std::int64_t rows, std::int64_t channels, std::int64_t rows_per_block, float factor,
                 int tile, T* x, const T* mask, Out* sums) {
  if (rows <= 0 || channels <= 0) return;
  constexpr int kWide = kVector<T>;
  const bool wide = channels % kWide == 0 && aligned(x, mask, sums);
  const int v = wide ? kWide : 1;
  const ColumnSums s{.rows = rows,
                     .channels = channels,
                     .rows_per_block = rows_per_block,
                     .factor = factor,
                     .tile = power_of_two((channels + v - 1) / v, tile)};
  const std::int64_t blocks = (rows + rows_per_block - 1) / rows_per_block;
  const std::int64_t tiles = (channels + s.tile * v - 1) / (s.tile * v);
  const auto kernel = mask == nullptr
                          ? (wide ? column_sums_kernel<T, kWide, false, Out> : column_sums_kernel<T, 1, false, Out>)
                          : (wide ? column_sums_kernel<T, kWide, true, Out> : column_sums_kernel<T, 1, true, Out>);
  DPTRAIN_LAUNCH(at, kernel, static_cast<unsigned>(blocks * tiles), kBlock, s, x, mask, sums);
}

}  // namespace dptrain::kernels::DPTRAIN_BACKEND
