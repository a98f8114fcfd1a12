// Shared by the vectorised kernels. Kernel sources include it after hwy/foreach_target.h, once per instruction set:
// hence Highway's include guard with HWY_TARGET_TOGGLE in place of #pragma once, as in all -inl.h files.

#if defined(DPTRAIN_KERNELS_CPU_SIMD_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef DPTRAIN_KERNELS_CPU_SIMD_INL_H
#undef DPTRAIN_KERNELS_CPU_SIMD_INL_H
#else
#define DPTRAIN_KERNELS_CPU_SIMD_INL_H
#endif

#include <hwy/highway.h>

#include <cstdint>
#include <cstring>
#include <type_traits>

HWY_BEFORE_NAMESPACE();
namespace dptrain::kernels::cpu::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

using Floats = hn::ScalableTag<float>;
using Ints = hn::RebindToSigned<Floats>;
using Bytes = hn::Rebind<uint8_t, Ints>;  // as many bytes as a float vector has lanes
// NEON vectors have constructors. A struct of vectors that is default-constructed, e.g. in an array, must declare its
// constructor HWY_INLINE and = default: the implicit one is not compiled for the instruction set.
using Vec = hn::Vec<Floats>;
using IntVec = hn::Vec<Ints>;

inline constexpr Floats kFloats{};
inline constexpr Ints kInts{};
inline constexpr Bytes kBytes{};
inline constexpr int64_t kLanes = static_cast<int64_t>(hn::MaxLanes(kFloats));

HWY_INLINE Vec splat(float value) { return hn::Set(kFloats, value); }

struct Whole {
  HWY_INLINE Vec load(const float* p) const { return hn::LoadU(kFloats, p); }
  HWY_INLINE void store(Vec v, float* p) const { hn::StoreU(v, kFloats, p); }
  HWY_INLINE IntVec load(const uint8_t* p) const { return hn::PromoteTo(kInts, hn::LoadU(kBytes, p)); }
  HWY_INLINE void store(IntVec v, uint8_t* p) const { hn::StoreU(hn::DemoteTo(kBytes, v), kBytes, p); }
  HWY_INLINE IntVec load(const int32_t* p) const { return hn::LoadU(kInts, p); }
  HWY_INLINE void store(IntVec v, int32_t* p) const { hn::StoreU(v, kInts, p); }
  /// Zeroes the lanes that hold no element, before a sum.
  HWY_INLINE Vec clear(Vec v) const { return v; }
  /// Sets them to the second argument, before a maximum.
  HWY_INLINE Vec clear(Vec v, Vec) const { return v; }
};

/// Loads and stores the first `count` < kLanes elements; memory beyond is not accessed, lanes beyond are zero. Results
/// do not depend on where a piece ends, because the arithmetic between uses whole vectors.
struct Partial {
  int64_t count;

#if HWY_TARGET == HWY_AVX2 || !HWY_MEM_OPS_MIGHT_FAULT  // masked moves of x86 do not touch what is masked off
  HWY_INLINE Vec load(const float* p) const {
    return hn::MaskedLoad(hn::FirstN(kFloats, static_cast<size_t>(count)), kFloats, p);
  }
  HWY_INLINE void store(Vec v, float* p) const {
    hn::BlendedStore(v, hn::FirstN(kFloats, static_cast<size_t>(count)), kFloats, p);
  }
#else
  HWY_INLINE Vec load(const float* p) const { return hn::LoadU(kFloats, Copy<float>(p, count).lanes); }
  HWY_INLINE void store(Vec v, float* p) const {
    Copy<float> copy;
    hn::StoreU(v, kFloats, copy.lanes);
    std::memcpy(p, copy.lanes, static_cast<size_t>(count) * sizeof(float));
  }
#endif
  HWY_INLINE IntVec load(const uint8_t* p) const { return Whole{}.load(Copy<uint8_t>(p, count).lanes); }
  HWY_INLINE void store(IntVec v, uint8_t* p) const {
    Copy<uint8_t> copy;
    Whole{}.store(v, copy.lanes);
    std::memcpy(p, copy.lanes, static_cast<size_t>(count));
  }
  HWY_INLINE IntVec load(const int32_t* p) const { return Whole{}.load(Copy<int32_t>(p, count).lanes); }
  HWY_INLINE void store(IntVec v, int32_t* p) const {
    Copy<int32_t> copy;
    Whole{}.store(v, copy.lanes);
    std::memcpy(p, copy.lanes, static_cast<size_t>(count) * sizeof(int32_t));
  }
  HWY_INLINE Vec clear(Vec v) const { return hn::IfThenElseZero(hn::FirstN(kFloats, static_cast<size_t>(count)), v); }
  HWY_INLINE Vec clear(Vec v, Vec other) const {
    return hn::IfThenElse(hn::FirstN(kFloats, static_cast<size_t>(count)), v, other);
  }

 private:
  template <class T>
  struct Copy {
    T lanes[kLanes] = {};
    HWY_INLINE Copy() = default;
    HWY_INLINE Copy(const T* p, int64_t count) {
      if (count < 0 || count > kLanes) __builtin_unreachable();  // avoids a false overflow warning of g++
      std::memcpy(lanes, p, static_cast<size_t>(count) * sizeof(T));
    }
  };
};

/// Calls f(i, io) for i in [0, n) in steps of a vector; `io` loads and stores a whole or partial vector.
template <class F>
HWY_INLINE void sweep(int64_t n, const F& f) {
  int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes) f(i, Whole{});
  if (i < n) f(i, Partial{n - i});
}

/// y[i] = f(inputs[i]...).
template <class F, class... In>
HWY_INLINE void map(int64_t n, float* y, const F& f, const In*... inputs) {
  sweep(n, [&](int64_t i, auto io) HWY_ATTR { io.store(f(io.load(inputs + i)...), y + i); });
}

/// Calls f(column, count of vectors, io) for blocks of 4, 2 or 1 vectors of columns, which a pass over rows can sum.
template <class F>
HWY_INLINE void sweep_columns(int64_t columns, const F& f) {
  int64_t c = 0;
  for (; c + 4 * kLanes <= columns; c += 4 * kLanes) f(c, std::integral_constant<int, 4>{}, Whole{});
  for (; c + 2 * kLanes <= columns; c += 2 * kLanes) f(c, std::integral_constant<int, 2>{}, Whole{});
  for (; c + kLanes <= columns; c += kLanes) f(c, std::integral_constant<int, 1>{}, Whole{});
  if (c < columns) f(c, std::integral_constant<int, 1>{}, Partial{columns - c});
}

template <class M>
HWY_INLINE auto float_mask(M mask) {
  return hn::RebindMask(kFloats, mask);
}

/// v where `mask` is set, else zero. Bitwise: compilers turn Highway's IfThenElseZero into a masked load if v is in
/// memory, and that load waits for the mask, hence for the load of the mask.
template <class M>
HWY_INLINE Vec where(M mask, Vec v) {
  return hn::And(v, hn::VecFromMask(kFloats, mask));
}

/// v where a ReLU with this output passes a gradient, else zero.
HWY_INLINE Vec where_positive(Vec output, Vec v) { return where(hn::Gt(output, hn::Zero(kFloats)), v); }

HWY_INLINE float sum_lanes(Vec v) { return hn::GetLane(hn::SumOfLanes(kFloats, v)); }
HWY_INLINE float max_lanes(Vec v) { return hn::GetLane(hn::MaxOfLanes(kFloats, v)); }

}  // namespace dptrain::kernels::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
