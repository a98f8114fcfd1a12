#include "kernels/cpu/resize.h"

#include <cstring>

#include "kernels/cpu/targets.h"

#define HWY_TARGET_INCLUDE "kernels/cpu/resize.cpp"
#include <hwy/foreach_target.h>

#include "kernels/cpu/pixels-inl.h"

HWY_BEFORE_NAMESPACE();
namespace dptrain::kernels::cpu::HWY_NAMESPACE {

HWY_INLINE Vec floats_of(IntVec v) { return hn::ConvertTo(kFloats, v); }
HWY_INLINE Vec floats_of(Vec v) { return v; }

/// to[i] = sum over t of weights[t * weight_step] * from[t * stride + i].
template <class T>
void weigh_rows(const T* from, int64_t stride, const float* weights, int64_t weight_step, int64_t taps, int64_t n,
                float* to) {
  sweep_columns(n, [&](int64_t i, auto count, auto io) HWY_ATTR {
    constexpr int kVectors = decltype(count)::value;
    Vec sum[kVectors];
    const Vec first = splat(weights[0]);
    for (int k = 0; k < kVectors; ++k) sum[k] = hn::Mul(first, floats_of(io.load(from + i + k * kLanes)));
    for (int64_t t = 1; t < taps; ++t) {
      const Vec weight = splat(weights[t * weight_step]);
      const T* const row = from + t * stride + i;
      for (int k = 0; k < kVectors; ++k) sum[k] = hn::MulAdd(weight, floats_of(io.load(row + k * kLanes)), sum[k]);
    }
    for (int k = 0; k < kVectors; ++k) io.store(sum[k], to + i + k * kLanes);
  });
}

/// Three or four channels; kTaps 0: number of taps from the table. `row` needs a vector of padding after its end.
template <int kTaps, int kChannels, bool kReverse>
void weigh_quads(const float* row, const ResizeAxis& columns, const QuadMap<kReverse>& of_map, bool last_row,
                 float* out) {
  const QuadMap<kReverse> map = of_map;  // a copy in registers: stores might alias of_map
  const int32_t* const first = columns.first;
  const float* const weights = columns.weights;
  const int64_t taps = kTaps > 0 ? kTaps : columns.taps, size = columns.size;
  const int64_t full = last_row && kChannels == 3 ? size - 1 : size;  // the next row overwrites the fourth lane
  const auto pixel = [&](int64_t x) HWY_ATTR {
    const float* const from = row + first[x] * kChannels;
    QuadVec sum = multiply(quad(weights[x]), load_quad(from));
    for (int64_t t = 1; t < taps; ++t)
      sum = multiply_add(quad(weights[t * size + x]), load_quad(from + t * kChannels), sum);
    return map(sum);
  };
  for (int64_t x = 0; x < full; ++x) store_quad(pixel(x), out + x * kChannels);
  if (full < size) store_pixel(pixel(full), out + full * kChannels, kChannels);
}

/// One channel: a vector of output pixels at a time.
void weigh_gray(const float* row, const ResizeAxis& columns, float scale, float offset, float* out) {
  const Vec factor = splat(scale), shift = splat(offset);
  sweep(columns.size, [&](int64_t x, auto io) HWY_ATTR {
    const IntVec first = io.load(columns.first + x);
    Vec sum = hn::Mul(io.load(columns.weights + x), hn::GatherIndex(kFloats, row, first));
    for (int64_t t = 1; t < columns.taps; ++t)
      sum = hn::MulAdd(io.load(columns.weights + t * columns.size + x), hn::GatherIndex(kFloats, row + t, first), sum);
    io.store(hn::MulAdd(sum, factor, shift), out + x);
  });
}

void weigh_any(const float* row, const ResizeAxis& columns, const ScalarMap& map, float* out) {
  for (int64_t x = 0; x < columns.size; ++x, out += map.channels) {
    const float* const from = row + columns.first[x] * map.channels;
    for (int64_t c = 0; c < map.channels; ++c) {
      float sum = columns.weights[x] * from[c];
      for (int64_t t = 1; t < columns.taps; ++t)
        sum += columns.weights[t * columns.size + x] * from[t * map.channels + c];
      map.store(out, c, sum);
    }
  }
}

/// Resizes rows into `work` (contiguous vectors), then columns from there.
template <class T, class Columns>
void resize_rows(const Pixels<T>& in, const ResizeAxis& rows, int64_t out_row, float* work, float* out,
                 const Columns& columns) {
  for (int64_t y = 0; y < rows.size; ++y) {
    weigh_rows(in.data + rows.first[y] * in.stride, in.stride, rows.weights + y, rows.size, rows.taps,
               in.width * in.channels, work);
    columns(work, y == rows.size - 1, out + y * out_row);
  }
}

template <int kChannels, bool kReverse, class T>
void resize_quads(const Pixels<T>& in, const ResizeAxis& rows, const ResizeAxis& columns, const PixelMap& map,
                  float* work, float* out) {
  const QuadMap<kReverse> quad(map, kChannels);
  const int64_t out_row = columns.size * kChannels;
  const auto with_taps = [&](auto taps) {
    resize_rows(in, rows, out_row, work, out, [&](const float* row, bool last, float* to) {
      weigh_quads<decltype(taps)::value, kChannels>(row, columns, quad, last, to);
    });
  };
  switch (columns.taps) {
    case 2: return with_taps(std::integral_constant<int, 2>{});
    case 3: return with_taps(std::integral_constant<int, 3>{});
    case 4: return with_taps(std::integral_constant<int, 4>{});
    case 5: return with_taps(std::integral_constant<int, 5>{});
    default: return with_taps(std::integral_constant<int, 0>{});
  }
}

template <class T>
void resize_of(const Pixels<T>& in, const ResizeAxis& rows, const ResizeAxis& columns, const PixelMap& map, float* work,
               float* out) {
  const int64_t out_row = columns.size * in.channels;
  if (in.channels == 3) {
    map.reverse ? resize_quads<3, true>(in, rows, columns, map, work, out)
                : resize_quads<3, false>(in, rows, columns, map, work, out);
  } else if (in.channels == 4) {
    map.reverse ? resize_quads<4, true>(in, rows, columns, map, work, out)
                : resize_quads<4, false>(in, rows, columns, map, work, out);
  } else if (in.channels == 1) {
    resize_rows(in, rows, out_row, work, out,
                [&](const float* row, bool, float* to) { weigh_gray(row, columns, map.scale[0], map.offset[0], to); });
  } else {
    const ScalarMap scalar{map, in.channels};
    resize_rows(in, rows, out_row, work, out,
                [&](const float* row, bool, float* to) { weigh_any(row, columns, scalar, to); });
  }
}

void resize_bytes(const Pixels<uint8_t>& in, const ResizeAxis& rows, const ResizeAxis& columns, const PixelMap& map,
                  float* work, float* out) {
  resize_of(in, rows, columns, map, work, out);
}
void resize_floats(const Pixels<float>& in, const ResizeAxis& rows, const ResizeAxis& columns, const PixelMap& map,
                   float* work, float* out) {
  resize_of(in, rows, columns, map, work, out);
}

}  // namespace dptrain::kernels::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace dptrain::kernels::cpu {
namespace {

constexpr int64_t kBeyond = 16;  // a vector of four at the last pixel, rounded up for alignment

template <class T, class Out, class F>
void picked(const Pixels<T>& in, const int32_t* rows, int64_t height, const int32_t* columns, int64_t width, Out* out,
            const F& f) {
  for (int64_t y = 0; y < height; ++y) {
    const T* const row = in.data + rows[y] * in.stride;
    for (int64_t x = 0; x < width; ++x, out += in.channels) f(out, row + columns[x] * in.channels);
  }
}

template <class T>
void pick_mapped(const Pixels<T>& in, const int32_t* rows, int64_t height, const int32_t* columns, int64_t width,
                 const PixelMap& map, float* out) {
  const int64_t channels = in.channels;
  picked(in, rows, height, columns, width, out, [&](float* to, const T* from) {
    for (int64_t c = 0; c < channels; ++c)
      to[c] = static_cast<float>(from[map.reverse ? channels - 1 - c : c]) * map.scale[c] + map.offset[c];
  });
}

}  // namespace

HWY_EXPORT(resize_bytes);
HWY_EXPORT(resize_floats);

int64_t resize_workspace(int64_t in_width, int64_t channels) { return in_width * channels + kBeyond; }

void resize(const Pixels<uint8_t>& in, const ResizeAxis& rows, const ResizeAxis& columns, const PixelMap& map,
            float* work, float* out) {
  HWY_DYNAMIC_DISPATCH(resize_bytes)(in, rows, columns, map, work, out);
}
void resize(const Pixels<float>& in, const ResizeAxis& rows, const ResizeAxis& columns, const PixelMap& map,
            float* work, float* out) {
  HWY_DYNAMIC_DISPATCH(resize_floats)(in, rows, columns, map, work, out);
}

void pick_pixels(const Pixels<uint8_t>& in, const int32_t* rows, int64_t height, const int32_t* columns, int64_t width,
                 const PixelMap& map, float* out) {
  pick_mapped(in, rows, height, columns, width, map, out);
}
void pick_pixels(const Pixels<float>& in, const int32_t* rows, int64_t height, const int32_t* columns, int64_t width,
                 const PixelMap& map, float* out) {
  pick_mapped(in, rows, height, columns, width, map, out);
}
void pick_pixels(const Pixels<uint8_t>& in, const int32_t* rows, int64_t height, const int32_t* columns, int64_t width,
                 uint8_t* out) {
  picked(in, rows, height, columns, width, out,
         [&](uint8_t* to, const uint8_t* from) { std::memcpy(to, from, static_cast<size_t>(in.channels)); });
}

}  // namespace dptrain::kernels::cpu
#endif
