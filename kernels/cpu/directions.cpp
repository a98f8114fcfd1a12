#include "kernels/cpu/directions.h"

#include <cstring>

#include "kernels/cpu/parallel.h"
#include "kernels/cpu/targets.h"

#define HWY_TARGET_INCLUDE "kernels/cpu/directions.cpp"
#include <hwy/foreach_target.h>

#include "kernels/cpu/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace dptrain::kernels::cpu::HWY_NAMESPACE {

/// Calls f(first unit of the forward pass's output, of the backward pass's, of y, whether the step is valid) for steps
/// [begin, end) of all rows.
template <class F>
HWY_INLINE void for_steps(const DirectionShape& s, int64_t begin, int64_t end, const F& f) {
  for (int64_t i = begin; i < end; ++i) {
    const int64_t row = i / s.steps, t = i % s.steps;
    f(i * s.units, (row * s.steps + s.steps - 1 - t) * s.units, i * s.width(), s.mask == nullptr || s.mask[i] != 0);
  }
}

HWY_INLINE size_t bytes_of(int64_t floats) { return static_cast<size_t>(floats) * sizeof(float); }

void merge_piece(const DirectionShape& s, const float* forward, const float* backward, int64_t begin, int64_t end,
                 float* y) {
  const int64_t units = s.units;
  for_steps(s, begin, end, [&](int64_t at_f, int64_t at_b, int64_t at_y, bool valid) HWY_ATTR {
    const float *const f = forward + at_f, *const b = backward + at_b;
    float* const to = y + at_y;
    if (!valid) {
      std::memset(to, 0, bytes_of(s.width()));
      return;
    }
    switch (s.merge) {
      case DirectionMerge::kConcat:
        std::memcpy(to, f, bytes_of(units));
        std::memcpy(to + units, b, bytes_of(units));
        break;
      case DirectionMerge::kSum:
        map(
            units, to, [](Vec p, Vec q) HWY_ATTR { return hn::Add(p, q); }, f, b);
        break;
      case DirectionMerge::kMul:
        map(
            units, to, [](Vec p, Vec q) HWY_ATTR { return hn::Mul(p, q); }, f, b);
        break;
      case DirectionMerge::kAve:
        map(
            units, to, [](Vec p, Vec q) HWY_ATTR { return hn::Mul(hn::Add(p, q), splat(0.5F)); }, f, b);
        break;
    }
  });
}

void split_piece(const DirectionShape& s, const float* dy, const float* forward, const float* backward, int64_t begin,
                 int64_t end, float* d_forward, float* d_backward) {
  const int64_t units = s.units;
  for_steps(s, begin, end, [&](int64_t at_f, int64_t at_b, int64_t at_y, bool valid) HWY_ATTR {
    float *const df = d_forward + at_f, *const db = d_backward + at_b;
    const float* const from = dy + at_y;
    if (!valid) {
      std::memset(df, 0, bytes_of(units));
      std::memset(db, 0, bytes_of(units));
      return;
    }
    switch (s.merge) {
      case DirectionMerge::kConcat:
        std::memcpy(df, from, bytes_of(units));
        std::memcpy(db, from + units, bytes_of(units));
        break;
      case DirectionMerge::kSum:
        std::memcpy(df, from, bytes_of(units));
        std::memcpy(db, from, bytes_of(units));
        break;
      case DirectionMerge::kMul:
        map(
            units, df, [](Vec p, Vec q) HWY_ATTR { return hn::Mul(p, q); }, from, backward + at_b);
        map(
            units, db, [](Vec p, Vec q) HWY_ATTR { return hn::Mul(p, q); }, from, forward + at_f);
        break;
      case DirectionMerge::kAve:
        map(
            units, df, [](Vec p) HWY_ATTR { return hn::Mul(p, splat(0.5F)); }, from);
        std::memcpy(db, df, bytes_of(units));
        break;
    }
  });
}

}  // namespace dptrain::kernels::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace dptrain::kernels::cpu {

HWY_EXPORT(merge_piece);
HWY_EXPORT(split_piece);

void merge_directions(const DirectionShape& shape, const float* forward, const float* backward, float* y) {
  parallel_ranges(shape.rows * shape.steps, rows_per_piece(shape.width()), [&](int64_t begin, int64_t end) {
    HWY_DYNAMIC_DISPATCH(merge_piece)(shape, forward, backward, begin, end, y);
  });
}

void split_directions(const DirectionShape& shape, const float* dy, const float* forward, const float* backward,
                      float* d_forward, float* d_backward) {
  parallel_ranges(shape.rows * shape.steps, rows_per_piece(shape.width()), [&](int64_t begin, int64_t end) {
    HWY_DYNAMIC_DISPATCH(split_piece)(shape, dy, forward, backward, begin, end, d_forward, d_backward);
  });
}

}  // namespace dptrain::kernels::cpu
#endif
