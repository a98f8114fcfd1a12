// The gates of one row of an LSTM.

#if defined(DPTRAIN_KERNELS_CPU_LSTM_GATES_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef DPTRAIN_KERNELS_CPU_LSTM_GATES_INL_H
#undef DPTRAIN_KERNELS_CPU_LSTM_GATES_INL_H
#else
#define DPTRAIN_KERNELS_CPU_LSTM_GATES_INL_H
#endif

#include "kernels/cpu/recurrent-inl.h"

HWY_BEFORE_NAMESPACE();
namespace dptrain::kernels::cpu::HWY_NAMESPACE {

struct LstmKinds {
  Activation squash, open;
};

/// z: the sums of i, f, c, o in, activated gates out; updates c, writes h and squashed = activation(c).
HWY_INLINE void step_lstm_row(LstmKinds kinds, int64_t units, float* z, float* h, float* c, float* squashed) {
  const float *const i = z, *const f = i + units, *const g = f + units, *const o = g + units;
  apply_kind(kinds.open, z, z, 2 * units);
  apply_kind(kinds.squash, g, z + 2 * units, units);
  apply_kind(kinds.open, o, z + 3 * units, units);
  sweep(units, [&](int64_t j, auto io) HWY_ATTR {
    io.store(hn::MulAdd(io.load(f + j), io.load(c + j), hn::Mul(io.load(i + j), io.load(g + j))), c + j);
  });
  apply_kind(kinds.squash, c, squashed, units);
  multiply_rows_of(o, squashed, h, units);
}

/// From dh and dc after the step: d z (replaces the gates), and dc before it. before: c or null (zeros); d: [4 units].
HWY_INLINE void differentiate_lstm_row(LstmKinds kinds, int64_t units, float* z, const float* before,
                                       const float* squashed, const float* dh, float* dc, float* d) {
  const float *const i = z, *const f = i + units, *const g = f + units, *const o = g + units;
  multiply_rows_of(dh, o, d, units);
  differentiate_kind(kinds.squash, squashed, d, d, units);
  add_row(d, dc, units);
  sweep(units, [&](int64_t j, auto io) HWY_ATTR {
    const Vec of_c = io.load(dc + j), last = before == nullptr ? hn::Zero(kFloats) : io.load(before + j);
    io.store(hn::Mul(of_c, io.load(g + j)), d + j);
    io.store(hn::Mul(of_c, last), d + units + j);
    io.store(hn::Mul(of_c, io.load(i + j)), d + 2 * units + j);
    io.store(hn::Mul(io.load(dh + j), io.load(squashed + j)), d + 3 * units + j);
    io.store(hn::Mul(of_c, io.load(f + j)), dc + j);
  });
  differentiate_kind(kinds.open, z, d, z, 2 * units);
  differentiate_kind(kinds.squash, g, d + 2 * units, z + 2 * units, units);
  differentiate_kind(kinds.open, o, d + 3 * units, z + 3 * units, units);
}

}  // namespace dptrain::kernels::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
