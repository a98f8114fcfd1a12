#include <algorithm>
#include <cstring>

#include "kernels/cpu/parallel.h"
#include "kernels/cpu/recurrent.h"
#include "kernels/cpu/targets.h"

#ifndef DPTRAIN_KERNELS_CPU_GRU_ONCE  // this file is read once per instruction set
#define DPTRAIN_KERNELS_CPU_GRU_ONCE
namespace dptrain::kernels::cpu {

inline constexpr int64_t kGruGates = 3;

}  // namespace dptrain::kernels::cpu
#endif

#define HWY_TARGET_INCLUDE "kernels/cpu/gru.cpp"
#include <hwy/foreach_target.h>

#include "kernels/cpu/recurrent-inl.h"

HWY_BEFORE_NAMESPACE();
namespace dptrain::kernels::cpu::HWY_NAMESPACE {

/// The room of a block of rows.
struct GruRoom {
  float *panels, *sums, *h, *rows, *row;  // rows: 2 units of each row; row: 3 units

  GruRoom(int64_t units, float* room) {
    const int64_t block = kBlockRows * padded_units(units);
    panels = room;
    sums = panels + panel_floats(kGruGates, units);
    h = sums + kGruGates * block;
    rows = h + block;
    row = rows + 2 * block;
  }
  static int64_t floats(int64_t units) {
    return panel_floats(kGruGates, units) + (kGruGates + 3) * kBlockRows * padded_units(units) +
           kGruGates * padded_units(units);
  }
};

int64_t room_of_gru(int64_t units) { return GruRoom::floats(units); }

class GruForwardBlock {
 public:
  GruForwardBlock(const GruForward& pass, int64_t first, int64_t rows, float* room)
      : p_(pass),
        steps_(pass.steps),
        units_(pass.steps.units),
        stride_(padded_units(units_)),
        weights_(pass.kernel),
        first_(first),
        rows_(rows),
        room_(units_, room) {}

  void run() {
    clear_row(room_.panels, panel_floats(kGruGates, units_));
    for (int64_t r = 0; r < rows_; ++r) {
      copy_or_clear_row(p_.h0 == nullptr ? nullptr : p_.h0 + (first_ + r) * units_, h_of(r), units_);
      begins_[r] = first_valid(steps_, first_ + r);
    }
    for (int64_t s = 0; s < steps_.steps; ++s) take_step(s, place_of(steps_, s));
    for (int64_t r = 0; p_.h != nullptr && r < rows_; ++r) copy_row(h_of(r), p_.h + (first_ + r) * units_, units_);
  }

 private:
  float* h_of(int64_t r) const { return room_.h + r * stride_; }
  float* gates_of(int64_t r, int64_t t) const {
    return p_.kept.gates + ((first_ + r) * steps_.steps + t) * kGruGates * units_;
  }
  float* sums_of(int64_t gate, int64_t r) const { return room_.sums + (gate * kBlockRows + r) * stride_; }
  /// Where the third gate's part of the state stands: kept, or for this step only.
  float* inner_of(int64_t r, int64_t t) const {
    return p_.kept.inner != nullptr ? p_.kept.inner + ((first_ + r) * steps_.steps + t) * units_
                                    : room_.rows + r * stride_;
  }

  void take_step(int64_t s, int64_t t) {
    for (int64_t r = 0; r < rows_; ++r) {
      if (p_.kept.hidden != nullptr)
        copy_row(h_of(r), p_.kept.hidden + ((first_ + r) * steps_.steps + t) * units_, units_);
      for (int64_t gate = 0; gate < kGruGates; ++gate) put_state(h_of(r), gate, r);
    }
    for (int64_t gate = 0; gate < (p_.reset_after ? 3 : 2); ++gate) multiply(gate);
    for (int64_t r = 0; r < rows_; ++r) open_gates(r, t);
    if (!p_.reset_after) multiply(2);
    for (int64_t r = 0; r < rows_; ++r) {
      if (is_valid(steps_, first_ + r, t)) mix(r, t);
      if (float* const y = output_of(steps_, p_.y, first_ + r, s); y != nullptr)
        copy_or_clear_row(s >= begins_[r] ? h_of(r) : nullptr, y, units_);
    }
  }

  /// Into the panels, with the gate's recurrent dropout.
  void put_state(const float* state, int64_t gate, int64_t r) {
    if (steps_.state_factors != nullptr) {
      multiply_rows_of(state, factors_of(steps_, gate, first_ + r), room_.row, units_);
      state = room_.row;
    }
    put_panel_row(state, units_, kGruGates, gate, r, room_.panels);
  }

  void multiply(int64_t gate) {
    multiply_step(rows_, units_, room_.panels, {kGruGates, gate, 1}, weights_ + gate * packed_weights(1, units_), {},
                  room_.sums + gate * kBlockRows * stride_);
  }

  /// z and r, and what r does to the state.
  void open_gates(int64_t r, int64_t t) {
    float* const z = gates_of(r, t);
    for (int64_t gate = 0; gate < 2; ++gate) {
      add_row(sums_of(gate, r), z + gate * units_, units_);
      if (p_.bias != nullptr) add_row(p_.bias + gate * units_, z + gate * units_, units_);
    }
    apply_kind(steps_.recurrent_activation, z, z, 2 * units_);
    float* const inner = inner_of(r, t);
    if (!p_.reset_after) {
      multiply_rows_of(z + units_, h_of(r), inner, units_);
      return put_state(inner, 2, r);
    }
    copy_row(sums_of(2, r), inner, units_);
    if (p_.bias != nullptr) add_row(p_.bias + 2 * units_, inner, units_);
  }

  /// The candidate, and h' = z h + (1 - z) hh.
  void mix(int64_t r, int64_t t) {
    float* const z = gates_of(r, t);
    float* const candidate = z + 2 * units_;
    if (p_.reset_after) {
      const float *const reset = z + units_, *const inner = inner_of(r, t);
      sweep(units_, [&](int64_t j, auto io) HWY_ATTR {
        io.store(hn::MulAdd(io.load(reset + j), io.load(inner + j), io.load(candidate + j)), candidate + j);
      });
    } else {
      add_row(sums_of(2, r), candidate, units_);
    }
    apply_kind(steps_.activation, candidate, candidate, units_);
    float* const h = h_of(r);
    sweep(units_, [&](int64_t j, auto io) HWY_ATTR {
      const Vec keep = io.load(z + j), fresh = io.load(candidate + j);
      io.store(hn::MulAdd(keep, io.load(h + j), hn::Mul(hn::Sub(splat(1.0F), keep), fresh)), h + j);
    });
  }

  const GruForward& p_;
  const RecurrentSteps& steps_;
  int64_t units_, stride_;
  const float* weights_;
  int64_t first_, rows_;
  GruRoom room_;
  int64_t begins_[kBlockRows] = {};
};

class GruBackwardBlock {
 public:
  GruBackwardBlock(const GruBackward& pass, int64_t first, int64_t rows, float* room)
      : p_(pass),
        steps_(pass.steps),
        units_(pass.steps.units),
        stride_(padded_units(units_)),
        weights_(pass.kernel),
        first_(first),
        rows_(rows),
        room_(units_, room) {}

  void run() {
    clear_row(room_.panels, panel_floats(kGruGates, units_));
    for (int64_t r = 0; r < rows_; ++r) {
      copy_or_clear_row(p_.h == nullptr ? nullptr : p_.h + (first_ + r) * units_, dh_of(r), units_);
      begins_[r] = first_valid(steps_, first_ + r);
    }
    for (int64_t s = steps_.steps - 1; s >= 0; --s) go_back(s, place_of(steps_, s));
    for (int64_t r = 0; p_.dh0 != nullptr && r < rows_; ++r) copy_row(dh_of(r), p_.dh0 + (first_ + r) * units_, units_);
  }

 private:
  float* dh_of(int64_t r) const { return room_.h + r * stride_; }
  /// Gradients of the activated z and r, until r's is known.
  float* opened_of(int64_t r) const { return room_.rows + 2 * r * stride_; }
  float* sums_of(int64_t gate, int64_t r) const { return room_.sums + (gate * kBlockRows + r) * stride_; }
  int64_t place(int64_t r, int64_t t) const { return (first_ + r) * steps_.steps + t; }

  void go_back(int64_t s, int64_t t) {
    for (int64_t r = 0; r < rows_; ++r) {
      add_output_gradient(r, s);
      differentiate_mix(r, t);
    }
    if (!p_.reset_after) multiply(2, 1);
    for (int64_t r = 0; r < rows_; ++r) differentiate_gates(r, t);
    multiply(0, p_.reset_after ? 3 : 2);
    for (int64_t r = 0; r < rows_; ++r)
      if (is_valid(steps_, first_ + r, t)) add_products(r, 0, p_.reset_after ? 3 : 2, dh_of(r));
  }

  void add_output_gradient(int64_t r, int64_t s) {
    const float* const y = output_of(steps_, p_.y, first_ + r, s);
    if (y != nullptr && s >= begins_[r]) add_row(y, dh_of(r), units_);
  }

  /// Back through h' = z h + (1 - z) hh and the candidate's activation; dh becomes z's part of it.
  void differentiate_mix(int64_t r, int64_t t) {
    float* const z = p_.kept.gates + place(r, t) * kGruGates * units_;
    float *const candidate = z + 2 * units_, *const of_z = opened_of(r), *const dh = dh_of(r);
    if (!is_valid(steps_, first_ + r, t)) {
      clear_row(z, kGruGates * units_);
      return put_panel_row(candidate, units_, kGruGates, 2, r, room_.panels);
    }
    const float* const h = p_.kept.hidden + place(r, t) * units_;
    float* const fresh = room_.row;
    sweep(units_, [&](int64_t j, auto io) HWY_ATTR {
      const Vec keep = io.load(z + j), d = io.load(dh + j);
      io.store(hn::Mul(d, hn::Sub(io.load(h + j), io.load(candidate + j))), of_z + j);
      io.store(hn::Mul(d, hn::Sub(splat(1.0F), keep)), fresh + j);
      io.store(hn::Mul(d, keep), dh + j);
    });
    differentiate_kind(steps_.activation, candidate, fresh, candidate, units_);
    if (!p_.reset_after) put_panel_row(candidate, units_, kGruGates, 2, r, room_.panels);
  }

  /// Of r, then of the sums of z and r.
  void differentiate_gates(int64_t r, int64_t t) {
    float* const z = p_.kept.gates + place(r, t) * kGruGates * units_;
    const float *const reset = z + units_, *const candidate = z + 2 * units_;
    float *const opened = opened_of(r), *const of_reset = opened + units_, *const of_inner = room_.row;
    const bool valid = is_valid(steps_, first_ + r, t);
    if (valid && p_.reset_after) {
      multiply_rows_of(candidate, p_.kept.inner + place(r, t) * units_, of_reset, units_);
      multiply_rows_of(candidate, reset, of_inner, units_);
    } else if (valid) {
      clear_row(of_inner, units_);
      add_products(r, 2, 1, of_inner);
      multiply_rows_of(of_inner, p_.kept.hidden + place(r, t) * units_, of_reset, units_);
      multiply_rows_of(of_inner, reset, of_inner, units_);
      add_row(of_inner, dh_of(r), units_);
    } else {
      clear_row(of_inner, units_);
    }
    if (valid) differentiate_kind(steps_.recurrent_activation, z, opened, z, 2 * units_);
    for (int64_t gate = 0; gate < 2; ++gate) put_panel_row(z + gate * units_, units_, kGruGates, gate, r, room_.panels);
    if (!p_.reset_after) return;
    put_panel_row(of_inner, units_, kGruGates, 2, r, room_.panels);
    float* const recurrent = p_.recurrent + place(r, t) * kGruGates * units_;
    copy_row(z, recurrent, 2 * units_);
    copy_row(of_inner, recurrent + 2 * units_, units_);
  }

  /// sums of gates [first, first + count): in one, or with recurrent dropout one by one.
  void multiply(int64_t first, int64_t count) {
    if (steps_.state_factors == nullptr) {
      const PartRange parts{kGruGates, first, count};
      return multiply_step(rows_, units_, room_.panels, parts, weights_, parts,
                           room_.sums + first * kBlockRows * stride_);
    }
    for (int64_t gate = first; gate < first + count; ++gate)
      multiply_step(rows_, units_, room_.panels, {kGruGates, gate, 1}, weights_, {kGruGates, gate, 1},
                    room_.sums + gate * kBlockRows * stride_);
  }

  void add_products(int64_t r, int64_t first, int64_t count, float* to) {
    if (steps_.state_factors == nullptr) return add_row(sums_of(first, r), to, units_);
    for (int64_t gate = first; gate < first + count; ++gate)
      add_product(sums_of(gate, r), factors_of(steps_, gate, first_ + r), to, units_);
  }

  const GruBackward& p_;
  const RecurrentSteps& steps_;
  int64_t units_, stride_;
  const float* weights_;
  int64_t first_, rows_;
  GruRoom room_;
  int64_t begins_[kBlockRows] = {};
};

RecurrentWork gru_forward_work(const GruForward& pass) {
  return work_of<GruForwardBlock>(pass, GruRoom::floats(pass.steps.units));
}
RecurrentWork gru_backward_work(const GruBackward& pass) {
  return work_of<GruBackwardBlock>(pass, GruRoom::floats(pass.steps.units));
}

}  // namespace dptrain::kernels::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace dptrain::kernels::cpu {

HWY_EXPORT(room_of_gru);
HWY_EXPORT(gru_forward_work);
HWY_EXPORT(gru_backward_work);

int64_t gru_room(int64_t units) { return HWY_DYNAMIC_DISPATCH(room_of_gru)(units); }
RecurrentWork gru_work(const GruForward& pass) { return HWY_DYNAMIC_DISPATCH(gru_forward_work)(pass); }
RecurrentWork gru_work(const GruBackward& pass) { return HWY_DYNAMIC_DISPATCH(gru_backward_work)(pass); }

}  // namespace dptrain::kernels::cpu
#endif
