#include "kernels/cpu/warp.h"

#include <algorithm>
#include <cmath>

#include "kernels/cpu/targets.h"

#define HWY_TARGET_INCLUDE "kernels/cpu/warp.cpp"
#include <hwy/foreach_target.h>

#include "kernels/cpu/pixels-inl.h"

#ifndef DPTRAIN_KERNELS_CPU_WARP_ONCE
#define DPTRAIN_KERNELS_CPU_WARP_ONCE
namespace dptrain::kernels::cpu {

/// Maps coordinates outside [0, size - 1] inside, as MapCoordinate of TensorFlow's image_ops.h (truncating divisions).
inline float inside(float at, int64_t size, WarpFill fill) {
  const auto last = static_cast<float>(size - 1);
  if (fill == WarpFill::kConstant) return at;
  const auto length = static_cast<float>(size);
  if (fill != WarpFill::kNearest && (at < 0 || at > last)) {
    if (size <= 1) {
      at = 0;
    } else if (fill == WarpFill::kReflect) {
      const float twice = 2 * length;
      if (at < 0) {
        if (at < twice) at = twice * std::trunc(-at / twice) + at;
        at = at < -length ? at + twice : -at - 1;
      } else {
        at -= twice * std::trunc(at / twice);
        if (at >= length) at = twice - at - 1;
      }
    } else {
      at += at < 0 ? length * (std::trunc(-at / last) + 1) : -length * std::trunc(at / last);
    }
  }
  return std::clamp(at, 0.0F, last);
}

}  // namespace dptrain::kernels::cpu
#endif

HWY_BEFORE_NAMESPACE();
namespace dptrain::kernels::cpu::HWY_NAMESPACE {

/// Any number of channels, any position.
template <class T>
class Sampler {
 public:
  Sampler(const Pixels<T>& in, const Warp& warp) : in_(in), warp_(warp) {}

  /// Takes coordinates after inside(). Beyond kFar only the fill value is read, as they might not fit an integer.
  void sample(float x, float y, const ScalarMap& map, float* out) const {
    constexpr float kFar = 1e6F;
    const bool far = !(std::fabs(x) < kFar && std::fabs(y) < kFar);
    const float left = std::floor(x), top = std::floor(y), right = left + 1, bottom = top + 1;
    for (int64_t c = 0; c < map.channels; ++c) {
      float value = warp_.fill_value;
      if (far) {
      } else if (warp_.bilinear) {
        const float above = (right - x) * read(left, top, c) + (x - left) * read(right, top, c);
        const float below = (right - x) * read(left, bottom, c) + (x - left) * read(right, bottom, c);
        value = (bottom - y) * above + (y - top) * below;
      } else {
        value = read(std::round(x), std::round(y), c);
      }
      map.store(out, c, value);
    }
  }

 private:
  float read(float fx, float fy, int64_t c) const {
    const auto x = static_cast<int64_t>(fx), y = static_cast<int64_t>(fy);
    if (x < 0 || y < 0 || x >= in_.width || y >= in_.height) return warp_.fill_value;
    return static_cast<float>(in_.data[y * in_.stride + x * in_.channels + c]);
  }

  const Pixels<T>& in_;
  const Warp& warp_;
};

/// Bilinear; all four pixels must be inside, with another one after them in the row.
template <bool kReverse, class T>
HWY_INLINE QuadVec inner(const Pixels<T>& in, float x, float y, const QuadMap<kReverse>& map) {
  const auto left = static_cast<int64_t>(x), top = static_cast<int64_t>(y);
  const float right = x - static_cast<float>(left), down = y - static_cast<float>(top);
  const T* const above = in.data + top * in.stride + left * in.channels;
  const T* const below = above + in.stride;
  const QuadVec west = quad(1 - right), east = quad(right);
  const QuadVec upper = multiply_add(west, load_quad(above), multiply(east, load_quad(above + in.channels)));
  const QuadVec lower = multiply_add(west, load_quad(below), multiply(east, load_quad(below + in.channels)));
  return map(multiply_add(quad(1 - down), upper, multiply(quad(down), lower)));
}

template <bool kReverse, class T>
void warp_mapped(const Pixels<T>& in, const Warp& warp, const PixelMap& map, float* out) {
  const int64_t channels = in.channels;
  const bool quads = (channels == 3 || channels == 4) && warp.bilinear;
  const QuadMap<kReverse> quad_map(map, std::min<int64_t>(channels, 4));
  const ScalarMap scalar{map, channels};
  const Sampler<T> sampler(in, warp);
  const float* const m = warp.matrix;
  const auto most_x = static_cast<float>(in.width - 2), most_y = static_cast<float>(in.height - 1);
  for (int64_t row = 0; row < in.height; ++row) {
    const auto y = static_cast<float>(warp.mirror_y ? in.height - 1 - row : row);
    for (int64_t column = 0; column < in.width; ++column, out += channels) {
      const auto x = static_cast<float>(warp.mirror_x ? in.width - 1 - column : column);
      const float u = m[0] * x + m[1] * y + m[2], v = m[3] * x + m[4] * y + m[5];
      if (quads && u >= 0 && v >= 0 && u < most_x && v < most_y) {
        store_pixel(inner(in, u, v, quad_map), out, channels);
      } else {
        sampler.sample(inside(u, in.width, warp.fill), inside(v, in.height, warp.fill), scalar, out);
      }
    }
  }
}

void warp_bytes(const Pixels<uint8_t>& in, const Warp& warp, const PixelMap& map, float* out) {
  map.reverse ? warp_mapped<true>(in, warp, map, out) : warp_mapped<false>(in, warp, map, out);
}
void warp_floats(const Pixels<float>& in, const Warp& warp, const PixelMap& map, float* out) {
  map.reverse ? warp_mapped<true>(in, warp, map, out) : warp_mapped<false>(in, warp, map, out);
}

}  // namespace dptrain::kernels::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace dptrain::kernels::cpu {

HWY_EXPORT(warp_bytes);
HWY_EXPORT(warp_floats);

void warp(const Pixels<uint8_t>& in, const Warp& warp, const PixelMap& map, float* out) {
  HWY_DYNAMIC_DISPATCH(warp_bytes)(in, warp, map, out);
}
void warp(const Pixels<float>& in, const Warp& warp, const PixelMap& map, float* out) {
  HWY_DYNAMIC_DISPATCH(warp_floats)(in, warp, map, out);
}

}  // namespace dptrain::kernels::cpu
#endif
