#include "kernels/cpu/reduce.h"

#include <vector>

#include "kernels/cpu/parallel.h"
#include "kernels/cpu/targets.h"

#define HWY_TARGET_INCLUDE "kernels/cpu/reduce.cpp"
#include <hwy/foreach_target.h>

#include "kernels/cpu/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace dptrain::kernels::cpu::HWY_NAMESPACE {

void sum_arrays_piece(const float* const* in, const int* merges, int count, float* const* out, int outs, int64_t begin,
                      int64_t end) {
  sweep_columns(end - begin, [&](int64_t offset, auto vectors, auto io) HWY_ATTR {
    constexpr int kVectors = decltype(vectors)::value;
    const int64_t at = begin + offset;
    HWY_ALIGN Vec stack[SumTree::kDeepest][kVectors];
    int top = -1;
    for (int i = 0; i < count; ++i) {
      Vec value[kVectors];
      for (int k = 0; k < kVectors; ++k) value[k] = io.load(in[i] + at + k * kLanes);
      for (int merge = 0; merge < merges[i]; ++merge, --top)
        for (int k = 0; k < kVectors; ++k) value[k] = hn::Add(stack[top][k], value[k]);
      ++top;
      for (int k = 0; k < kVectors; ++k) stack[top][k] = value[k];
    }
    for (int i = 0; i < outs; ++i)
      for (int k = 0; k < kVectors; ++k) io.store(stack[0][k], out[i] + at + k * kLanes);
  });
}

}  // namespace dptrain::kernels::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace dptrain::kernels::cpu {

HWY_EXPORT(sum_arrays_piece);

void sum_arrays(const float* const* in, const int* merges, int count, float* const* out, int outs, int64_t begin,
                int64_t end) {
  parallel_ranges(end - begin, kPieceElements, [&](int64_t from, int64_t to) {
    HWY_DYNAMIC_DISPATCH(sum_arrays_piece)(in, merges, count, out, outs, begin + from, begin + to);
  });
}

void sum_ranks(float* const* arrays, int count, int64_t begin, int64_t end) {
  if (count < 2) return;
  const std::vector<int> merges = SumTree(count).merges();
  sum_arrays(arrays, merges.data(), count, arrays, count, begin, end);
}

}  // namespace dptrain::kernels::cpu
#endif
