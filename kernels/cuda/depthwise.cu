#include "kernels/cuda/depthwise.h"

#include <initializer_list>
#include <type_traits>

#include "kernels/cuda/column_sums.h"
#include "kernels/cuda/columns.h"

namespace dptrain::kernels::DPTRAIN_BACKEND {
namespace {

/// Position of pack p in an image [rows, h, w, channels].
struct DepthwisePixel {
  std::int64_t row, h, w, c;
};
template <int V>
__device__ inline DepthwisePixel depthwise_pixel_of(std::int64_t pack, std::int64_t h, std::int64_t w,
                                                    std::int64_t channels) {
  const Split channel = split(pack, channels / V), column = split(channel.quotient, w),
              line = split(column.quotient, h);
  return {line.quotient, line.remainder, column.remainder, channel.remainder * V};
}

template <int V>
__device__ inline void multiply_add(const Lanes<V>& a, const Lanes<V>& b, Lanes<V>& sum) {
  DPTRAIN_UNROLL
  for (int k = 0; k < V; ++k) sum.v[k] = fmaf(a.v[k], b.v[k], sum.v[k]);
}

template <class T, int V>
__global__ void depthwise_forward_kernel(const DepthwiseShape s, const T* x, const float* weights, const float* bias,
                                         bool relu, std::int64_t packs, T* y) {
  const std::int64_t channels = s.out_channels();
  for (std::int64_t i = thread_number(); i < packs; i += thread_count()) {
    const DepthwisePixel p = depthwise_pixel_of<V>(i, s.out_h, s.out_w, channels);
    const std::int64_t from = V > 1 ? p.c : split(p.c, s.multiplier).quotient;  // packs require multiplier 1
    const T* const image = x + p.row * s.in_h * s.in_w * s.channels + from;
    Lanes<V> sum = bias == nullptr ? all<V>(0.0F) : load<V>(bias + p.c);
    for (std::int64_t kh = 0; kh < s.kernel_h; ++kh) {
      const std::int64_t h = p.h * s.stride_h + kh * s.dilation_h - s.pad_top;
      if (h < 0 || h >= s.in_h) continue;
      for (std::int64_t kw = 0; kw < s.kernel_w; ++kw) {
        const std::int64_t w = p.w * s.stride_w + kw * s.dilation_w - s.pad_left;
        if (w < 0 || w >= s.in_w) continue;
        multiply_add<V>(load<V>(image + (h * s.in_w + w) * s.channels),
                        load<V>(weights + (kh * s.kernel_w + kw) * channels + p.c), sum);
      }
    }
    DPTRAIN_UNROLL
    for (int k = 0; k < V; ++k)
      if (relu && sum.v[k] <= 0.0F) sum.v[k] = 0.0F;  // NaN propagates
    store<V>(sum, y + i * V);
  }
}

/// The outputs along one axis that read input i: output o through `tap`, o - dilation through tap + step, and so on.
struct Readers {
  std::int64_t tap, step, o;
  __device__ Readers(std::int64_t i, std::int64_t pad, std::int64_t stride)
      : tap(split(i + pad, stride).remainder), step(stride), o(split(i + pad, stride).quotient) {}
};

template <class T, int V>
__global__ void backward_data_kernel(const DepthwiseShape s, const T* dy, const float* weights, std::int64_t packs,
                                     T* dx) {
  const std::int64_t channels = s.out_channels();
  for (std::int64_t i = thread_number(); i < packs; i += thread_count()) {
    const DepthwisePixel p = depthwise_pixel_of<V>(i, s.in_h, s.in_w, s.channels);
    const T* const image = dy + p.row * s.out_h * s.out_w * channels + p.c * s.multiplier;
    const float* const taps = weights + p.c * s.multiplier;
    const Readers rows(p.h, s.pad_top, s.stride_h), columns(p.w, s.pad_left, s.stride_w);
    Lanes<V> sum = all<V>(0.0F);
    std::int64_t oh = rows.o;
    for (std::int64_t kh = rows.tap; kh < s.kernel_h; kh += rows.step, oh -= s.dilation_h) {
      if (oh < 0 || oh >= s.out_h) continue;
      std::int64_t ow = columns.o;
      for (std::int64_t kw = columns.tap; kw < s.kernel_w; kw += columns.step, ow -= s.dilation_w) {
        if (ow < 0 || ow >= s.out_w) continue;
        const T* const from = image + (oh * s.out_w + ow) * channels;
        const float* const tap = taps + (kh * s.kernel_w + kw) * channels;
        for (std::int64_t j = 0; j < (V > 1 ? 1 : s.multiplier); ++j)
          multiply_add<V>(load<V>(from + j), load<V>(tap + j), sum);
      }
    }
    store<V>(sum, dx + i * V);
  }
}

// Weight gradients: blocks sum kTaps adjacent taps over pieces of the positions; a second launch adds these in order.

constexpr std::int64_t kMaxGradientBlocks = 264, kGradientPositionsPerThread = 8;

ColumnCover cover_weights(const DepthwiseShape& s, std::int64_t rows, int v) {
  return cover_columns(rows * s.out_h * s.out_w, s.out_channels(), v, kGradientPositionsPerThread, kMaxGradientBlocks);
}

/// workspace[piece, kernel_h, kernel_w, channels]. Grid y: groups of taps; grid x: pieces and tiles of columns.
template <class T, int V, int kTaps>
__global__ void depthwise_weights_kernel(const DepthwiseShape s, const ColumnCover cover, const T* x, const T* dy,
                                         float* workspace) {
  __shared__ float parts[kBlock * V];
  const std::int64_t groups = s.kernel_w / kTaps, channels = s.out_channels();
  const Split tap = split(blockIdx.y, groups);
  const std::int64_t kh = tap.quotient, kw = tap.remainder * kTaps;
  const ColumnPlace place = place_of<V>(cover);
  const bool inside = place.column < channels;
  Lanes<V> sum[kTaps];
  DPTRAIN_UNROLL
  for (int t = 0; t < kTaps; ++t) sum[t] = all<V>(0.0F);
  if (inside) {
    const std::int64_t from = V > 1 ? place.column : split(place.column, s.multiplier).quotient;
    for (std::int64_t position = place.first; position < place.end; position += place.step) {
      const Split column = split(position, s.out_w), line = split(column.quotient, s.out_h);
      const std::int64_t h = line.remainder * s.stride_h + kh * s.dilation_h - s.pad_top;
      if (h < 0 || h >= s.in_h) continue;
      const Lanes<V> g = load<V>(dy + position * channels + place.column);
      const T* const pixels = x + (line.quotient * s.in_h + h) * s.in_w * s.channels + from;
      DPTRAIN_UNROLL
      for (int t = 0; t < kTaps; ++t) {
        const std::int64_t w = column.remainder * s.stride_w + (kw + t) * s.dilation_w - s.pad_left;
        if (w >= 0 && w < s.in_w) multiply_add<V>(load<V>(pixels + w * s.channels), g, sum[t]);
      }
    }
  }
  const int thread = static_cast<int>(threadIdx.x), lane = thread / cover.tile;
  float* const to = workspace + split(blockIdx.x, cover.tiles).quotient * s.weights() + place.column;
  DPTRAIN_UNROLL
  for (int t = 0; t < kTaps; ++t) {
    DPTRAIN_UNROLL
    for (int k = 0; k < V; ++k) parts[k * kBlock + thread] = sum[t].v[k];
    for (int half = kBlock / cover.tile / 2; half > 0; half /= 2) {
      __syncthreads();
      if (lane < half) {
        DPTRAIN_UNROLL
        for (int k = 0; k < V; ++k) parts[k * kBlock + thread] += parts[k * kBlock + thread + half * cover.tile];
      }
    }
    if (lane == 0 && inside) {
      DPTRAIN_UNROLL
      for (int k = 0; k < V; ++k) to[(kh * s.kernel_w + kw + t) * channels + k] = parts[k * kBlock + thread];
    }
    __syncthreads();
  }
}

template <class T, int V, int kTaps>
void launch_weights(const Launch& at, const DepthwiseShape& s, const ColumnCover& cover, const T* x, const T* dy,
                    float* workspace) {
  const dim3 grid(cover.blocks(), static_cast<unsigned>(s.kernel_h * (s.kernel_w / kTaps)));
  const auto kernel = depthwise_weights_kernel<T, V, kTaps>;
  DPTRAIN_LAUNCH(at, kernel, grid, kBlock, s, cover, x, dy, workspace);
}

/// Calls f(Type<T>, V as a constant), with packs if multiplier, channels and addresses allow.
template <class F>
void with_pack(DType type, const DepthwiseShape& s, std::initializer_list<const void*> pointers, const F& f) {
  dispatch(type, [&](auto tag) {
    constexpr int kWide = kVector<typename decltype(tag)::type>;
    if (s.multiplier == 1 && s.channels % kWide == 0 && aligned(pointers))
      f(tag, std::integral_constant<int, kWide>{});
    else
      f(tag, std::integral_constant<int, 1>{});
  });
}

}  // namespace

void depthwise_forward(const Launch& at, DType type, const DepthwiseShape& shape, const void* x, const float* weights,
                       const float* bias, bool relu, std::int64_t rows, void* y) {
  if (rows <= 0) return;
  with_pack(type, shape, {x, weights, bias, y}, [&](auto tag, auto v) {
    using T = typename decltype(tag)::type;
    const std::int64_t packs = rows * shape.out_h * shape.out_w * shape.out_channels() / v;
    DPTRAIN_LAUNCH_FLAT(at, (depthwise_forward_kernel<T, v>), grid_for(at, packs), kBlock, shape,
                        static_cast<const T*>(x), weights, bias, relu, packs, static_cast<T*>(y));
  });
}

void depthwise_backward_data(const Launch& at, DType type, const DepthwiseShape& shape, const void* dy,
                             const float* weights, std::int64_t rows, void* dx) {
  if (rows <= 0) return;
  with_pack(type, shape, {dy, weights, dx}, [&](auto tag, auto v) {
    using T = typename decltype(tag)::type;
    const std::int64_t packs = rows * shape.in_h * shape.in_w * shape.channels / v;
    DPTRAIN_LAUNCH_FLAT(at, (backward_data_kernel<T, v>), grid_for(at, packs), kBlock, shape, static_cast<const T*>(dy),
                        weights, packs, static_cast<T*>(dx));
  });
}

std::int64_t depthwise_workspace(DType type, const DepthwiseShape& shape, std::int64_t rows) {
  std::int64_t pieces = 0;
  dispatch(type, [&](auto tag) {
    for (const int v : {1, kVector<typename decltype(tag)::type>})
      pieces = std::max(pieces, cover_weights(shape, rows, v).most_pieces);
  });
  return pieces * shape.weights();
}

void depthwise_backward_weights(const Launch& at, DType type, const DepthwiseShape& shape, const void* x,
                                const void* dy, std::int64_t rows, float* workspace, float* dweights) {
  std::int64_t pieces = 0;
  with_pack(type, shape, {x, dy}, [&](auto tag, auto v) {
    using T = typename decltype(tag)::type;
    const ColumnCover cover = cover_weights(shape, rows, v);
    const auto launch = shape.kernel_w % 5 == 0   ? launch_weights<T, v, 5>
                        : shape.kernel_w % 3 == 0 ? launch_weights<T, v, 3>
                                                  : launch_weights<T, v, 1>;
    launch(at, shape, cover, static_cast<const T*>(x), static_cast<const T*>(dy), workspace);
    pieces = cover.pieces();
  });
  column_sums<float, float>(at, pieces, shape.weights(), pieces, 1.0F, 8, workspace, nullptr, dweights);
}

}  // namespace dptrain::kernels::DPTRAIN_BACKEND
