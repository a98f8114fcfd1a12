#include <algorithm>
#include <cstring>

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

/// The room of a block of rows.
struct LstmRoom {
  float *panels, *sums, *h, *c, *row;  // row: 4 units

  LstmRoom(int64_t units, float* room) {
    const int64_t block = kBlockRows * padded_units(units);
    panels = room;
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

int64_t room_of_lstm(int64_t units) { return LstmRoom::floats(units); }

class LstmForwardBlock {
 public:
  LstmForwardBlock(const LstmForward& pass, int64_t first, int64_t rows, float* room)
      : p_(pass),
        steps_(pass.steps),
        units_(pass.steps.units),
        stride_(padded_units(units_)),
        weights_(pass.kernel),
        first_(first),
        rows_(rows),
        parts_(steps_.state_factors == nullptr ? 1 : kLstmGates),
        room_(units_, room) {}

  void run() {
    clear_row(room_.panels, panel_floats(parts_, units_));
    for (int64_t r = 0; r < rows_; ++r) {
      copy_or_clear_row(row_of(p_.h0, r), room_.h + r * stride_, units_);
      copy_or_clear_row(row_of(p_.c0, r), room_.c + r * stride_, units_);
      begins_[r] = first_valid(steps_, first_ + r);
    }
    for (int64_t s = 0; s < steps_.steps; ++s) take_step(s, place_of(steps_, s));
    for (int64_t r = 0; r < rows_; ++r) {
      const float *const h = room_.h + r * stride_, *const c = room_.c + r * stride_;
      if (p_.h != nullptr) copy_row(h, p_.h + (first_ + r) * units_, units_);
      if (p_.c != nullptr) copy_row(c, p_.c + (first_ + r) * units_, units_);
    }
  }

 private:
  const float* row_of(const float* state, int64_t r) const {
    return state == nullptr ? nullptr : state + (first_ + r) * units_;
  }

  void take_step(int64_t s, int64_t t) {
    for (int64_t r = 0; r < rows_; ++r) read_state(r, t);
    for (int64_t gate = 0; gate < kLstmGates; ++gate)
      multiply_step(rows_, units_, room_.panels, {parts_, parts_ == 1 ? 0 : gate, 1},
                    weights_ + gate * packed_weights(1, units_), {}, room_.sums + gate * kBlockRows * stride_);
    for (int64_t r = 0; r < rows_; ++r) {
      const int64_t at = (first_ + r) * steps_.steps + t;
      float *const h = room_.h + r * stride_, *const c = room_.c + r * stride_;
      if (is_valid(steps_, first_ + r, t)) compute(r, at, h, c);
      if (p_.kept.cell != nullptr) copy_row(c, p_.kept.cell + at * units_, units_);
      if (float* const y = output_of(steps_, p_.y, first_ + r, s); y != nullptr)
        copy_or_clear_row(s >= begins_[r] ? h : nullptr, y, units_);
    }
  }

  /// Into the panels, with recurrent dropout for each gate by itself.
  void read_state(int64_t r, int64_t t) {
    const float* const h = room_.h + r * stride_;
    if (p_.kept.hidden != nullptr) copy_row(h, p_.kept.hidden + ((first_ + r) * steps_.steps + t) * units_, units_);
    if (parts_ == 1) return put_panel_row(h, units_, 1, 0, r, room_.panels);
    for (int64_t gate = 0; gate < kLstmGates; ++gate) {
      multiply_rows_of(h, factors_of(steps_, gate, first_ + r), room_.row, units_);
      put_panel_row(room_.row, units_, parts_, gate, r, room_.panels);
    }
  }

  void compute(int64_t r, int64_t at, float* h, float* c) {
    float* const z = p_.kept.gates + at * kLstmGates * units_;
    for (int64_t gate = 0; gate < kLstmGates; ++gate)
      add_row(room_.sums + (gate * kBlockRows + r) * stride_, z + gate * units_, units_);
    float* const squashed = p_.kept.squashed != nullptr ? p_.kept.squashed + at * units_ : room_.row;
    take_lstm_row({steps_.activation, steps_.recurrent_activation}, units_, z, h, c, squashed);
  }

  const LstmForward& p_;
  const RecurrentSteps& steps_;
  int64_t units_, stride_;
  const float* weights_;
  int64_t first_, rows_, parts_;
  LstmRoom room_;
  int64_t begins_[kBlockRows] = {};
};

class LstmBackwardBlock {
 public:
  LstmBackwardBlock(const LstmBackward& pass, int64_t first, int64_t rows, float* room)
      : p_(pass),
        steps_(pass.steps),
        units_(pass.steps.units),
        stride_(padded_units(units_)),
        weights_(pass.kernel),
        first_(first),
        rows_(rows),
        room_(units_, room) {}

  void run() {
    clear_row(room_.panels, panel_floats(kLstmGates, units_));
    for (int64_t r = 0; r < rows_; ++r) {
      const int64_t at = (first_ + r) * units_;
      copy_or_clear_row(p_.h == nullptr ? nullptr : p_.h + at, room_.h + r * stride_, units_);
      copy_or_clear_row(p_.c == nullptr ? nullptr : p_.c + at, room_.c + r * stride_, units_);
      begins_[r] = first_valid(steps_, first_ + r);
    }
    for (int64_t s = steps_.steps - 1; s >= 0; --s) go_back(s, place_of(steps_, s));
    for (int64_t r = 0; r < rows_; ++r) {
      if (p_.dh0 != nullptr) copy_row(room_.h + r * stride_, p_.dh0 + (first_ + r) * units_, units_);
      if (p_.dc0 != nullptr) copy_row(room_.c + r * stride_, p_.dc0 + (first_ + r) * units_, units_);
    }
  }

 private:
  void go_back(int64_t s, int64_t t) {
    for (int64_t r = 0; r < rows_; ++r) {
      add_output_gradient(r, s);
      float* const z = p_.kept.gates + ((first_ + r) * steps_.steps + t) * kLstmGates * units_;
      if (is_valid(steps_, first_ + r, t))
        differentiate(r, s, t, z);
      else
        clear_row(z, kLstmGates * units_);
      for (int64_t gate = 0; gate < kLstmGates; ++gate)
        put_panel_row(z + gate * units_, units_, kLstmGates, gate, r, room_.panels);
    }
    if (s > 0 || p_.dh0 != nullptr) pass_to_state(t);
  }

  void add_output_gradient(int64_t r, int64_t s) {
    const float* const y = output_of(steps_, p_.y, first_ + r, s);
    if (y != nullptr && s >= begins_[r]) add_row(y, room_.h + r * stride_, units_);
  }

  /// From dh and dc behind the step: d z, in the place of the gates, and dc before it.
  void differentiate(int64_t r, int64_t s, int64_t t, float* z) {
    const int64_t row = (first_ + r) * steps_.steps;
    const float* const squashed = p_.kept.squashed + (row + t) * units_;
    const float* const before = s > 0              ? p_.kept.cell + (row + place_of(steps_, s - 1)) * units_
                                : p_.c0 != nullptr ? p_.c0 + (first_ + r) * units_
                                                   : nullptr;
    differentiate_lstm_row({steps_.activation, steps_.recurrent_activation}, units_, z, before, squashed,
                           room_.h + r * stride_, room_.c + r * stride_, room_.row);
  }

  /// dh before the step, of the rows that have taken it.
  void pass_to_state(int64_t t) {
    const PartRange all{kLstmGates, 0, kLstmGates};
    if (steps_.state_factors == nullptr)
      multiply_step(rows_, units_, room_.panels, all, weights_, all, room_.sums);
    else
      for (int64_t gate = 0; gate < kLstmGates; ++gate)
        multiply_step(rows_, units_, room_.panels, {kLstmGates, gate, 1}, weights_, {kLstmGates, gate, 1},
                      room_.sums + gate * kBlockRows * stride_);
    for (int64_t r = 0; r < rows_; ++r) {
      if (!is_valid(steps_, first_ + r, t)) continue;
      float* const dh = room_.h + r * stride_;
      if (steps_.state_factors == nullptr)
        copy_row(room_.sums + r * stride_, dh, units_);
      else
        add_gates(r, dh);
    }
  }

  void add_gates(int64_t r, float* dh) {
    clear_row(dh, units_);
    for (int64_t gate = 0; gate < kLstmGates; ++gate)
      add_product(room_.sums + (gate * kBlockRows + r) * stride_, factors_of(steps_, gate, first_ + r), dh, units_);
  }

  const LstmBackward& p_;
  const RecurrentSteps& steps_;
  int64_t units_, stride_;
  const float* weights_;
  int64_t first_, rows_;
  LstmRoom room_;
  int64_t begins_[kBlockRows] = {};
};

RecurrentWork lstm_forward_work(const LstmForward& pass) {
  return work_of<LstmForwardBlock>(pass, LstmRoom::floats(pass.steps.units));
}
RecurrentWork lstm_backward_work(const LstmBackward& pass) {
  return work_of<LstmBackwardBlock>(pass, LstmRoom::floats(pass.steps.units));
}

}  // namespace dptrain::kernels::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace dptrain::kernels::cpu {

HWY_EXPORT(room_of_lstm);
HWY_EXPORT(lstm_forward_work);
HWY_EXPORT(lstm_backward_work);

int64_t lstm_room(int64_t units) { return HWY_DYNAMIC_DISPATCH(room_of_lstm)(units); }
RecurrentWork lstm_work(const LstmForward& pass) { return HWY_DYNAMIC_DISPATCH(lstm_forward_work)(pass); }
RecurrentWork lstm_work(const LstmBackward& pass) { return HWY_DYNAMIC_DISPATCH(lstm_backward_work)(pass); }

}  // namespace dptrain::kernels::cpu
#endif
