// philox4x32 of kernels/philox.h in every lane of a vector.

#if defined(DPTRAIN_KERNELS_CPU_PHILOX_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef DPTRAIN_KERNELS_CPU_PHILOX_INL_H
#undef DPTRAIN_KERNELS_CPU_PHILOX_INL_H
#else
#define DPTRAIN_KERNELS_CPU_PHILOX_INL_H
#endif

#include "kernels/cpu/simd-inl.h"
#include "kernels/philox.h"

HWY_BEFORE_NAMESPACE();
namespace dptrain::kernels::cpu::HWY_NAMESPACE {

using Words = hn::RebindToUnsigned<Floats>;
using WordVec = hn::Vec<Words>;

#if HWY_TARGET != HWY_SCALAR

HWY_INLINE void multiply_wide(WordVec a, WordVec factor, WordVec& high, WordVec& low) {
  const Words words;
  const WordVec even = hn::BitCast(words, hn::MulEven(a, factor));             // low, high of lanes 0, 2, ...
  const WordVec odd = hn::BitCast(words, hn::MulEven(hn::DupOdd(a), factor));  // low, high of lanes 1, 3, ...
  high = hn::OddEven(odd, hn::DupOdd(even));
  low = hn::OddEven(hn::DupEven(odd), even);
}

/// In: the counters. Out: the random words.
HWY_INLINE void philox_lanes(WordVec c[4], uint32_t key0, uint32_t key1) {
  const Words words;
  const WordVec factor0 = hn::Set(words, kPhiloxMultiplier0), factor1 = hn::Set(words, kPhiloxMultiplier1);
  for (int round = 0; round < kPhiloxRounds; ++round, key0 += kPhiloxKeyStep0, key1 += kPhiloxKeyStep1) {
    WordVec high0, low0, high1, low1;
    multiply_wide(c[0], factor0, high0, low0);
    multiply_wide(c[2], factor1, high1, low1);
    c[0] = hn::Xor(hn::Xor(high1, c[1]), hn::Set(words, key0));
    c[1] = low1;
    c[2] = hn::Xor(hn::Xor(high0, c[3]), hn::Set(words, key1));
    c[3] = low0;
  }
}

#else

HWY_INLINE void philox_lanes(WordVec c[4], uint32_t key0, uint32_t key1) {
  const PhiloxBlock block =
      philox4x32({{hn::GetLane(c[0]), hn::GetLane(c[1]), hn::GetLane(c[2]), hn::GetLane(c[3])}}, {{key0, key1}});
  for (int k = 0; k < 4; ++k) c[k] = hn::Set(Words(), block.word[k]);
}

#endif

}  // namespace dptrain::kernels::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
