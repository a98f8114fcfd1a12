#include "kernels/cuda/lrn.h"

#include "kernels/cuda/lanes.h"

// Threads process elements of the flat array. An element's window ends at the bounds of its pixel.

namespace dptrain::kernels::DPTRAIN_BACKEND {
namespace {

// scale^-beta; the usual exponents need no logarithm.
struct PowerHalf {
  __device__ float operator()(float scale) const { return 1.0F / sqrtf(scale); }
};
struct PowerThreeQuarters {
  __device__ float operator()(float scale) const {
    const float root = sqrtf(scale);
    return 1.0F / (root * sqrtf(root));
  }
};
struct PowerOne {
  __device__ float operator()(float scale) const { return 1.0F / scale; }
};
struct PowerAny {
  float beta;
  __device__ float operator()(float scale) const { return powf(scale, -beta); }
};

template <class F>
void with_power(float beta, const F& f) {
  if (beta == 0.5F) return f(PowerHalf{});
  if (beta == 0.75F) return f(PowerThreeQuarters{});
  if (beta == 1.0F) return f(PowerOne{});
  f(PowerAny{beta});
}

template <class T, class Power>
struct Pixels {
  Lrn lrn;
  Power power;
  const T* x;
  std::int64_t n, channels;

  struct Window {
    std::int64_t begin, end;
  };
  __device__ Window window(std::int64_t i) const {
    const std::int64_t pixel = i - split(i, channels).remainder;
    const std::int64_t begin = i - lrn.radius, end = i + lrn.radius + 1;
    return {begin > pixel ? begin : pixel, end < pixel + channels ? end : pixel + channels};
  }
  __device__ float scale(std::int64_t i) const {
    const Window w = window(i);
    float sum = 0.0F;
    for (std::int64_t j = w.begin; j < w.end; ++j) {
      const float value = to_float(x[j]);
      sum += value * value;
    }
    return fmaf(lrn.alpha, sum, lrn.bias);
  }
};

template <class T, class Power>
__global__ void lrn_forward_kernel(Pixels<T, Power> p, T* y) {
  for (std::int64_t i = thread_number(); i < p.n; i += thread_count())
    y[i] = from_float<T>(to_float(p.x[i]) * p.power(p.scale(i)));
}

/// Elements per thread block of backward, and elements whose contributions it stores at a time.
constexpr int kElements = 4 * kBlock, kKept = 5 * kBlock;

/// dx[i] = dy[i] s[i]^-beta - 2 alpha beta x[i] sum over the window of dy[j] x[j] s[j]^(-beta - 1).
template <class T, class Power>
__global__ void lrn_backward_kernel(Pixels<T, Power> p, const T* dy, T* dx) {
  __shared__ float spread[kKept];
  constexpr int kEach = kElements / kBlock;
  const int thread = static_cast<int>(threadIdx.x);
  const std::int64_t first = static_cast<std::int64_t>(blockIdx.x) * kElements;
  const std::int64_t last = first + kElements < p.n ? first + kElements : p.n;
  const std::int64_t from = first > p.lrn.radius ? first - p.lrn.radius : 0;
  const std::int64_t to = last + p.lrn.radius < p.n ? last + p.lrn.radius : p.n;
  float sum[kEach] = {};
  for (std::int64_t begin = from; begin < to; begin += kKept) {
    const std::int64_t end = begin + kKept < to ? begin + kKept : to;
    for (std::int64_t j = begin + thread; j < end; j += kBlock) {
      const float scale = p.scale(j);
      spread[j - begin] = to_float(dy[j]) * to_float(p.x[j]) * p.power(scale) / scale;
    }
    __syncthreads();
    DPTRAIN_UNROLL
    for (int k = 0; k < kEach; ++k) {
      const std::int64_t i = first + k * kBlock + thread;
      if (i >= last) continue;
      const auto w = p.window(i);
      const std::int64_t w_end = w.end < end ? w.end : end;
      for (std::int64_t j = w.begin > begin ? w.begin : begin; j < w_end; ++j) sum[k] += spread[j - begin];
    }
    __syncthreads();
  }
  const float factor = -2.0F * p.lrn.alpha * p.lrn.beta;
  DPTRAIN_UNROLL
  for (int k = 0; k < kEach; ++k) {
    const std::int64_t i = first + k * kBlock + thread;
    if (i < last) dx[i] = from_float<T>(fmaf(factor * to_float(p.x[i]), sum[k], to_float(dy[i]) * p.power(p.scale(i))));
  }
}

/// Calls f(Pixels) for the type and the exponent. A window wider than the channels is clamped.
template <class F>
void with_pixels(DType type, const Lrn& lrn, const void* x, std::int64_t pixels, std::int64_t channels, const F& f) {
  if (pixels <= 0 || channels <= 0) return;
  Lrn within = lrn;
  within.radius = std::min(lrn.radius, channels);
  dispatch(type, [&](auto tag) {
    using T = typename decltype(tag)::type;
    with_power(lrn.beta, [&](auto power) {
      f(Pixels<T, decltype(power)>{within, power, static_cast<const T*>(x), pixels * channels, channels});
    });
  });
}

template <class T, class Power>
void forward(const Launch& at, const Pixels<T, Power>& p, void* y) {
  const auto kernel = lrn_forward_kernel<T, Power>;
  DPTRAIN_LAUNCH_FLAT(at, kernel, grid_for(at, p.n), kBlock, p, static_cast<T*>(y));
}

template <class T, class Power>
void backward(const Launch& at, const Pixels<T, Power>& p, const void* dy, void* dx) {
  const auto blocks = static_cast<unsigned>((p.n + kElements - 1) / kElements);
  const auto kernel = lrn_backward_kernel<T, Power>;
  DPTRAIN_LAUNCH(at, kernel, blocks, kBlock, p, static_cast<const T*>(dy), static_cast<T*>(dx));
}

}  // namespace

void lrn_forward(const Launch& at, DType type, const Lrn& lrn, const void* x, std::int64_t pixels,
                 std::int64_t channels, void* y) {
  with_pixels(type, lrn, x, pixels, channels, [&](const auto& p) { forward(at, p, y); });
}

void lrn_backward(const Launch& at, DType type, const Lrn& lrn, const void* x, const void* dy, std::int64_t pixels,
                  std::int64_t channels, void* dx) {
  with_pixels(type, lrn, x, pixels, channels, [&](const auto& p) { backward(at, p, dy, dx); });
}

}  // namespace dptrain::kernels::DPTRAIN_BACKEND
