
#include "kernels/cpu/parallel.h"
#include "kernels/cpu/recurrent.h"
#include "kernels/cpu/targets.h"

#define HWY_TARGET_INCLUDE "kernels/cpu/simple_rnn.cpp"
#include <hwy/foreach_target.h>

#include "kernels/cpu/recurrent-inl.h"

HWY_BEFORE_NAMESPACE();
namespace dptrain::kernels::cpu::HWY_NAMESPACE {

class SimpleRnnBlock {
 public:
  static int64_t floats(int64_t units) {
    return panel_floats(1, units) + 2 * kBlockRows * padded_units(units) + padded_units(units);
  }

 protected:
  SimpleRnnBlock(const RecurrentSteps& steps, const SimpleRnnSaved& saved, const float* kernel, int64_t first,
                 int64_t rows, float* scratch)
      : steps_(steps), saved_(saved), units_(steps.units), stride_(padded_units(units_)), rows_(steps, first, rows) {
    kernel_ = kernel;
    panels_ = scratch;
    products_ = panels_ + panel_floats(1, units_);
    state_ = products_ + kBlockRows * stride_;
    row_ = state_ + kBlockRows * stride_;
    clear_row(panels_, panel_floats(1, units_));
  }

  /// h, or its gradient in backward.
  float* state_of(int64_t r) const { return state_ + r * stride_; }
  float* product_of(int64_t slot) const { return products_ + slot * stride_; }
  int64_t place(int64_t r, int64_t t) const { return position_of(steps_, rows_[r], t) * units_; }
  void multiply() { multiply_step(rows_.active(), units_, panels_, {}, kernel_, {}, products_); }
  void put(const float* values, int64_t slot) { put_panel_row(values, units_, 1, 0, slot, panels_); }

  const RecurrentSteps& steps_;
  const SimpleRnnSaved& saved_;
  int64_t units_, stride_;
  BlockRows rows_;
  const float* kernel_;
  float *panels_, *products_, *state_, *row_;
};

class SimpleRnnForwardBlock : SimpleRnnBlock {
 public:
  SimpleRnnForwardBlock(const SimpleRnnForward& pass, int64_t first, int64_t rows, float* scratch)
      : SimpleRnnBlock(pass.steps, pass.saved, pass.kernel, first, rows, scratch), p_(pass) {}

  void run() {
    for (int64_t r = 0; r < rows_.count(); ++r)
      copy_or_clear_row(p_.h0 == nullptr ? nullptr : p_.h0 + rows_[r] * units_, state_of(r), units_);
    for (int64_t s = 0; s < steps_.steps; ++s) step_forward(s, place_of(steps_, s));
    for (int64_t r = 0; p_.h != nullptr && r < rows_.count(); ++r)
      copy_row(state_of(r), p_.h + rows_[r] * units_, units_);
  }

 private:
  void step_forward(int64_t s, int64_t t) {
    rows_.select_step(t);
    for (int64_t slot = 0; slot < rows_.active(); ++slot) {
      const int64_t r = rows_.at(slot);
      if (saved_.hidden != nullptr) copy_row(state_of(r), saved_.hidden + place(r, t), units_);
      if (steps_.state_factors != nullptr) multiply_rows_of(state_of(r), factors_of(steps_, 0, rows_[r]), row_, units_);
      put(steps_.state_factors == nullptr ? state_of(r) : row_, slot);
    }
    multiply();
    for (int64_t slot = 0; slot < rows_.active(); ++slot) {
      const int64_t r = rows_.at(slot);
      float* const z = saved_.sums + place(r, t);
      add_row(product_of(slot), z, units_);
      apply_kind(steps_.activation, z, z, units_);
      copy_row(z, state_of(r), units_);
    }
    for (int64_t i = rows_.first_skipped(); saved_.hidden != nullptr && i < rows_.count(); ++i)
      copy_row(state_of(rows_.at(i)), saved_.hidden + place(rows_.at(i), t), units_);
    for (int64_t r = 0; r < rows_.count(); ++r)
      if (float* const y = output_of(steps_, p_.y, rows_[r], s); y != nullptr)
        copy_or_clear_row(rows_.has_begun(r, s) ? state_of(r) : nullptr, y, units_);
  }

  const SimpleRnnForward& p_;
};

class SimpleRnnBackwardBlock : SimpleRnnBlock {
 public:
  SimpleRnnBackwardBlock(const SimpleRnnBackward& pass, int64_t first, int64_t rows, float* scratch)
      : SimpleRnnBlock(pass.steps, pass.saved, pass.kernel, first, rows, scratch), p_(pass) {}

  void run() {
    for (int64_t r = 0; r < rows_.count(); ++r)
      copy_or_clear_row(p_.h == nullptr ? nullptr : p_.h + rows_[r] * units_, state_of(r), units_);
    for (int64_t s = steps_.steps - 1; s >= 0; --s) step_backward(s, place_of(steps_, s));
    for (int64_t r = 0; p_.dh0 != nullptr && r < rows_.count(); ++r)
      copy_row(state_of(r), p_.dh0 + rows_[r] * units_, units_);
  }

 private:
  void step_backward(int64_t s, int64_t t) {
    rows_.select_step(t);
    for (int64_t r = 0; r < rows_.count(); ++r) {
      const float* const y = output_of(steps_, p_.y, rows_[r], s);
      if (y != nullptr && rows_.has_begun(r, s)) add_row(y, state_of(r), units_);
    }
    for (int64_t slot = 0; slot < rows_.active(); ++slot) {
      const int64_t r = rows_.at(slot);
      float* const z = saved_.sums + place(r, t);
      differentiate_kind(steps_.activation, z, state_of(r), z, units_);
      put(z, slot);
    }
    for (int64_t i = rows_.first_skipped(); i < rows_.count(); ++i)
      clear_row(saved_.sums + place(rows_.at(i), t), units_);
    if (s == 0 && p_.dh0 == nullptr) return;
    multiply();
    for (int64_t slot = 0; slot < rows_.active(); ++slot) {
      const int64_t r = rows_.at(slot);
      if (steps_.state_factors == nullptr)
        copy_row(product_of(slot), state_of(r), units_);
      else
        multiply_rows_of(product_of(slot), factors_of(steps_, 0, rows_[r]), state_of(r), units_);
    }
  }

  const SimpleRnnBackward& p_;
};

int64_t scratch_of_simple_rnn(int64_t units) { return SimpleRnnBlock::floats(units); }
RecurrentWork simple_rnn_forward_work(const SimpleRnnForward& pass) {
  return work_of<SimpleRnnForwardBlock>(pass, SimpleRnnBlock::floats(pass.steps.units));
}
RecurrentWork simple_rnn_backward_work(const SimpleRnnBackward& pass) {
  return work_of<SimpleRnnBackwardBlock>(pass, SimpleRnnBlock::floats(pass.steps.units));
}

}  // namespace dptrain::kernels::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace dptrain::kernels::cpu {

HWY_EXPORT(scratch_of_simple_rnn);
HWY_EXPORT(simple_rnn_forward_work);
HWY_EXPORT(simple_rnn_backward_work);

int64_t simple_rnn_scratch(int64_t units) { return HWY_DYNAMIC_DISPATCH(scratch_of_simple_rnn)(units); }
RecurrentWork simple_rnn_work(const SimpleRnnForward& pass) {
  return HWY_DYNAMIC_DISPATCH(simple_rnn_forward_work)(pass);
}
RecurrentWork simple_rnn_work(const SimpleRnnBackward& pass) {
  return HWY_DYNAMIC_DISPATCH(simple_rnn_backward_work)(pass);
}

}  // namespace dptrain::kernels::cpu
#endif
