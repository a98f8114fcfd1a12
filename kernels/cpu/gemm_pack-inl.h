// Packs operands for the tiles of gemm-inl.h. K: taps of a window, with channels padded with zeros to blocks of 16.

#if defined(DPTRAIN_KERNELS_CPU_GEMM_PACK_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef DPTRAIN_KERNELS_CPU_GEMM_PACK_INL_H
#undef DPTRAIN_KERNELS_CPU_GEMM_PACK_INL_H
#else
#define DPTRAIN_KERNELS_CPU_GEMM_PACK_INL_H
#endif

#include "kernels/cpu/gemm-inl.h"
#include "kernels/cpu/gemm_pixels.h"

HWY_BEFORE_NAMESPACE();
namespace dptrain::kernels::cpu::HWY_NAMESPACE {

/// Blocks of 16 of K, [first, first + count).
struct DepthRange {
  int64_t first, count;
};

HWY_INLINE int64_t channel_blocks(int64_t channels) { return (channels + kChannelBlock - 1) / kChannelBlock; }

/// Calls f(tap, first block of its channels, blocks, blocks so far) for the part of `range` in each tap.
template <class F>
HWY_INLINE void each_tap(int64_t channels, DepthRange range, const F& f) {
  const int64_t of_tap = channel_blocks(channels);
  for (int64_t done = 0; done < range.count;) {
    const int64_t at = range.first + done, count = std::min(of_tap - at % of_tap, range.count - done);
    f(at / of_tap, at % of_tap, count, done);
    done += count;
  }
}

/// Copies `blocks` blocks of 16 channels of `from` (null: zeros), from block `first` on, to `to`, `step` floats apart.
HWY_INLINE void copy_blocks(const float* from, int64_t channels, int64_t first, int64_t blocks, float* to,
                            int64_t step) {
  for (int64_t b = first; b < first + blocks; ++b, to += step) {
    const int64_t left = channels - b * kChannelBlock;
    if (from != nullptr && left >= kChannelBlock) {
      for (int64_t v = 0; v < kChannelBlock; v += kLanes)
        hn::StoreU(hn::LoadU(kFloats, from + b * kChannelBlock + v), kFloats, to + v);
      continue;
    }
    for (int64_t v = 0; v < kChannelBlock; v += kLanes) hn::StoreU(hn::Zero(kFloats), kFloats, to + v);
    if (from != nullptr) std::memcpy(to, from + b * kChannelBlock, static_cast<size_t>(left) * sizeof(float));
  }
}

/// Packs windows [first, first + there) into a panel of kRows rows, [block of range][kRows][16], padded with zeros.
template <int kRows>
HWY_INLINE void pack_rows(const GemmPixels& px, const float* in, int64_t first, int64_t there, DepthRange range,
                          float* panel) {
  constexpr int64_t kStep = kRows * kChannelBlock;
  for (int64_t r = 0; r < kRows; ++r) {
    float* const to = panel + r * kChannelBlock;
    const GemmPixels::Place place = px.place(first + r);
    each_tap(px.in_channels, range, [&](int64_t tap, int64_t block, int64_t blocks, int64_t done) HWY_ATTR {
      const int64_t at = r < there ? px.in_offset(place, tap) : -1;
      copy_blocks(at < 0 ? nullptr : in + at, px.in_channels, block, blocks, to + done * kStep, kStep);
    });
  }
}

}  // namespace dptrain::kernels::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
