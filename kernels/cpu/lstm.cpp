
#include "kernels/cpu/parallel.h"
#include "kernels/cpu/recurrent.h"
#include "kernels/cpu/targets.h"

#ifndef DPTRAIN_KERNELS_CPU_LSTM_ONCE  // this file is read once per instruction set
#define DPTRAIN_KERNELS_CPU_LSTM_ONCE
namespace dptrain::kernels::cpu {

inline constexpr int64_t kLstmGates = 4;

}  // namespace dptrain::kernels::cpu
#endif

#define HWY_TARGET_INCLUDE "kernels/cpu/lstm.cpp"
#include <hwy/foreach_target.h>

#include "kernels/cpu/lstm_gates-inl.h"

HWY_BEFORE_NAMESPACE();
namespace dptrain::kernels::cpu::HWY_NAMESPACE {

struct LstmScratch {
  float *panels, *sums, *h, *c, *row;  // row: 4 units

  LstmScratch(int64_t units, float* scratch) {
    const int64_t block = kBlockRows * padded_units(units);
    panels = scratch;
    sums = panels + panel_floats(kLstmGates, units);
    h = sums + kLstmGates * block;
    c = h + block;
    row = c + block;
  }
  static int64_t floats(int64_t units) {
    return panel_floats(kLstmGates, units) + (kLstmGates + 2) * kBlockRows * padded_units(units) +
           kLstmGates * padded_units(units);
  }
};

int64_t scratch_of_lstm(int64_t units) { return LstmScratch::floats(units); }

class LstmForwardBlock {
 public:
  LstmForwardBlock(const LstmForward& pass, int64_t first, int64_t rows, float* scratch)
      : p_(pass),
        steps_(pass.steps),
        units_(pass.steps.units),
        stride_(padded_units(units_)),
        weights_(pass.kernel),
        rows_(pass.steps, first, rows),
        parts_(steps_.state_factors == nullptr ? 1 : kLstmGates),
        scratch_(units_, scratch) {}

  void run() {
    clear_row(scratch_.panels, panel_floats(parts_, units_));
    for (int64_t r = 0; r < rows_.count(); ++r) {
      copy_or_clear_row(row_of(p_.h0, r), h_of(r), units_);
      copy_or_clear_row(row_of(p_.c0, r), c_of(r), units_);
    }
    for (int64_t s = 0; s < steps_.steps; ++s) step_forward(s, place_of(steps_, s));
    for (int64_t r = 0; r < rows_.count(); ++r) {
      if (p_.h != nullptr) copy_row(h_of(r), p_.h + rows_[r] * units_, units_);
      if (p_.c != nullptr) copy_row(c_of(r), p_.c + rows_[r] * units_, units_);
    }
  }

 private:
  float* h_of(int64_t r) const { return scratch_.h + r * stride_; }
  float* c_of(int64_t r) const { return scratch_.c + r * stride_; }
  const float* row_of(const float* state, int64_t r) const {
    return state == nullptr ? nullptr : state + rows_[r] * units_;
  }
  int64_t position(int64_t r, int64_t t) const { return position_of(steps_, rows_[r], t); }

  void step_forward(int64_t s, int64_t t) {
    rows_.select_step(t);
    for (int64_t slot = 0; slot < rows_.active(); ++slot) read_state(rows_.at(slot), slot, t);
    for (int64_t gate = 0; gate < kLstmGates; ++gate)
      multiply_step(rows_.active(), units_, scratch_.panels, {parts_, parts_ == 1 ? 0 : gate, 1},
                    weights_ + gate * packed_weights(1, units_), {}, scratch_.sums + gate * kBlockRows * stride_);
    for (int64_t slot = 0; slot < rows_.active(); ++slot) {
      const int64_t r = rows_.at(slot), at = position(r, t);
      compute(slot, at, h_of(r), c_of(r));
      if (p_.saved.cell != nullptr) copy_row(c_of(r), p_.saved.cell + at * units_, units_);
    }
    for (int64_t i = rows_.first_skipped(); i < rows_.count(); ++i) save_skipped(rows_.at(i), t);
    for (int64_t r = 0; r < rows_.count(); ++r)
      if (float* const y = output_of(steps_, p_.y, rows_[r], s); y != nullptr)
        copy_or_clear_row(rows_.has_begun(r, s) ? h_of(r) : nullptr, y, units_);
  }

  /// Writes the state to the panels; with recurrent dropout, one part per gate.
  void read_state(int64_t r, int64_t slot, int64_t t) {
    const float* const h = h_of(r);
    if (p_.saved.hidden != nullptr) copy_row(h, p_.saved.hidden + position(r, t) * units_, units_);
    if (parts_ == 1) return put_panel_row(h, units_, 1, 0, slot, scratch_.panels);
    for (int64_t gate = 0; gate < kLstmGates; ++gate) {
      multiply_rows_of(h, factors_of(steps_, gate, rows_[r]), scratch_.row, units_);
      put_panel_row(scratch_.row, units_, parts_, gate, slot, scratch_.panels);
    }
  }

  void save_skipped(int64_t r, int64_t t) {
    if (p_.saved.hidden != nullptr) copy_row(h_of(r), p_.saved.hidden + position(r, t) * units_, units_);
    if (p_.saved.cell != nullptr) copy_row(c_of(r), p_.saved.cell + position(r, t) * units_, units_);
  }

  void compute(int64_t slot, int64_t at, float* h, float* c) {
    float* const z = p_.saved.gates + at * kLstmGates * units_;
    for (int64_t gate = 0; gate < kLstmGates; ++gate)
      add_row(scratch_.sums + (gate * kBlockRows + slot) * stride_, z + gate * units_, units_);
    float* const squashed = p_.saved.squashed != nullptr ? p_.saved.squashed + at * units_ : scratch_.row;
    step_lstm_row({steps_.activation, steps_.recurrent_activation}, units_, z, h, c, squashed);
  }

  const LstmForward& p_;
  const RecurrentSteps& steps_;
  int64_t units_, stride_;
  const float* weights_;
  BlockRows rows_;
  int64_t parts_;
  LstmScratch scratch_;
};

class LstmBackwardBlock {
 public:
  LstmBackwardBlock(const LstmBackward& pass, int64_t first, int64_t rows, float* scratch)
      : p_(pass),
        steps_(pass.steps),
        units_(pass.steps.units),
        stride_(padded_units(units_)),
        weights_(pass.kernel),
        rows_(pass.steps, first, rows),
        scratch_(units_, scratch) {}

  void run() {
    clear_row(scratch_.panels, panel_floats(kLstmGates, units_));
    for (int64_t r = 0; r < rows_.count(); ++r) {
      const int64_t at = rows_[r] * units_;
      copy_or_clear_row(p_.h == nullptr ? nullptr : p_.h + at, dh_of(r), units_);
      copy_or_clear_row(p_.c == nullptr ? nullptr : p_.c + at, dc_of(r), units_);
    }
    for (int64_t s = steps_.steps - 1; s >= 0; --s) step_backward(s, place_of(steps_, s));
    for (int64_t r = 0; r < rows_.count(); ++r) {
      if (p_.dh0 != nullptr) copy_row(dh_of(r), p_.dh0 + rows_[r] * units_, units_);
      if (p_.dc0 != nullptr) copy_row(dc_of(r), p_.dc0 + rows_[r] * units_, units_);
    }
  }

 private:
  float* dh_of(int64_t r) const { return scratch_.h + r * stride_; }
  float* dc_of(int64_t r) const { return scratch_.c + r * stride_; }
  int64_t position(int64_t r, int64_t t) const { return position_of(steps_, rows_[r], t); }

  void step_backward(int64_t s, int64_t t) {
    rows_.select_step(t);
    for (int64_t r = 0; r < rows_.count(); ++r) add_output_gradient(r, s);
    for (int64_t slot = 0; slot < rows_.active(); ++slot) {
      const int64_t r = rows_.at(slot), at = position(r, t);
      float* const z = p_.saved.gates + at * kLstmGates * units_;
      differentiate(r, s, at, z);
      for (int64_t gate = 0; gate < kLstmGates; ++gate)
        put_panel_row(z + gate * units_, units_, kLstmGates, gate, slot, scratch_.panels);
    }
    for (int64_t i = rows_.first_skipped(); i < rows_.count(); ++i)
      clear_row(p_.saved.gates + position(rows_.at(i), t) * kLstmGates * units_, kLstmGates * units_);
    if (s > 0 || p_.dh0 != nullptr) pass_to_state();
  }

  void add_output_gradient(int64_t r, int64_t s) {
    const float* const y = output_of(steps_, p_.y, rows_[r], s);
    if (y != nullptr && rows_.has_begun(r, s)) add_row(y, dh_of(r), units_);
  }

  /// From dh and dc after the step: d z, which replaces the gates, and dc before it.
  void differentiate(int64_t r, int64_t s, int64_t at, float* z) {
    const float* const squashed = p_.saved.squashed + at * units_;
    const float* const before = rows_.has_begun(r, s - 1) ? p_.saved.cell + position_before(r, s, at) * units_
                                : p_.c0 != nullptr        ? p_.c0 + rows_[r] * units_
                                                          : nullptr;
    differentiate_lstm_row({steps_.activation, steps_.recurrent_activation}, units_, z, before, squashed, dh_of(r),
                           dc_of(r), scratch_.row);
  }

  /// Position of the step before step number s at `at`: the previous valid step with `places`, else the previous step.
  int64_t position_before(int64_t r, int64_t s, int64_t at) const {
    if (steps_.places != nullptr) return steps_.backwards ? at + 1 : at - 1;
    return position(r, place_of(steps_, s - 1));
  }

  /// dh before the step, for the rows that are valid at it.
  void pass_to_state() {
    const PartRange all{kLstmGates, 0, kLstmGates};
    if (steps_.state_factors == nullptr)
      multiply_step(rows_.active(), units_, scratch_.panels, all, weights_, all, scratch_.sums);
    else
      for (int64_t gate = 0; gate < kLstmGates; ++gate)
        multiply_step(rows_.active(), units_, scratch_.panels, {kLstmGates, gate, 1}, weights_, {kLstmGates, gate, 1},
                      scratch_.sums + gate * kBlockRows * stride_);
    for (int64_t slot = 0; slot < rows_.active(); ++slot) {
      const int64_t r = rows_.at(slot);
      if (steps_.state_factors == nullptr)
        copy_row(scratch_.sums + slot * stride_, dh_of(r), units_);
      else
        add_gates(rows_[r], slot, dh_of(r));
    }
  }

  void add_gates(int64_t row, int64_t slot, float* dh) {
    clear_row(dh, units_);
    for (int64_t gate = 0; gate < kLstmGates; ++gate)
      add_product(scratch_.sums + (gate * kBlockRows + slot) * stride_, factors_of(steps_, gate, row), dh, units_);
  }

  const LstmBackward& p_;
  const RecurrentSteps& steps_;
  int64_t units_, stride_;
  const float* weights_;
  BlockRows rows_;
  LstmScratch scratch_;
};

RecurrentWork lstm_forward_work(const LstmForward& pass) {
  return work_of<LstmForwardBlock>(pass, LstmScratch::floats(pass.steps.units));
}
RecurrentWork lstm_backward_work(const LstmBackward& pass) {
  return work_of<LstmBackwardBlock>(pass, LstmScratch::floats(pass.steps.units));
}

}  // namespace dptrain::kernels::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace dptrain::kernels::cpu {

HWY_EXPORT(scratch_of_lstm);
HWY_EXPORT(lstm_forward_work);
HWY_EXPORT(lstm_backward_work);

int64_t lstm_scratch(int64_t units) { return HWY_DYNAMIC_DISPATCH(scratch_of_lstm)(units); }
RecurrentWork lstm_work(const LstmForward& pass) { return HWY_DYNAMIC_DISPATCH(lstm_forward_work)(pass); }
RecurrentWork lstm_work(const LstmBackward& pass) { return HWY_DYNAMIC_DISPATCH(lstm_backward_work)(pass); }

}  // namespace dptrain::kernels::cpu
#endif
