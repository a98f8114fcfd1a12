#pragma once

// Base of the recurrent ops: dropout, products, and gradients of weights and inputs, which are computed for all steps
// at once. Products of inputs and states with weights are convolutions of single points.

#include <string>
#include <tuple>

#include "backend/gpu/conv_sets.h"
#include "backend/gpu/gpu_op.h"
#include "backend/parts.h"
#include "backend/recurrent_context.h"
#include "kernels/cuda/dropout.h"
#include "kernels/cuda/recurrent.h"

namespace dptrain::backend::DPTRAIN_BACKEND {

/// Independent of the cell. Weights: kernel [features, gates * units], recurrent kernel [units, gates * units] and
/// bias. Both kernels have columns outermost in the arena, so that each gate's are contiguous.
class RecurrentOp : public GpuOp {
 public:
  void prepare(std::int64_t rows) override;
  std::string implementation() const override {
    return "inputs " + whole_.inputs.name() + "; state " + whole_.state.name();
  }
  std::pair<double, double> flops_per_sample() const override;

 protected:
  /// single_gates: gates are stored one after the other, and products are computed per gate.
  RecurrentOp(const nn::RecurrentSpec& spec, std::int64_t gates, const OpContext& context, Device& device,
              bool single_gates = false);

  /// Scratch of one call that all cells use.
  struct CallScratch {
    void *dropped, *factors, *operands, *products, *dz, *h, *hidden;
    float *c, *dh, *dc, *bias;
    std::int32_t* begins;
    std::byte* convolution;
  };
  CallScratch allocate_scratch(Parts& parts) const;

  bool drops_state(const OpArgs& a) const { return a.training && draws_.state_rate() > 0; }
  bool by_gate(const OpArgs& a) const { return single_gates_ || drops_state(a); }
  /// The steps of the call. Fills scratch.begins if there is a mask.
  kernel::RecurrentSteps begin(const OpArgs& a, const CallScratch& scratch) const;
  /// Copies [rows, units]; a null `from` sets zeros.
  void set_state(const OpArgs& a, const void* from, void* h) const;
  void set_float_state(const OpArgs& a, const void* from, float* c) const;

  void draw_factors(const OpArgs& a, const CallScratch& scratch) const;
  /// z = x K + b, for all steps.
  void multiply_inputs(const OpArgs& a, const CallScratch& scratch, void* z);
  /// scratch.products = h U; with recurrent dropout, scratch.h times the factors is used for h.
  void multiply_state(const OpArgs& a, const kernel::RecurrentSteps& steps, const CallScratch& scratch);
  /// scratch.dh = scratch.dz U' (with `add`: +=) for rows with a valid step `s`.
  void multiply_back(const OpArgs& a, const kernel::RecurrentSteps& steps, std::int64_t s, bool add,
                     const CallScratch& scratch);
  /// For one part, all columns or those of a gate: to = h U or dz U', [rows, columns] or [rows, units].
  void multiply_part(const OpArgs& a, std::int64_t part, const void* h, const CallScratch& scratch, void* to);
  void multiply_part_back(const OpArgs& a, std::int64_t part, const void* dz, const CallScratch& scratch, void* to);
  /// Writes the gradients of kernel, bias and inputs that the call needs.
  void differentiate_inputs(const OpArgs& a, const CallScratch& scratch, const void* dz);
  void differentiate_state(const OpArgs& a, const CallScratch& scratch, const void* hidden, const void* dz);
  /// Writes a part of the recurrent kernel's gradient: all columns, or those of a gate.
  void differentiate_state_part(const OpArgs& a, const CallScratch& scratch, std::int64_t part, const void* hidden,
                                const void* dz);
  bool wants_weights() const { return wants_weights_; }
  /// Writes the gradient of an initial state if the call needs it.
  void write_state_gradient(const OpArgs& a, std::size_t input, const float* gradient) const;
  const void* factors_of(const OpArgs& a, const CallScratch& scratch, std::int64_t gate) const {
    return drops_state(a) ? elements(scratch.factors, gate * states(a.rows)) : nullptr;
  }

  const std::byte* elements(const void* from, std::int64_t n) const {
    return static_cast<const std::byte*>(from) + static_cast<std::uint64_t>(n) * size_of(type_);
  }
  std::byte* elements(void* from, std::int64_t n) const {
    return static_cast<std::byte*>(from) + static_cast<std::uint64_t>(n) * size_of(type_);
  }
  std::int64_t states(std::int64_t rows) const { return rows * units_; }
  std::int64_t steps() const { return steps_; }
  bool has_backward() const { return has_backward_; }
  bool has_states() const { return has_states_; }
  std::int64_t max_rows() const { return rows_; }

 private:
  /// Convolutions with `columns` output columns: all gates or one gate.
  struct Sets {
    Sets(RecurrentOp& op, std::int64_t columns);
    void prepare(std::int64_t rows);
    std::uint64_t planned() const;

    std::int64_t columns;
    ConvSets inputs, state, weights;
  };
  ConvSets products(std::int64_t in, std::int64_t sums, std::int64_t rows, bool bias, const gpu::ConvPasses& passes);
  Sets& sets_of(const OpArgs& a) { return by_gate(a) ? single_ : whole_; }
  std::int64_t parts_of(const OpArgs& a) const { return by_gate(a) ? gates_ : 1; }
  std::uint32_t input_draw(std::int64_t part) const { return draws_.of_input(draws_.input_masks() > 1 ? part : 0); }
  kernel::Dropout dropout(const OpArgs& a, float rate, std::uint32_t stream) const;
  const void* dropped_input(const OpArgs& a, const CallScratch& scratch, std::int64_t part) const;
  bool drops_inputs(const OpArgs& a) const { return a.training && draws_.input_rate() > 0; }

  nn::RecurrentSpec spec_;
  RecurrentDraws draws_;
  std::int64_t rows_, steps_, features_, gates_, units_;
  bool single_gates_, has_backward_, has_states_, wants_dx_, wants_weights_;
  std::optional<std::size_t> mask_;
  std::uint32_t seed_;
  Sets whole_, single_;
};

/// `Spec` derives from nn::RecurrentSpec. `Cell` derives from this class and defines its saved tensors and scratch:
///   SavedTensors allocate_saved(Parts&, bool for_backward) const;
///   CellScratch allocate_cell_scratch(Parts&) const;   optional
template <class Cell, class Spec>
class RecurrentCellOp : public RecurrentOp {
 public:
  plan::Need need() const override {
    Parts saved(nullptr), scratch(nullptr);
    if (has_backward()) cell().allocate_saved(saved, true);
    cell().allocate_saved(scratch, false);
    allocate_scratch(scratch);
    cell().allocate_cell_scratch(scratch);
    return {.saved = saved.taken(), .scratch = scratch.taken()};
  }

 protected:
  RecurrentCellOp(const Spec& spec, std::int64_t gates, const OpContext& context, Device& device,
                  bool single_gates = false)
      : RecurrentOp(spec, gates, context, device, single_gates), spec_(spec) {
    prepare(context.rows);
  }

  struct NoScratch {};
  NoScratch allocate_cell_scratch(Parts&) const { return {}; }

  /// Draws dropout factors. Returns the tensors of allocate_saved() (saved or scratch), common scratch, cell scratch,
  /// steps.
  auto start(const OpArgs& a, bool for_backward) const {
    Parts saved(a.saved), parts(a.scratch);
    const auto passing = cell().allocate_saved(parts, false);
    const auto tensors = for_backward ? cell().allocate_saved(saved, true) : passing;
    const CallScratch scratch = allocate_scratch(parts);
    const auto own = cell().allocate_cell_scratch(parts);
    draw_factors(a, scratch);
    kernel::RecurrentSteps steps = begin(a, scratch);
    if constexpr (requires { spec_.recurrent_activation; }) steps.recurrent_activation = spec_.recurrent_activation;
    return std::tuple(tensors, scratch, own, steps);
  }
  auto start_forward(const OpArgs& a) const { return start(a, has_backward() && a.training); }

  const Spec spec_;

 private:
  const Cell& cell() const { return static_cast<const Cell&>(*this); }
};

}  // namespace dptrain::backend::DPTRAIN_BACKEND
