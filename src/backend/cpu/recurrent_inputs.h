#pragma once

// What the inputs of a recurrent layer give to the sums of all its steps, x K + b, and the gradients of that, with
// dropout: shared by the recurrent ops. Belongs to one op.

#include <cstdint>

#include "backend/cpu/cpu_device.h"
#include "backend/cpu/inner_product.h"
#include "backend/cpu/per_rows.h"
#include "backend/cpu/valid_steps.h"
#include "backend/recurrent_context.h"
#include "kernels/cpu/dropout.h"
#include "kernels/cpu/room.h"

namespace dptrain::backend::cpu {

/// Weights 0 and 2 of the layer, kernel [features, gates * units] and bias, of which the first gates * units numbers.
class RecurrentInputs {
 public:
  RecurrentInputs(const nn::RecurrentSpec& spec, std::int64_t gates, const OpContext& context, CpuDevice& device);

  /// `steps`: of the same op, as in all calls.
  void prepare(std::int64_t rows, const ValidSteps& steps);
  /// Floats of scratch, for calls of up to OpContext::rows.
  std::int64_t scratch() const;
  std::string name();

  /// z [rows, steps, gates * units] = x K + b, of the steps that have places.
  void forward(const OpArgs& a, const ValidSteps& steps, float* z, float* scratch);
  /// Gradients of kernel, bias and x, where they are wanted. dz gets zeros behind the steps that have places.
  void backward(const OpArgs& a, const ValidSteps& steps, float* dz, float* scratch);

  /// Recurrent dropout: the factors of the state, [gates, rows, units].
  void draw_state_factors(const OpArgs& a, float* factors) const;
  /// `of` [rows, steps, units] times a gate's factors.
  void drop_state(const OpArgs& a, std::int64_t gate, const float* of, float* room, float* to) const;
  bool drops_states() const { return draws_.state_rate() > 0; }
  bool drops_state(const OpArgs& a) const { return a.training && drops_states(); }

  std::int64_t steps() const { return steps_; }
  std::int64_t units() const { return units_; }
  double flops() const { return 2.0 * static_cast<double>(steps_ * features_ * gates_ * units_); }
  bool wants_dx() const { return wants_dx_; }
  bool wants_weights() const { return wants_weights_; }

 private:
  struct Rooms {
    float *dropped, *factors, *gate_sums, *gate_kernel, *packed, *product;
    std::int64_t floats;
  };
  Rooms rooms(float* scratch) const;
  InnerProduct product(std::int64_t positions, std::int64_t columns);
  bool by_gate(const OpArgs& a) const { return a.training && draws_.input_rate() > 0 && draws_.input_masks() > 1; }
  kernels::cpu::Dropout dropout(const OpArgs& a, float rate, std::uint32_t stream) const;
  /// x as the product reads it.
  const float* dropped(const OpArgs& a, std::int64_t mask, const Rooms& rooms) const;
  /// x of the steps that have places, and zeros behind them.
  const float* packed(const float* x, const ValidSteps& steps, const Rooms& rooms) const;
  void forward_by_gate(const OpArgs& a, float* z, const Rooms& rooms);
  void backward_by_gate(const OpArgs& a, const float* dz, const Rooms& rooms);

  CpuDevice& device_;
  RecurrentDraws draws_;
  std::int64_t rows_, steps_, features_, gates_, units_;
  bool bias_, wants_dx_, wants_weights_, packs_;
  std::uint32_t seed_;
  /// Of all gates at once, and of one of them where each has its own dropout; by the number of positions.
  PerRows<InnerProduct> whole_, single_;
};

}  // namespace dptrain::backend::cpu
