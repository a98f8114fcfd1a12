#include "kernels/cuda/pool.h"

#include <initializer_list>
#include <type_traits>

#include "kernels/cuda/column_sums.h"

namespace dptrain::kernels::DPTRAIN_BACKEND {
namespace {

/// Range [begin, end) of kernel positions or of windows along one axis.
struct Span {
  std::int64_t begin, end;
};

/// The kernel positions inside the input; position k reads input `origin + k`.
__device__ inline Span inside(std::int64_t origin, std::int64_t kernel, std::int64_t in) {
  return {origin < 0 ? -origin : 0, kernel < in - origin ? kernel : in - origin};
}

__device__ inline Span covering(std::int64_t i, std::int64_t pad, std::int64_t kernel, std::int64_t stride,
                                std::int64_t out) {
  const std::int64_t last = split(i + pad, stride).quotient + 1, before = i + pad - kernel;
  return {before < 0 ? 0 : split(before, stride).quotient + 1, last < out ? last : out};
}

/// Position of pack i in [rows, h, w, channels].
struct Place {
  std::int64_t row, h, w, c;
};
template <int V>
__device__ inline Place place_of(std::int64_t i, std::int64_t h, std::int64_t w, std::int64_t channels) {
  const Split channel = split(i, channels / V), column = split(channel.quotient, w), line = split(column.quotient, h);
  return {line.quotient, line.remainder, column.remainder, channel.remainder * V};
}

/// V indices within windows or images.
template <int V, class I>
__device__ inline Raw<I, V> load_positions(const I* at) {
  return *reinterpret_cast<const Raw<I, V>*>(at);
}

/// The first largest value so far, and its index.
template <class I, int V>
struct Best {
  Lanes<V> value;
  Raw<I, V> index;
  __device__ void start(const Lanes<V>& first, std::int64_t at) {
    value = first;
    DPTRAIN_UNROLL
    for (int k = 0; k < V; ++k) index.v[k] = static_cast<I>(at);
  }
  __device__ void update_max(const Lanes<V>& other, std::int64_t at) {
    DPTRAIN_UNROLL
    for (int k = 0; k < V; ++k) {
      if (!(other.v[k] > value.v[k])) continue;
      value.v[k] = other.v[k];
      index.v[k] = static_cast<I>(at);
    }
  }
};

template <class T, int V>
__global__ void max_forward_kernel(const PoolWindow w, const T* x, std::int64_t packs, T* y, std::uint8_t* argmax) {
  for (std::int64_t i = thread_number(); i < packs; i += thread_count()) {
    const Place p = place_of<V>(i, w.out_h, w.out_w, w.channels);
    const std::int64_t top = p.h * w.stride_h - w.pad_top, left = p.w * w.stride_w - w.pad_left;
    const Span h = inside(top, w.kernel_h, w.in_h), v = inside(left, w.kernel_w, w.in_w);
    const T* const image = x + p.row * w.in_h * w.in_w * w.channels + p.c;
    const auto at = [&](std::int64_t kh, std::int64_t kw) {
      return load<V>(image + ((top + kh) * w.in_w + left + kw) * w.channels);
    };
    Best<std::uint8_t, V> best;
    best.start(at(h.begin, v.begin), h.begin * w.kernel_w + v.begin);
    for (std::int64_t kh = h.begin; kh < h.end; ++kh)
      for (std::int64_t kw = v.begin; kw < v.end; ++kw) best.update_max(at(kh, kw), kh * w.kernel_w + kw);
    store<V>(best.value, y + i * V);
    if (argmax != nullptr) *reinterpret_cast<Raw<std::uint8_t, V>*>(argmax + i * V) = best.index;
  }
}

template <class T, int V>
__global__ void max_backward_kernel(const PoolWindow w, const T* dy, const std::uint8_t* argmax, const T* output,
                                    std::int64_t packs, T* dx) {
  for (std::int64_t i = thread_number(); i < packs; i += thread_count()) {
    const Place p = place_of<V>(i, w.in_h, w.in_w, w.channels);
    const Span h = covering(p.h, w.pad_top, w.kernel_h, w.stride_h, w.out_h);
    const Span v = covering(p.w, w.pad_left, w.kernel_w, w.stride_w, w.out_w);
    Lanes<V> sum = all<V>(0.0F);
    for (std::int64_t oh = h.begin; oh < h.end; ++oh) {
      for (std::int64_t ow = v.begin; ow < v.end; ++ow) {
        const std::int64_t out = ((p.row * w.out_h + oh) * w.out_w + ow) * w.channels + p.c;
        const auto here = static_cast<std::uint8_t>((p.h + w.pad_top - oh * w.stride_h) * w.kernel_w + p.w +
                                                    w.pad_left - ow * w.stride_w);
        const Raw<std::uint8_t, V> chosen = load_positions<V>(argmax + out);
        const Lanes<V> g = load<V>(dy + out), gate = output == nullptr ? all<V>(1.0F) : load<V>(output + out);
        DPTRAIN_UNROLL
        for (int k = 0; k < V; ++k) sum.v[k] += chosen.v[k] == here && gate.v[k] > 0.0F ? g.v[k] : 0.0F;
      }
    }
    store<V>(sum, dx + i * V);
  }
}

template <class T, int V>
__global__ void avg_forward_kernel(const PoolWindow w, const T* x, std::int64_t packs, T* y) {
  for (std::int64_t i = thread_number(); i < packs; i += thread_count()) {
    const Place p = place_of<V>(i, w.out_h, w.out_w, w.channels);
    const std::int64_t top = p.h * w.stride_h - w.pad_top, left = p.w * w.stride_w - w.pad_left;
    const Span h = inside(top, w.kernel_h, w.in_h), v = inside(left, w.kernel_w, w.in_w);
    const T* const image = x + p.row * w.in_h * w.in_w * w.channels + p.c;
    Lanes<V> sum = all<V>(0.0F);
    for (std::int64_t kh = h.begin; kh < h.end; ++kh) {
      for (std::int64_t kw = v.begin; kw < v.end; ++kw) {
        const Lanes<V> value = load<V>(image + ((top + kh) * w.in_w + left + kw) * w.channels);
        DPTRAIN_UNROLL
        for (int k = 0; k < V; ++k) sum.v[k] += value.v[k];
      }
    }
    const float share = 1.0F / static_cast<float>((h.end - h.begin) * (v.end - v.begin));
    DPTRAIN_UNROLL
    for (int k = 0; k < V; ++k) sum.v[k] *= share;
    store<V>(sum, y + i * V);
  }
}

template <class T, int V>
__global__ void avg_backward_kernel(const PoolWindow w, const T* dy, std::int64_t packs, T* dx) {
  for (std::int64_t i = thread_number(); i < packs; i += thread_count()) {
    const Place p = place_of<V>(i, w.in_h, w.in_w, w.channels);
    const Span rows = covering(p.h, w.pad_top, w.kernel_h, w.stride_h, w.out_h);
    const Span columns = covering(p.w, w.pad_left, w.kernel_w, w.stride_w, w.out_w);
    Lanes<V> sum = all<V>(0.0F);
    for (std::int64_t oh = rows.begin; oh < rows.end; ++oh) {
      const Span h = inside(oh * w.stride_h - w.pad_top, w.kernel_h, w.in_h);
      for (std::int64_t ow = columns.begin; ow < columns.end; ++ow) {
        const Span v = inside(ow * w.stride_w - w.pad_left, w.kernel_w, w.in_w);
        const float share = 1.0F / static_cast<float>((h.end - h.begin) * (v.end - v.begin));
        const Lanes<V> g = load<V>(dy + ((p.row * w.out_h + oh) * w.out_w + ow) * w.channels + p.c);
        DPTRAIN_UNROLL
        for (int k = 0; k < V; ++k) sum.v[k] += g.v[k] * share;
      }
    }
    store<V>(sum, dx + i * V);
  }
}

template <class T, int V>
__global__ void global_avg_backward_kernel(const T* dy, std::int64_t packs, std::int64_t spatial, std::int64_t channels,
                                           float share, T* dx) {
  for (std::int64_t i = thread_number(); i < packs; i += thread_count()) {
    const Place p = place_of<V>(i, spatial, 1, channels);
    Lanes<V> g = load<V>(dy + p.row * channels + p.c);
    DPTRAIN_UNROLL
    for (int k = 0; k < V; ++k) g.v[k] *= share;
    store<V>(g, dx + i * V);
  }
}

template <class T, int V>
__global__ void global_max_forward_kernel(const T* x, std::int64_t packs, std::int64_t spatial, std::int64_t channels,
                                          T* y, std::int32_t* argmax) {
  for (std::int64_t i = thread_number(); i < packs; i += thread_count()) {
    const Split place = split(i, channels / V);
    const T* const image = x + place.quotient * spatial * channels + place.remainder * V;
    Best<std::int32_t, V> best;
    best.start(load<V>(image), 0);
    for (std::int64_t s = 1; s < spatial; ++s) best.update_max(load<V>(image + s * channels), s);
    store<V>(best.value, y + i * V);
    if (argmax != nullptr) *reinterpret_cast<Raw<std::int32_t, V>*>(argmax + i * V) = best.index;
  }
}

template <class T, int V>
__global__ void global_max_backward_kernel(const T* dy, const std::int32_t* argmax, std::int64_t packs,
                                           std::int64_t spatial, std::int64_t channels, T* dx) {
  for (std::int64_t i = thread_number(); i < packs; i += thread_count()) {
    const Place p = place_of<V>(i, spatial, 1, channels);
    const Raw<std::int32_t, V> chosen = load_positions<V>(argmax + p.row * channels + p.c);
    Lanes<V> g = load<V>(dy + p.row * channels + p.c);
    DPTRAIN_UNROLL
    for (int k = 0; k < V; ++k) g.v[k] = chosen.v[k] == p.h ? g.v[k] : 0.0F;
    store<V>(g, dx + i * V);
  }
}

/// Calls f(Type<T>, V as a constant) with the widest packs that channels and addresses allow.
template <class F>
void with_pack(DType type, std::int64_t channels, std::initializer_list<const void*> pointers, const F& f) {
  dispatch(type, [&](auto tag) {
    constexpr int kWide = kVector<typename decltype(tag)::type>;
    if (channels % kWide == 0 && aligned(pointers))
      f(tag, std::integral_constant<int, kWide>{});
    else
      f(tag, std::integral_constant<int, 1>{});
  });
}

}  // namespace

void max_pool_forward(const Launch& at, DType type, const PoolWindow& window, const void* x, std::int64_t rows, void* y,
                      std::uint8_t* argmax) {
  if (rows <= 0) return;
  with_pack(type, window.channels, {x, y, argmax}, [&](auto tag, auto v) {
    using T = typename decltype(tag)::type;
    const std::int64_t packs = rows * window.out_h * window.out_w * window.channels / v;
    DPTRAIN_LAUNCH_FLAT(at, (max_forward_kernel<T, v>), grid_for(at, packs), kBlock, window, static_cast<const T*>(x),
                        packs, static_cast<T*>(y), argmax);
  });
}

void max_pool_backward(const Launch& at, DType type, const PoolWindow& window, const void* dy,
                       const std::uint8_t* argmax, const void* output, std::int64_t rows, void* dx) {
  if (rows <= 0) return;
  with_pack(type, window.channels, {dy, argmax, output, dx}, [&](auto tag, auto v) {
    using T = typename decltype(tag)::type;
    const std::int64_t packs = rows * window.in_h * window.in_w * window.channels / v;
    DPTRAIN_LAUNCH_FLAT(at, (max_backward_kernel<T, v>), grid_for(at, packs), kBlock, window, static_cast<const T*>(dy),
                        argmax, static_cast<const T*>(output), packs, static_cast<T*>(dx));
  });
}

void avg_pool_forward(const Launch& at, DType type, const PoolWindow& window, const void* x, std::int64_t rows,
                      void* y) {
  if (rows <= 0) return;
  with_pack(type, window.channels, {x, y}, [&](auto tag, auto v) {
    using T = typename decltype(tag)::type;
    const std::int64_t packs = rows * window.out_h * window.out_w * window.channels / v;
    DPTRAIN_LAUNCH_FLAT(at, (avg_forward_kernel<T, v>), grid_for(at, packs), kBlock, window, static_cast<const T*>(x),
                        packs, static_cast<T*>(y));
  });
}

void avg_pool_backward(const Launch& at, DType type, const PoolWindow& window, const void* dy, std::int64_t rows,
                       void* dx) {
  if (rows <= 0) return;
  with_pack(type, window.channels, {dy, dx}, [&](auto tag, auto v) {
    using T = typename decltype(tag)::type;
    const std::int64_t packs = rows * window.in_h * window.in_w * window.channels / v;
    DPTRAIN_LAUNCH_FLAT(at, (avg_backward_kernel<T, v>), grid_for(at, packs), kBlock, window, static_cast<const T*>(dy),
                        packs, static_cast<T*>(dx));
  });
}

void global_avg_forward(const Launch& at, DType type, const void* x, std::int64_t rows, std::int64_t spatial,
                        std::int64_t channels, void* y) {
  dispatch(type, [&](auto tag) {
    using T = typename decltype(tag)::type;
    // Without a mask, x is not written.
    column_sums<T, T>(at, rows * spatial, channels, spatial, 1.0F / static_cast<float>(spatial), 32,
                      static_cast<T*>(const_cast<void*>(x)), nullptr, static_cast<T*>(y));
  });
}

void global_avg_backward(const Launch& at, DType type, const void* dy, std::int64_t rows, std::int64_t spatial,
                         std::int64_t channels, void* dx) {
  if (rows <= 0) return;
  with_pack(type, channels, {dy, dx}, [&](auto tag, auto v) {
    using T = typename decltype(tag)::type;
    const std::int64_t packs = rows * spatial * channels / v;
    DPTRAIN_LAUNCH_FLAT(at, (global_avg_backward_kernel<T, v>), grid_for(at, packs), kBlock, static_cast<const T*>(dy),
                        packs, spatial, channels, 1.0F / static_cast<float>(spatial), static_cast<T*>(dx));
  });
}

void global_max_forward(const Launch& at, DType type, const void* x, std::int64_t rows, std::int64_t spatial,
                        std::int64_t channels, void* y, std::int32_t* argmax) {
  if (rows <= 0) return;
  with_pack(type, channels, {x, y, argmax}, [&](auto tag, auto v) {
    using T = typename decltype(tag)::type;
    const std::int64_t packs = rows * channels / v;
    DPTRAIN_LAUNCH_FLAT(at, (global_max_forward_kernel<T, v>), grid_for(at, packs), kBlock, static_cast<const T*>(x),
                        packs, spatial, channels, static_cast<T*>(y), argmax);
  });
}

void global_max_backward(const Launch& at, DType type, const void* dy, const std::int32_t* argmax, std::int64_t rows,
                         std::int64_t spatial, std::int64_t channels, void* dx) {
  if (rows <= 0) return;
  with_pack(type, channels, {dy, argmax, dx}, [&](auto tag, auto v) {
    using T = typename decltype(tag)::type;
    const std::int64_t packs = rows * spatial * channels / v;
    DPTRAIN_LAUNCH_FLAT(at, (global_max_backward_kernel<T, v>), grid_for(at, packs), kBlock, static_cast<const T*>(dy),
                        argmax, packs, spatial, channels, static_cast<T*>(dx));
  });
}

}  // namespace dptrain::kernels::DPTRAIN_BACKEND
