// A pixel of up to four channels as one vector.

#if defined(DPTRAIN_KERNELS_CPU_PIXELS_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef DPTRAIN_KERNELS_CPU_PIXELS_INL_H
#undef DPTRAIN_KERNELS_CPU_PIXELS_INL_H
#else
#define DPTRAIN_KERNELS_CPU_PIXELS_INL_H
#endif

#include "kernels/cpu/pixels.h"
#include "kernels/cpu/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace dptrain::kernels::cpu::HWY_NAMESPACE {

#if HWY_TARGET == HWY_SCALAR  // has no vectors of four

struct QuadVec {
  float lane[4];
};
template <class F>
HWY_INLINE QuadVec each_lane(const F& f) {
  return {{f(0), f(1), f(2), f(3)}};
}
HWY_INLINE QuadVec quad(float x) { return {{x, x, x, x}}; }
template <class T>
HWY_INLINE QuadVec load_quad(const T* p) {
  return each_lane([&](int i) { return static_cast<float>(p[i]); });
}
HWY_INLINE void store_quad(QuadVec v, float* p) { std::memcpy(p, v.lane, sizeof v.lane); }
HWY_INLINE QuadVec multiply(QuadVec a, QuadVec b) {
  return each_lane([&](int i) { return a.lane[i] * b.lane[i]; });
}
HWY_INLINE QuadVec multiply_add(QuadVec a, QuadVec b, QuadVec c) {
  return each_lane([&](int i) { return a.lane[i] * b.lane[i] + c.lane[i]; });
}
HWY_INLINE QuadVec reversed(QuadVec v, bool three) {
  return each_lane([&](int i) { return v.lane[three ? (i == 3 ? 3 : 2 - i) : 3 - i]; });
}

#else

using Quad = hn::FixedTag<float, 4>;
using QuadVec = hn::Vec<Quad>;
inline constexpr Quad kQuad{};

HWY_INLINE QuadVec quad(float x) { return hn::Set(kQuad, x); }
/// Loads four elements from p on, for any number of channels.
HWY_INLINE QuadVec load_quad(const float* p) { return hn::LoadU(kQuad, p); }
HWY_INLINE QuadVec load_quad(const uint8_t* p) {
  const hn::RebindToSigned<Quad> ints;
  const hn::Rebind<uint8_t, decltype(ints)> bytes;
  return hn::ConvertTo(kQuad, hn::PromoteTo(ints, hn::LoadU(bytes, p)));
}
HWY_INLINE void store_quad(QuadVec v, float* p) { hn::StoreU(v, kQuad, p); }
HWY_INLINE QuadVec multiply(QuadVec a, QuadVec b) { return hn::Mul(a, b); }
HWY_INLINE QuadVec multiply_add(QuadVec a, QuadVec b, QuadVec c) { return hn::MulAdd(a, b, c); }
/// Reverses the first three lanes, or all four.
HWY_INLINE QuadVec reversed(QuadVec v, bool three) {
  return three ? hn::Shuffle0321(hn::Shuffle0123(v)) : hn::Shuffle0123(v);
}

#endif

/// Loads only this pixel; lanes beyond are zero.
template <class T>
HWY_INLINE QuadVec load_pixel(const T* p, int64_t channels) {
  float lanes[4] = {};
  for (int64_t c = 0; c < channels; ++c) lanes[c] = static_cast<float>(p[c]);
  return load_quad(lanes);
}
HWY_INLINE void store_pixel(QuadVec v, float* p, int64_t channels) {
  float lanes[4];
  store_quad(v, lanes);
  std::memcpy(p, lanes, static_cast<size_t>(channels) * sizeof(float));
}

/// PixelMap for one pixel of three or four channels in a vector.
template <bool kReverse>
class QuadMap {
 public:
  QuadMap(const PixelMap& map, int64_t channels)
      : scale_(load_pixel(map.scale, channels)), offset_(load_pixel(map.offset, channels)), three_(channels == 3) {}
  HWY_INLINE QuadVec operator()(QuadVec v) const {
    if constexpr (kReverse) v = reversed(v, three_);
    return multiply_add(v, scale_, offset_);
  }

 private:
  QuadVec scale_, offset_;
  bool three_;
};

/// PixelMap for any number of channels, element by element.
struct ScalarMap {
  const PixelMap& map;
  int64_t channels;
  /// Maps `value` of channel c of the input and stores it at its place in the output pixel.
  HWY_INLINE void store(float* pixel, int64_t c, float value) const {
    const int64_t to = map.reverse ? channels - 1 - c : c;
    pixel[to] = value * map.scale[to] + map.offset[to];
  }
};

}  // namespace dptrain::kernels::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
