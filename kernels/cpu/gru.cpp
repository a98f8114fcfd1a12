
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

struct GruScratch {
  float *panels, *sums, *h, *rows, *row;  // rows: 2 units per row; row: 3 units

  GruScratch(int64_t units, float* scratch) {
    const int64_t block = kBlockRows * padded_units(units);
    panels = scratch;
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

int64_t scratch_of_gru(int64_t units) { return GruScratch::floats(units); }

class GruForwardBlock {
 public:
  GruForwardBlock(const GruForward& pass, int64_t first, int64_t rows, float* scratch)
      : p_(pass),
        steps_(pass.steps),
        units_(pass.steps.units),
        stride_(padded_units(units_)),
        weights_(pass.kernel),
        rows_(pass.steps, first, rows),
        scratch_(units_, scratch) {}

  void run() {
    clear_row(scratch_.panels, panel_floats(kGruGates, units_));
    for (int64_t r = 0; r < rows_.count(); ++r)
      copy_or_clear_row(p_.h0 == nullptr ? nullptr : p_.h0 + rows_[r] * units_, h_of(r), units_);
    for (int64_t s = 0; s < steps_.steps; ++s) step_forward(s, place_of(steps_, s));
    for (int64_t r = 0; p_.h != nullptr && r < rows_.count(); ++r) copy_row(h_of(r), p_.h + rows_[r] * units_, units_);
  }

 private:
  float* h_of(int64_t r) const { return scratch_.h + r * stride_; }
  int64_t place(int64_t r, int64_t t) const { return position_of(steps_, rows_[r], t); }
  float* gates_of(int64_t r, int64_t t) const { return p_.saved.gates + place(r, t) * kGruGates * units_; }
  float* sums_of(int64_t gate, int64_t slot) const { return scratch_.sums + (gate * kBlockRows + slot) * stride_; }
  /// The state's part of the third gate: saved, or scratch for this step.
  float* inner_of(int64_t slot, int64_t t) const {
    return p_.saved.inner != nullptr ? p_.saved.inner + place(rows_.at(slot), t) * units_
                                     : scratch_.rows + slot * stride_;
  }

  void step_forward(int64_t s, int64_t t) {
    rows_.select_step(t);
    for (int64_t slot = 0; slot < rows_.active(); ++slot) {
      const int64_t r = rows_.at(slot);
      if (p_.saved.hidden != nullptr) copy_row(h_of(r), p_.saved.hidden + place(r, t) * units_, units_);
      for (int64_t gate = 0; gate < kGruGates; ++gate) put_state(h_of(r), gate, slot);
    }
    for (int64_t gate = 0; gate < (p_.reset_after ? 3 : 2); ++gate) multiply(gate);
    for (int64_t slot = 0; slot < rows_.active(); ++slot) open_gates(slot, t);
    if (!p_.reset_after) multiply(2);
    for (int64_t slot = 0; slot < rows_.active(); ++slot) mix(slot, t);
    for (int64_t i = rows_.first_skipped(); i < rows_.count(); ++i) save_skipped(rows_.at(i), t);
    for (int64_t r = 0; r < rows_.count(); ++r)
      if (float* const y = output_of(steps_, p_.y, rows_[r], s); y != nullptr)
        copy_or_clear_row(rows_.has_begun(r, s) ? h_of(r) : nullptr, y, units_);
  }

  /// Saves the state of a masked step, the gradients of whose sums are zero.
  void save_skipped(int64_t r, int64_t t) {
    if (p_.saved.hidden != nullptr) copy_row(h_of(r), p_.saved.hidden + place(r, t) * units_, units_);
    if (p_.saved.inner != nullptr) clear_row(p_.saved.inner + place(r, t) * units_, units_);
  }

  /// Writes the state to the panels, with the recurrent dropout of the gate.
  void put_state(const float* state, int64_t gate, int64_t slot) {
    if (steps_.state_factors != nullptr) {
      multiply_rows_of(state, factors_of(steps_, gate, rows_[rows_.at(slot)]), scratch_.row, units_);
      state = scratch_.row;
    }
    put_panel_row(state, units_, kGruGates, gate, slot, scratch_.panels);
  }

  void multiply(int64_t gate) {
    multiply_step(rows_.active(), units_, scratch_.panels, {kGruGates, gate, 1},
                  weights_ + gate * packed_weights(1, units_), {}, scratch_.sums + gate * kBlockRows * stride_);
  }

  /// Computes z and r, and applies r to the state.
  void open_gates(int64_t slot, int64_t t) {
    const int64_t r = rows_.at(slot);
    float* const z = gates_of(r, t);
    for (int64_t gate = 0; gate < 2; ++gate) {
      add_row(sums_of(gate, slot), z + gate * units_, units_);
      if (p_.bias != nullptr) add_row(p_.bias + gate * units_, z + gate * units_, units_);
    }
    apply_kind(steps_.recurrent_activation, z, z, 2 * units_);
    float* const inner = inner_of(slot, t);
    if (!p_.reset_after) {
      multiply_rows_of(z + units_, h_of(r), inner, units_);
      return put_state(inner, 2, slot);
    }
    copy_row(sums_of(2, slot), inner, units_);
    if (p_.bias != nullptr) add_row(p_.bias + 2 * units_, inner, units_);
  }

  /// Computes the candidate hh and h' = z h + (1 - z) hh.
  void mix(int64_t slot, int64_t t) {
    const int64_t r = rows_.at(slot);
    float* const z = gates_of(r, t);
    float* const candidate = z + 2 * units_;
    if (p_.reset_after) {
      const float *const reset = z + units_, *const inner = inner_of(slot, t);
      sweep(units_, [&](int64_t j, auto io) HWY_ATTR {
        io.store(hn::MulAdd(io.load(reset + j), io.load(inner + j), io.load(candidate + j)), candidate + j);
      });
    } else {
      add_row(sums_of(2, slot), candidate, units_);
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
  BlockRows rows_;
  GruScratch scratch_;
};

class GruBackwardBlock {
 public:
  GruBackwardBlock(const GruBackward& pass, int64_t first, int64_t rows, float* scratch)
      : p_(pass),
        steps_(pass.steps),
        units_(pass.steps.units),
        stride_(padded_units(units_)),
        weights_(pass.kernel),
        rows_(pass.steps, first, rows),
        scratch_(units_, scratch) {}

  void run() {
    clear_row(scratch_.panels, panel_floats(kGruGates, units_));
    for (int64_t r = 0; r < rows_.count(); ++r)
      copy_or_clear_row(p_.h == nullptr ? nullptr : p_.h + rows_[r] * units_, dh_of(r), units_);
    for (int64_t s = steps_.steps - 1; s >= 0; --s) step_backward(s, place_of(steps_, s));
    for (int64_t r = 0; p_.dh0 != nullptr && r < rows_.count(); ++r)
      copy_row(dh_of(r), p_.dh0 + rows_[r] * units_, units_);
  }

 private:
  float* dh_of(int64_t r) const { return scratch_.h + r * stride_; }
  /// Gradients of the activated z and r, until that of r is complete.
  float* gate_gradients_of(int64_t slot) const { return scratch_.rows + 2 * slot * stride_; }
  float* sums_of(int64_t gate, int64_t slot) const { return scratch_.sums + (gate * kBlockRows + slot) * stride_; }
  int64_t place(int64_t r, int64_t t) const { return position_of(steps_, rows_[r], t); }

  void step_backward(int64_t s, int64_t t) {
    rows_.select_step(t);
    for (int64_t r = 0; r < rows_.count(); ++r) add_output_gradient(r, s);
    for (int64_t slot = 0; slot < rows_.active(); ++slot) differentiate_mix(slot, t);
    if (!p_.reset_after) multiply(2, 1);
    for (int64_t slot = 0; slot < rows_.active(); ++slot) differentiate_gates(slot, t);
    multiply(0, p_.reset_after ? 3 : 2);
    for (int64_t slot = 0; slot < rows_.active(); ++slot)
      add_products(slot, 0, p_.reset_after ? 3 : 2, dh_of(rows_.at(slot)));
    for (int64_t i = rows_.first_skipped(); i < rows_.count(); ++i) clear_skipped(place(rows_.at(i), t));
  }

  void clear_skipped(int64_t place) {
    clear_row(p_.saved.gates + place * kGruGates * units_, kGruGates * units_);
    if (p_.reset_after) clear_row(p_.recurrent + place * kGruGates * units_, kGruGates * units_);
  }

  void add_output_gradient(int64_t r, int64_t s) {
    const float* const y = output_of(steps_, p_.y, rows_[r], s);
    if (y != nullptr && rows_.has_begun(r, s)) add_row(y, dh_of(r), units_);
  }

  /// Differentiates h' = z h + (1 - z) hh and the candidate's activation; dh becomes dh z.
  void differentiate_mix(int64_t slot, int64_t t) {
    const int64_t r = rows_.at(slot);
    float* const z = p_.saved.gates + place(r, t) * kGruGates * units_;
    float *const candidate = z + 2 * units_, *const of_z = gate_gradients_of(slot), *const dh = dh_of(r);
    const float* const h = p_.saved.hidden + place(r, t) * units_;
    float* const fresh = scratch_.row;
    sweep(units_, [&](int64_t j, auto io) HWY_ATTR {
      const Vec keep = io.load(z + j), d = io.load(dh + j);
      io.store(hn::Mul(d, hn::Sub(io.load(h + j), io.load(candidate + j))), of_z + j);
      io.store(hn::Mul(d, hn::Sub(splat(1.0F), keep)), fresh + j);
      io.store(hn::Mul(d, keep), dh + j);
    });
    differentiate_kind(steps_.activation, candidate, fresh, candidate, units_);
    if (!p_.reset_after) put_panel_row(candidate, units_, kGruGates, 2, slot, scratch_.panels);
  }

  /// Gradients of r, then of the sums of z and r.
  void differentiate_gates(int64_t slot, int64_t t) {
    const int64_t r = rows_.at(slot);
    float* const z = p_.saved.gates + place(r, t) * kGruGates * units_;
    const float *const reset = z + units_, *const candidate = z + 2 * units_;
    float *const opened = gate_gradients_of(slot), *const of_reset = opened + units_, *const of_inner = scratch_.row;
    if (p_.reset_after) {
      multiply_rows_of(candidate, p_.saved.inner + place(r, t) * units_, of_reset, units_);
      multiply_rows_of(candidate, reset, of_inner, units_);
    } else {
      clear_row(of_inner, units_);
      add_products(slot, 2, 1, of_inner);
      multiply_rows_of(of_inner, p_.saved.hidden + place(r, t) * units_, of_reset, units_);
      multiply_rows_of(of_inner, reset, of_inner, units_);
      add_row(of_inner, dh_of(r), units_);
    }
    differentiate_kind(steps_.recurrent_activation, z, opened, z, 2 * units_);
    for (int64_t gate = 0; gate < 2; ++gate)
      put_panel_row(z + gate * units_, units_, kGruGates, gate, slot, scratch_.panels);
    if (!p_.reset_after) return;
    put_panel_row(of_inner, units_, kGruGates, 2, slot, scratch_.panels);
    float* const recurrent = p_.recurrent + place(r, t) * kGruGates * units_;
    copy_row(z, recurrent, 2 * units_);
    copy_row(of_inner, recurrent + 2 * units_, units_);
  }

  /// Sums of gates [first, first + count): in one product, or one per gate with recurrent dropout.
  void multiply(int64_t first, int64_t count) {
    if (steps_.state_factors == nullptr) {
      const PartRange parts{kGruGates, first, count};
      return multiply_step(rows_.active(), units_, scratch_.panels, parts, weights_, parts,
                           scratch_.sums + first * kBlockRows * stride_);
    }
    for (int64_t gate = first; gate < first + count; ++gate)
      multiply_step(rows_.active(), units_, scratch_.panels, {kGruGates, gate, 1}, weights_, {kGruGates, gate, 1},
                    scratch_.sums + gate * kBlockRows * stride_);
  }

  void add_products(int64_t slot, int64_t first, int64_t count, float* to) {
    if (steps_.state_factors == nullptr) return add_row(sums_of(first, slot), to, units_);
    for (int64_t gate = first; gate < first + count; ++gate)
      add_product(sums_of(gate, slot), factors_of(steps_, gate, rows_[rows_.at(slot)]), to, units_);
  }

  const GruBackward& p_;
  const RecurrentSteps& steps_;
  int64_t units_, stride_;
  const float* weights_;
  BlockRows rows_;
  GruScratch scratch_;
};

RecurrentWork gru_forward_work(const GruForward& pass) {
  return work_of<GruForwardBlock>(pass, GruScratch::floats(pass.steps.units));
}
RecurrentWork gru_backward_work(const GruBackward& pass) {
  return work_of<GruBackwardBlock>(pass, GruScratch::floats(pass.steps.units));
}

}  // namespace dptrain::kernels::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace dptrain::kernels::cpu {

HWY_EXPORT(scratch_of_gru);
HWY_EXPORT(gru_forward_work);
HWY_EXPORT(gru_backward_work);

int64_t gru_scratch(int64_t units) { return HWY_DYNAMIC_DISPATCH(scratch_of_gru)(units); }
RecurrentWork gru_work(const GruForward& pass) { return HWY_DYNAMIC_DISPATCH(gru_forward_work)(pass); }
RecurrentWork gru_work(const GruBackward& pass) { return HWY_DYNAMIC_DISPATCH(gru_backward_work)(pass); }

}  // namespace dptrain::kernels::cpu
#endif
