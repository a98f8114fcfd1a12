#include "kernels/cuda/affine.h"

#include "kernels/cuda/column_sums.h"
#include "kernels/cuda/elementwise.h"
#include "kernels/cuda/map.h"

namespace dptrain::kernels::DPTRAIN_BACKEND {
namespace {

struct AffineMap {
  float scale, offset;
  __device__ float operator()(float x) const { return x * scale + offset; }
};

template <class T, int V>
__global__ void channel_affine_kernel(const T* x, const float* shift, const float* scale, const float* offset,
                                      std::int64_t packs, std::int64_t packs_per_row, T* y) {
  for (std::int64_t i = thread_number(); i < packs; i += thread_count()) {
    const std::int64_t channel = split(i, packs_per_row).remainder * V;
    Lanes<V> value = load<V>(x + i * V);
    const Lanes<V> from = load<V>(shift + channel), factor = load<V>(scale + channel), to = load<V>(offset + channel);
    DPTRAIN_UNROLL
    for (int k = 0; k < V; ++k) value.v[k] = fmaf(value.v[k] - from.v[k], factor.v[k], to.v[k]);
    store<V>(value, y + i * V);
  }
}

__global__ void normalization_numbers_kernel(const float* mean, const float* variance, std::int64_t channels,
                                             bool invert, float* numbers) {
  for (std::int64_t c = thread_number(); c < channels; c += thread_count()) {
    const float deviation = fmaxf(sqrtf(variance[c]), 1e-7F);
    numbers[c] = invert ? 0.0F : mean[c];
    numbers[channels + c] = invert ? deviation : 1.0F / deviation;
    numbers[2 * channels + c] = invert ? mean[c] : 0.0F;
    numbers[3 * channels + c] = 0.0F;
  }
}

template <class T, int V>
__global__ void channel_scale_kernel(const T* x, const float* scale, std::int64_t packs, std::int64_t packs_per_row,
                                     T* y) {
  for (std::int64_t i = thread_number(); i < packs; i += thread_count()) {
    Lanes<V> value = load<V>(x + i * V);
    const Lanes<V> factor = load<V>(scale + split(i, packs_per_row).remainder * V);
    DPTRAIN_UNROLL
    for (int k = 0; k < V; ++k) value.v[k] *= factor.v[k];
    store<V>(value, y + i * V);
  }
}

constexpr int kProductTile = 32;  ///< channels per block

/// Rows per block of the first stage: enough work for a block, but few enough blocks for the second stage.
std::int64_t rows_of_products(std::int64_t rows) { return std::max<std::int64_t>(64, (rows + 1023) / 1024); }

/// sums[b, c] = sum of x dy over the rows of block b. A thread adds rows at a constant step; a tree adds the threads.
template <class T>
__global__ void product_sums_kernel(const T* x, const T* dy, std::int64_t rows, std::int64_t channels,
                                    std::int64_t rows_per_block, float* sums) {
  __shared__ float partial[kBlock];
  constexpr int kRowsAtOnce = kBlock / kProductTile;
  const int thread = static_cast<int>(threadIdx.x), lane = thread / kProductTile;
  const Split place = split(blockIdx.x, (channels + kProductTile - 1) / kProductTile);
  const std::int64_t c = place.remainder * kProductTile + thread % kProductTile;
  const std::int64_t begin = place.quotient * rows_per_block;
  const std::int64_t end = begin + rows_per_block < rows ? begin + rows_per_block : rows;
  float sum = 0.0F;
  if (c < channels)
    for (std::int64_t row = begin + lane; row < end; row += kRowsAtOnce)
      sum += to_float(x[row * channels + c]) * to_float(dy[row * channels + c]);
  partial[thread] = sum;
  for (int half = kRowsAtOnce / 2; half > 0; half /= 2) {
    __syncthreads();
    if (lane < half) partial[thread] += partial[thread + half * kProductTile];
  }
  if (lane == 0 && c < channels) sums[place.quotient * channels + c] = partial[thread];
}

}  // namespace

void scale_offset(const Launch& at, DType type, const void* x, float scale, float offset, void* y, std::int64_t n) {
  dispatch(type, [&](auto tag) {
    using T = typename decltype(tag)::type;
    map(at, n, AffineMap{scale, offset}, static_cast<T*>(y), static_cast<const T*>(x));
  });
}

void channel_affine(const Launch& at, DType type, const void* x, const float* shift, const float* scale,
                    const float* offset, std::int64_t n, std::int64_t channels, void* y) {
  if (n <= 0) return;
  dispatch(type, [&](auto tag) {
    using T = typename decltype(tag)::type;
    constexpr int kWide = kVector<T>;
    const bool wide = channels % kWide == 0 && aligned(x, shift, scale, offset, y);
    const int v = wide ? kWide : 1;
    const auto kernel = wide ? channel_affine_kernel<T, kWide> : channel_affine_kernel<T, 1>;
    DPTRAIN_LAUNCH_FLAT(at, kernel, grid_for(at, n / v), kBlock, static_cast<const T*>(x), shift, scale, offset, n / v,
                        channels / v, static_cast<T*>(y));
  });
}

void normalization_numbers(const Launch& at, const float* mean, const float* variance, std::int64_t channels,
                           bool invert, float* numbers) {
  DPTRAIN_LAUNCH_FLAT(at, normalization_numbers_kernel, grid_for(at, channels), kBlock, mean, variance, channels,
                      invert, numbers);
}

void channel_scale(const Launch& at, DType type, const void* x, const float* scale, std::int64_t rows,
                   std::int64_t channels, void* y) {
  if (rows <= 0) return;
  dispatch(type, [&](auto tag) {
    using T = typename decltype(tag)::type;
    constexpr int kWide = kVector<T>;
    const bool wide = channels % kWide == 0 && aligned(x, scale, y);
    const int v = wide ? kWide : 1;
    const auto kernel = wide ? channel_scale_kernel<T, kWide> : channel_scale_kernel<T, 1>;
    DPTRAIN_LAUNCH_FLAT(at, kernel, grid_for(at, rows * channels / v), kBlock, static_cast<const T*>(x), scale,
                        rows * channels / v, channels / v, static_cast<T*>(y));
  });
}

std::int64_t channel_scale_workspace(std::int64_t rows, std::int64_t channels) {
  return std::min<std::int64_t>(1024, (rows + 63) / 64) * channels;
}

void channel_scale_gradient(const Launch& at, DType type, const void* x, const void* dy, std::int64_t rows,
                            std::int64_t channels, float* workspace, float* gradient) {
  if (rows <= 0) return fill(at, 0.0F, gradient, channels);
  const std::int64_t size = rows_of_products(rows), blocks = (rows + size - 1) / size;
  const std::int64_t tiles = (channels + kProductTile - 1) / kProductTile;
  dispatch(type, [&](auto tag) {
    using T = typename decltype(tag)::type;
    const auto kernel = product_sums_kernel<T>;
    DPTRAIN_LAUNCH(at, kernel, static_cast<unsigned>(blocks * tiles), kBlock, static_cast<const T*>(x),
                   static_cast<const T*>(dy), rows, channels, size, workspace);
  });
  column_sums<float, float>(at, blocks, channels, blocks, 1.0F, 8, workspace, nullptr, gradient);
}

}  // namespace dptrain::kernels::DPTRAIN_BACKEND
