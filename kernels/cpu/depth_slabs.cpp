#include "kernels/cpu/depth_slabs.h"

#include <cstring>

#include "kernels/cpu/parallel.h"
#include "kernels/cpu/targets.h"

#define HWY_TARGET_INCLUDE "kernels/cpu/depth_slabs.cpp"
#include <hwy/foreach_target.h>

#include "kernels/cpu/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace dptrain::kernels::cpu::HWY_NAMESPACE {

/// Copies slab k of every position for window `line` of all rows * out_d windows.
void gather_window(const DepthWindow& w, const float* volume, int64_t line, float* slabs) {
  const int64_t blocks = w.positions * w.groups, step = w.kernel * w.channels;
  for (int64_t k = 0; k < w.kernel; ++k) {
    const int64_t d = line % w.out_d * w.stride + k * w.dilation - w.pad;
    float* const to = slabs + (line * w.kernel * blocks + k) * w.channels;
    if (d < 0 || d >= w.in_d) {
      for (int64_t b = 0; b < blocks; ++b)
        std::memset(to + b * step, 0, static_cast<size_t>(w.channels) * sizeof(float));
      continue;
    }
    const float* const from = volume + (line / w.out_d * w.in_d + d) * blocks * w.channels;
    for (int64_t b = 0; b < blocks; ++b)
      sweep(w.channels,
            [&](int64_t c, auto io) HWY_ATTR { io.store(io.load(from + b * w.channels + c), to + b * step + c); });
  }
}

/// Sums the slabs of frame `line` of all rows * in_d frames.
void sum_frame(const DepthWindow& w, const float* slabs, int64_t line, float* volume) {
  const int64_t blocks = w.positions * w.groups, step = w.kernel * w.channels, d = line % w.in_d;
  float* const to = volume + line * blocks * w.channels;
  bool first = true;
  for (int64_t k = w.kernel - 1; k >= 0; --k) {
    const int64_t at = d + w.pad - k * w.dilation;
    if (at < 0 || at % w.stride != 0 || at / w.stride >= w.out_d) continue;
    const int64_t window = line / w.in_d * w.out_d + at / w.stride;
    const float* const from = slabs + (window * w.kernel * blocks + k) * w.channels;
    for (int64_t b = 0; b < blocks; ++b)
      sweep(w.channels, [&](int64_t c, auto io) HWY_ATTR {
        const Vec slab = io.load(from + b * step + c);
        float* const sum = to + b * w.channels + c;
        io.store(first ? slab : hn::Add(io.load(sum), slab), sum);
      });
    first = false;
  }
  if (first) std::memset(to, 0, static_cast<size_t>(blocks * w.channels) * sizeof(float));
}

}  // namespace dptrain::kernels::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace dptrain::kernels::cpu {

HWY_EXPORT(gather_window);
HWY_EXPORT(sum_frame);

void gather_slabs(const DepthWindow& window, const float* volume, int64_t rows, float* slabs) {
  parallel_for(rows * window.out_d, [&](int64_t line) {
    HWY_DYNAMIC_DISPATCH(gather_window)(window, volume, line, slabs);
  });
}

void sum_slabs(const DepthWindow& window, const float* slabs, int64_t rows, float* volume) {
  parallel_for(rows * window.in_d, [&](int64_t line) { HWY_DYNAMIC_DISPATCH(sum_frame)(window, slabs, line, volume); });
}

}  // namespace dptrain::kernels::cpu
#endif
