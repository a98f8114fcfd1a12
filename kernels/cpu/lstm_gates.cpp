#include "kernels/cpu/lstm_gates.h"

#include "kernels/cpu/parallel.h"
#include "kernels/cpu/targets.h"

#define HWY_TARGET_INCLUDE "kernels/cpu/lstm_gates.cpp"
#include <hwy/foreach_target.h>

#include "kernels/cpu/lstm_gates-inl.h"

HWY_BEFORE_NAMESPACE();
namespace dptrain::kernels::cpu::HWY_NAMESPACE {

/// Units processed at once; bounds the scratch between the passes over them.
inline constexpr int64_t kUnitsAtOnce = 256;

/// Copies slices of units of rows [begin, end) to contiguous gates, calls f, and copies the gates back.
template <class F>
HWY_INLINE void for_slices(const LstmGates& s, int64_t begin, int64_t end, float* gates, const F& f) {
  HWY_ALIGN float z[4 * kUnitsAtOnce];
  for (int64_t row = begin; row < end; ++row)
    for (int64_t unit = 0; unit < s.units; unit += kUnitsAtOnce) {
      const int64_t count = HWY_MIN(kUnitsAtOnce, s.units - unit), at = row * s.units + unit;
      float* const from = gates + row * 4 * s.units + unit;
      if (s.units <= kUnitsAtOnce) {
        f(at, row * 4 * s.units, count, from);
        continue;
      }
      for (int64_t gate = 0; gate < 4; ++gate) copy_row(from + gate * s.units, z + gate * count, count);
      f(at, row * 4 * s.units + unit, count, z);
      for (int64_t gate = 0; gate < 4; ++gate) copy_row(z + gate * count, from + gate * s.units, count);
    }
}

void gates_forward_piece(const LstmGates& s, const LstmGatesForward& p, int64_t begin, int64_t end) {
  HWY_ALIGN float scratch[kUnitsAtOnce];
  for_slices(s, begin, end, p.gates, [&](int64_t at, int64_t sums, int64_t count, float* z) HWY_ATTR {
    for (int64_t gate = 0; gate < 4; ++gate) add_row(p.products + sums + gate * s.units, z + gate * count, count);
    float* const squashed = p.squashed == nullptr ? scratch : p.squashed + at;
    step_lstm_row({s.activation, s.recurrent_activation}, count, z, p.h + at, p.c + at, squashed);
    if (p.cell != nullptr) copy_row(p.c + at, p.cell + at, count);
    if (p.y != nullptr) copy_row(p.h + at, p.y + at, count);
  });
}

void gates_backward_piece(const LstmGates& s, const LstmGatesBackward& p, int64_t begin, int64_t end) {
  HWY_ALIGN float scratch[4 * kUnitsAtOnce];
  for_slices(s, begin, end, p.gates, [&](int64_t at, int64_t, int64_t count, float* z) HWY_ATTR {
    if (p.dy != nullptr) add_row(p.dy + at, p.dh + at, count);
    differentiate_lstm_row({s.activation, s.recurrent_activation}, count, z,
                           p.before == nullptr ? nullptr : p.before + at, p.squashed + at, p.dh + at, p.dc + at,
                           scratch);
  });
}

}  // namespace dptrain::kernels::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace dptrain::kernels::cpu {

HWY_EXPORT(gates_forward_piece);
HWY_EXPORT(gates_backward_piece);

void lstm_gates_forward(const LstmGates& shape, const LstmGatesForward& pass) {
  parallel_ranges(shape.rows, rows_per_piece(shape.units), [&](int64_t begin, int64_t end) {
    HWY_DYNAMIC_DISPATCH(gates_forward_piece)(shape, pass, begin, end);
  });
}

void lstm_gates_backward(const LstmGates& shape, const LstmGatesBackward& pass) {
  parallel_ranges(shape.rows, rows_per_piece(shape.units), [&](int64_t begin, int64_t end) {
    HWY_DYNAMIC_DISPATCH(gates_backward_piece)(shape, pass, begin, end);
  });
}

}  // namespace dptrain::kernels::cpu
#endif
