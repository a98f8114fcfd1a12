#pragma once

// Inputs and weights of recurrent layers on the CPU. Objects belong to one op and its thread.

#include <algorithm>
#include <cstdint>

#include "backend/cpu/cpu_device.h"
#include "backend/cpu/inner_product.h"
#include "backend/cpu/row_count_cache.h"
#include "backend/recurrent_context.h"
#include "kernels/cpu/dropout.h"
#include "kernels/cpu/masked_steps.h"
#include "kernels/cpu/workspace.h"

namespace dptrain::backend::cpu {

/// The valid steps of a call. Sums and saved tensors contain only these, so that products over all steps skip the
/// others. Found from the mask in every pass, in the op's scratch.
class ValidSteps {
 public:
  /// packs: whether sums and saved tensors may omit masked steps (which then have no place).
  ValidSteps(std::int64_t rows, std::int64_t steps, bool masked, bool packs)
      : most_rows_(rows), steps_(steps), masked_(masked), packs_(packs) {}

  /// Floats of scratch for find(): the order; then, in shared memory, temporaries of the order and the places.
  std::int64_t scratch() const { return masked_ ? most_rows_ + std::max(2 * most_rows_, most_rows_ * steps_) : 0; }
  bool packs() const { return masked_ && packs_; }

  /// Prepares a pass. mask: [rows, steps], or null for none.
  void find(const std::uint8_t* mask, std::int64_t rows, float* scratch) {
    positions_ = computed_ = valid_ = rows * steps_;
    order_ = places_ = nullptr;
    if (mask == nullptr) return;
    auto* const numbers = reinterpret_cast<std::int32_t*>(scratch);
    order_ = numbers;
    kernels::cpu::order_by_length(mask, rows, steps_, numbers, numbers + rows);
    if (!packs_) return;
    std::int32_t* const places = numbers + rows;
    valid_ = kernels::cpu::place_valid_steps(mask, rows, steps_, places);
    computed_ = computed_of(valid_, positions_);
    if (valid_ > 0 && computed_ < positions_)
      places_ = places;
    else
      computed_ = valid_ = positions_;
  }

  const std::int32_t* order() const { return order_; }
  const std::int32_t* places() const { return places_; }  ///< null: all steps have places
  std::int64_t positions() const { return positions_; }   ///< of all steps
  std::int64_t valid() const { return valid_; }           ///< of steps that have places
  /// Positions for which products are computed: at least valid(). Positions from valid() on must be zero where they are
  /// summed.
  std::int64_t computed() const { return computed_; }

  /// Calls f(computed) for each value of computed() below rows * steps that a call with `rows` rows may have.
  template <class F>
  void each_computed(std::int64_t rows, const F& f) const {
    if (!packs()) return;
    const std::int64_t positions = rows * steps_, grain = grain_of(positions);
    for (std::int64_t computed = grain; computed < positions; computed += grain) f(computed);
  }

 private:
  /// oneDNN's products have a fixed number of positions, so there is one product for each eighth of all positions.
  static std::int64_t grain_of(std::int64_t positions) { return (positions + kGrains - 1) / kGrains; }
  static std::int64_t computed_of(std::int64_t valid, std::int64_t positions) {
    const std::int64_t grain = grain_of(positions);
    return std::min(positions, (valid + grain - 1) / grain * grain);
  }
  static constexpr std::int64_t kGrains = 8;

  std::int64_t most_rows_, steps_;
  bool masked_, packs_;
  std::int64_t positions_ = 0, computed_ = 0, valid_ = 0;
  const std::int32_t *order_ = nullptr, *places_ = nullptr;
};

/// Products of the inputs with weights 0 and 2 of the layer: kernel [features, gates * units] and the first gates *
/// units numbers of the bias.
class RecurrentInputs {
 public:
  RecurrentInputs(const nn::RecurrentSpec& spec, std::int64_t gates, const OpContext& context, CpuDevice& device);

  /// `steps` belongs to the same op, here and in all calls.
  void prepare(std::int64_t rows, const ValidSteps& steps);
  /// Floats of scratch, for calls of up to OpContext::rows.
  std::int64_t scratch() const;
  std::string name();

  /// z [rows, steps, gates * units] = x K + b, of the steps that have places.
  void forward(const OpArgs& a, const ValidSteps& steps, float* z, float* scratch);
  /// Writes the gradients of kernel, bias and x whose pointers are not null. Sets dz to zero after the steps that have
  /// places.
  void backward(const OpArgs& a, const ValidSteps& steps, float* dz, float* scratch);

  /// Draws the factors of recurrent dropout, [gates, rows, units].
  void draw_state_factors(const OpArgs& a, float* factors) const;
  /// `of` [rows, steps, units] times a gate's factors.
  void drop_state(const OpArgs& a, std::int64_t gate, const float* of, float* scratch, float* to) const;
  bool drops_states() const { return draws_.state_rate() > 0; }
  bool drops_state(const OpArgs& a) const { return a.training && drops_states(); }

  std::int64_t steps() const { return steps_; }
  std::int64_t units() const { return units_; }
  double flops() const { return 2.0 * static_cast<double>(steps_ * features_ * gates_ * units_); }
  bool wants_dx() const { return wants_dx_; }
  bool wants_weights() const { return wants_weights_; }

 private:
  struct Buffers {
    float *dropped, *factors, *gate_sums, *gate_kernel, *packed, *product;
    std::int64_t floats;
  };
  Buffers buffers(float* scratch) const;
  InnerProduct product(std::int64_t positions, std::int64_t columns);
  bool by_gate(const OpArgs& a) const { return a.training && draws_.input_rate() > 0 && draws_.input_masks() > 1; }
  kernels::cpu::Dropout dropout(const OpArgs& a, float rate, std::uint32_t stream) const;
  /// x after dropout with number `mask`.
  const float* dropped(const OpArgs& a, std::int64_t mask, const Buffers& buffers) const;
  /// x of the steps that have places, followed by zeros up to computed().
  const float* packed(const float* x, const ValidSteps& steps, const Buffers& buffers) const;
  void forward_by_gate(const OpArgs& a, float* z, const Buffers& buffers);
  void backward_by_gate(const OpArgs& a, const float* dz, const Buffers& buffers);

  CpuDevice& device_;
  RecurrentDraws draws_;
  std::int64_t rows_, steps_, features_, gates_, units_;
  bool bias_, wants_dx_, wants_weights_, packs_;
  std::uint32_t seed_;
  /// Products of all gates at once, and of one gate where each has its own dropout. Made for each number of positions.
  RowCountCache<InnerProduct> whole_, single_;
};

/// The gradient of a recurrent kernel [units, gates * units] from all steps at once: the states that the steps read,
/// and the gradients of their sums.
class RecurrentWeights {
 public:
  /// `inputs` belongs to the same op. single_gates: whether differentiate_gate() is called, too.
  RecurrentWeights(const RecurrentInputs& inputs, const ValidSteps& steps, std::int64_t gates, std::int64_t rows,
                   bool single_gates = false);

  /// Floats, for calls of up to `rows` rows.
  std::int64_t workspace() const { return workspace_; }
  /// hidden [rows, steps, units], before recurrent dropout; dz [rows, steps, gates * units], both of the steps that
  /// have places; bias [gates * units], or null.
  void differentiate(const OpArgs& a, const float* hidden, const float* dz, float* gradient, float* bias,
                     float* workspace) const;
  /// Like differentiate(), for one gate's columns of dz, gradient and bias.
  void differentiate_gate(const OpArgs& a, std::int64_t gate, const float* hidden, const float* dz, float* gradient,
                          float* bias, float* workspace) const;
  double flops() const {
    return 2.0 * static_cast<double>(inputs_.steps() * inputs_.units() * gates_ * inputs_.units());
  }

 private:
  const RecurrentInputs& inputs_;
  const ValidSteps& steps_;
  std::int64_t gates_, rows_;
  int threads_ = kernels::cpu::thread_count();
  std::int64_t workspace_;
};

}  // namespace dptrain::backend::cpu
