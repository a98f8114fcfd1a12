#include "kernels/cpu/reduce.h"

#include "kernels/cpu/parallel.h"
#include "kernels/cpu/targets.h"

#define HWY_TARGET_INCLUDE "kernels/cpu/reduce.cpp"
#include <hwy/foreach_target.h>

#include "kernels/cpu/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace dptrain::kernels::cpu::HWY_NAMESPACE {

void sum_ranks_piece(float* const* arrays, int ranks, int64_t begin, int64_t end) {
  sweep_columns(end - begin, [&](int64_t offset, auto vectors, auto io) HWY_ATTR {
    constexpr int kVectors = decltype(vectors)::value;
    const int64_t at = begin + offset;
    Vec sum[kVectors];
    for (int k = 0; k < kVectors; ++k) sum[k] = io.load(arrays[0] + at + k * kLanes);
    for (int rank = 1; rank < ranks; ++rank)
      for (int k = 0; k < kVectors; ++k) sum[k] = hn::Add(sum[k], io.load(arrays[rank] + at + k * kLanes));
    for (int rank = 0; rank < ranks; ++rank)
      for (int k = 0; k < kVectors; ++k) io.store(sum[k], arrays[rank] + at + k * kLanes);
  });
}

}  // namespace dptrain::kernels::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace dptrain::kernels::cpu {

HWY_EXPORT(sum_ranks_piece);

void sum_ranks(float* const* arrays, int ranks, int64_t begin, int64_t end) {
  if (ranks < 2) return;
  parallel_ranges(end - begin, kPieceElements, [&](int64_t from, int64_t to) {
    HWY_DYNAMIC_DISPATCH(sum_ranks_piece)(arrays, ranks, begin + from, begin + to);
  });
}

}  // namespace dptrain::kernels::cpu
#endif
