#include "kernels/cpu/pixels.h"

#include <algorithm>

#include "kernels/cpu/targets.h"

#define HWY_TARGET_INCLUDE "kernels/cpu/pixels.cpp"
#include <hwy/foreach_target.h>

#include "kernels/cpu/pixels-inl.h"

HWY_BEFORE_NAMESPACE();
namespace dptrain::kernels::cpu::HWY_NAMESPACE {

HWY_INLINE Vec to_floats(IntVec v) { return hn::ConvertTo(kFloats, v); }
HWY_INLINE Vec to_floats(Vec v) { return v; }

template <class T>
void map_plain_row(const T* in, int64_t n, float scale, float offset, float* out) {
  const Vec factor = splat(scale), shift = splat(offset);
  sweep(n,
        [&](int64_t i, auto io) HWY_ATTR { io.store(hn::MulAdd(to_floats(io.load(in + i)), factor, shift), out + i); });
}

/// Three or four channels. Loads and stores whole vectors if another pixel follows in the row.
template <bool kReverse, class T>
void map_quad_row(const T* in, int64_t width, int64_t channels, const QuadMap<kReverse>& map, bool mirror, float* out) {
  const int64_t last = width - 1;
  const auto source = [&](int64_t x) { return in + (mirror ? last - x : x) * channels; };
  for (int64_t x = 0; x < width; ++x) {
    const int64_t from = mirror ? last - x : x;
    const QuadVec v = map(from < last ? load_quad(source(x)) : load_pixel(source(x), channels));
    if (x < last) {
      store_quad(v, out + x * channels);
    } else {
      store_pixel(v, out + x * channels, channels);
    }
  }
}

template <class T>
void map_any_row(const T* in, int64_t width, const ScalarMap& map, bool mirror, float* out) {
  for (int64_t x = 0; x < width; ++x, out += map.channels) {
    const T* const pixel = in + (mirror ? width - 1 - x : x) * map.channels;
    for (int64_t c = 0; c < map.channels; ++c) map.store(out, c, static_cast<float>(pixel[c]));
  }
}

template <class T, class Row>
void each_row(const Pixels<T>& in, bool mirror_y, float* out, int64_t out_stride, const Row& row) {
  for (int64_t y = 0; y < in.height; ++y)
    row(in.data + (mirror_y ? in.height - 1 - y : y) * in.stride, out + y * out_stride);
}

template <class T>
void map_pixels_of(const Pixels<T>& in, const PixelMap& map, bool mirror_x, bool mirror_y, float* out,
                   int64_t out_stride) {
  const int64_t channels = in.channels;
  const bool alike = std::all_of(map.scale, map.scale + channels, [&](float s) { return s == map.scale[0]; }) &&
                     std::all_of(map.offset, map.offset + channels, [&](float o) { return o == map.offset[0]; });
  if (alike && (!map.reverse || channels == 1) && (!mirror_x || in.width == 1)) {
    const int64_t row = in.width * channels;
    if (!mirror_y && in.stride == row && out_stride == row) {
      map_plain_row(in.data, in.height * row, map.scale[0], map.offset[0], out);
      return;
    }
    each_row(in, mirror_y, out, out_stride,
             [&](const T* from, float* to) { map_plain_row(from, row, map.scale[0], map.offset[0], to); });
  } else if (channels == 3 || channels == 4) {
    const auto rows = [&](const auto& quad) {
      each_row(in, mirror_y, out, out_stride,
               [&](const T* from, float* to) { map_quad_row(from, in.width, channels, quad, mirror_x, to); });
    };
    map.reverse ? rows(QuadMap<true>(map, channels)) : rows(QuadMap<false>(map, channels));
  } else {
    const ScalarMap scalar{map, channels};
    each_row(in, mirror_y, out, out_stride,
             [&](const T* from, float* to) { map_any_row(from, in.width, scalar, mirror_x, to); });
  }
}

void map_bytes(const Pixels<uint8_t>& in, const PixelMap& map, bool mirror_x, bool mirror_y, float* out,
               int64_t stride) {
  map_pixels_of(in, map, mirror_x, mirror_y, out, stride);
}
void map_floats(const Pixels<float>& in, const PixelMap& map, bool mirror_x, bool mirror_y, float* out,
                int64_t stride) {
  map_pixels_of(in, map, mirror_x, mirror_y, out, stride);
}

}  // namespace dptrain::kernels::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace dptrain::kernels::cpu {

HWY_EXPORT(map_bytes);
HWY_EXPORT(map_floats);

void map_pixels(const Pixels<uint8_t>& in, const PixelMap& map, bool mirror_x, bool mirror_y, float* out,
                int64_t out_stride) {
  HWY_DYNAMIC_DISPATCH(map_bytes)(in, map, mirror_x, mirror_y, out, out_stride);
}
void map_pixels(const Pixels<float>& in, const PixelMap& map, bool mirror_x, bool mirror_y, float* out,
                int64_t out_stride) {
  HWY_DYNAMIC_DISPATCH(map_floats)(in, map, mirror_x, mirror_y, out, out_stride);
}

}  // namespace dptrain::kernels::cpu
#endif
