#include "kernels/cuda/upsample.h"

#include <type_traits>

#include "kernels/cuda/lanes.h"

namespace dptrain::kernels::DPTRAIN_BACKEND {
namespace {

template <class Int>
__device__ inline UpsampleAxisOf<Int> axis(std::int64_t in, std::int64_t out, bool bilinear) {
  return {static_cast<Int>(in), static_cast<Int>(out), bilinear};
}

/// Position of pack i in an image [rows, h, w, channels].
struct Pixel {
  std::int64_t row, h, w, c;
};
template <int V>
__device__ inline Pixel pixel_of(std::int64_t pack, std::int64_t h, std::int64_t w, std::int64_t channels) {
  const Split channel = split(pack, channels / V), column = split(channel.quotient, w),
              line = split(column.quotient, h);
  return {line.quotient, line.remainder, column.remainder, channel.remainder * V};
}

template <int V>
__device__ inline Lanes<V> between(Lanes<V> a, const Lanes<V>& b, float share) {
  DPTRAIN_UNROLL
  for (int k = 0; k < V; ++k) a.v[k] = fmaf(b.v[k] - a.v[k], share, a.v[k]);
  return a;
}

template <class Int, class T, int V>
__global__ void upsample_forward_kernel(const UpsampleShape s, const T* x, std::int64_t packs, T* y) {
  const UpsampleAxisOf<Int> rows = axis<Int>(s.in_h, s.out_h, s.bilinear),
                            columns = axis<Int>(s.in_w, s.out_w, s.bilinear);
  for (std::int64_t i = thread_number(); i < packs; i += thread_count()) {
    const Pixel p = pixel_of<V>(i, s.out_h, s.out_w, s.channels);
    const auto h = rows.place(static_cast<Int>(p.h)), w = columns.place(static_cast<Int>(p.w));
    const T* const image = x + p.row * s.in_h * s.in_w * s.channels + p.c;
    const auto at = [&](std::int64_t line, std::int64_t column) {
      return load<V>(image + (line * s.in_w + column) * s.channels);
    };
    Lanes<V> value = at(h.low, w.low);
    if (s.bilinear)
      value = between<V>(between<V>(value, at(h.low, w.high), w.share),
                         between<V>(at(h.high, w.low), at(h.high, w.high), w.share), h.share);
    store<V>(value, y + i * V);
  }
}

template <class Int, class T, int V>
__global__ void upsample_backward_kernel(const UpsampleShape s, const T* dy, std::int64_t packs, T* dx) {
  const UpsampleAxisOf<Int> rows = axis<Int>(s.in_h, s.out_h, s.bilinear),
                            columns = axis<Int>(s.in_w, s.out_w, s.bilinear);
  const std::int64_t out_h = s.out_h, out_w = s.out_w;
  for (std::int64_t i = thread_number(); i < packs; i += thread_count()) {
    const Pixel p = pixel_of<V>(i, s.in_h, s.in_w, s.channels);
    const T* const image = dy + p.row * out_h * out_w * s.channels + p.c;
    Lanes<V> sum = all<V>(0.0F);
    const Int ih = static_cast<Int>(p.h), iw = static_cast<Int>(p.w);
    const Int left = columns.begin(iw), right = columns.end(iw), bottom = rows.end(ih);
    for (Int oh = rows.begin(ih); oh < bottom; ++oh) {
      const float down = rows.part(ih, oh);
      for (Int ow = left; ow < right; ++ow) {
        const float part = down * columns.part(iw, ow);
        const Lanes<V> g = load<V>(image + (oh * out_w + ow) * s.channels);
        DPTRAIN_UNROLL
        for (int k = 0; k < V; ++k) sum.v[k] = fmaf(g.v[k], part, sum.v[k]);
      }
    }
    store<V>(sum, dx + i * V);
  }
}

/// Calls f(Type<T>, V as a constant, Int{}) with the widest packs and the narrowest integers that are possible.
template <class F>
void with_pack(DType type, const UpsampleShape& shape, const void* from, const void* to, const F& f) {
  dispatch(type, [&](auto tag) {
    constexpr int kWide = kVector<typename decltype(tag)::type>;
    const auto with_numbers = [&](auto v) {
      if (fits_32_bits(shape))
        f(tag, v, std::int32_t{});
      else
        f(tag, v, std::int64_t{});
    };
    if (shape.channels % kWide == 0 && aligned(from, to))
      with_numbers(std::integral_constant<int, kWide>{});
    else
      with_numbers(std::integral_constant<int, 1>{});
  });
}

}  // namespace

void upsample_forward(const Launch& at, DType type, const UpsampleShape& shape, const void* x, std::int64_t rows,
                      void* y) {
  if (rows <= 0) return;
  with_pack(type, shape, x, y, [&](auto tag, auto v, auto number) {
    using T = typename decltype(tag)::type;
    const std::int64_t packs = rows * shape.out_h * shape.out_w * shape.channels / v;
    DPTRAIN_LAUNCH_FLAT(at, (upsample_forward_kernel<decltype(number), T, v>), grid_for(at, packs), kBlock, shape,
                        static_cast<const T*>(x), packs, static_cast<T*>(y));
  });
}

void upsample_backward(const Launch& at, DType type, const UpsampleShape& shape, const void* dy, std::int64_t rows,
                       void* dx) {
  if (rows <= 0) return;
  with_pack(type, shape, dy, dx, [&](auto tag, auto v, auto number) {
    using T = typename decltype(tag)::type;
    const std::int64_t packs = rows * shape.in_h * shape.in_w * shape.channels / v;
    DPTRAIN_LAUNCH_FLAT(at, (upsample_backward_kernel<decltype(number), T, v>), grid_for(at, packs), kBlock, shape,
                        static_cast<const T*>(dy), packs, static_cast<T*>(dx));
  });
}

}  // namespace dptrain::kernels::DPTRAIN_BACKEND
