#include "kernels/cpu/affine.h"

#include <algorithm>

#include "kernels/cpu/parallel.h"
#include "kernels/cpu/targets.h"

#define HWY_TARGET_INCLUDE "kernels/cpu/affine.cpp"
#include <hwy/foreach_target.h>

#include "kernels/cpu/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace dptrain::kernels::cpu::HWY_NAMESPACE {

void affine_piece(const float* x, const float* shift, const float* scale, const float* offset, int64_t n, float* y) {
  map(
      n, y, [](Vec v, Vec from, Vec factor, Vec to) HWY_ATTR { return hn::MulAdd(hn::Sub(v, from), factor, to); }, x,
      shift, scale, offset);
}

void scale_piece(const float* x, const float* scale, int64_t n, float* y) {
  map(
      n, y, [](Vec v, Vec factor) HWY_ATTR { return hn::Mul(v, factor); }, x, scale);
}

}  // namespace dptrain::kernels::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace dptrain::kernels::cpu {

HWY_EXPORT(affine_piece);
HWY_EXPORT(scale_piece);

void periodic_affine(const float* x, const float* shift, const float* scale, const float* offset, int64_t period,
                     int64_t n, float* y) {
  parallel_ranges((n + period - 1) / period, rows_per_piece(period), [&](int64_t begin, int64_t end) {
    for (int64_t i = begin * period; i < std::min(end * period, n); i += period) {
      const int64_t length = std::min(period, n - i);
      if (shift == nullptr)
        HWY_DYNAMIC_DISPATCH(scale_piece)(x + i, scale, length, y + i);
      else
        HWY_DYNAMIC_DISPATCH(affine_piece)(x + i, shift, scale, offset, length, y + i);
    }
  });
}

}  // namespace dptrain::kernels::cpu
#endif
