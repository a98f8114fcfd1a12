#include "backend/cpu/recurrent_inputs.h"

#include "backend/cpu/workspace.h"
#include "kernels/cpu/elementwise.h"
#include "kernels/cpu/gemm_conv.h"
#include "kernels/cpu/pad.h"

namespace dptrain::backend::cpu {

using kernels::cpu::copy_columns;

RecurrentInputs::RecurrentInputs(const nn::RecurrentSpec& spec, std::int64_t gates, const OpContext& context,
                                 CpuDevice& device)
    : device_(device),
      draws_(spec, gates, context),
      rows_(context.rows),
      steps_(context.input(0)[0]),
      features_(context.input(0)[1]),
      gates_(gates),
      units_(spec.units),
      bias_(spec.use_bias),
      wants_dx_(context.wants_dx()),
      wants_weights_(context.trains()),
      packs_(context.mask() && !drops_states()),
      seed_(static_cast<std::uint32_t>(context.seed ^ context.seed >> 32)),
      whole_([this](std::int64_t positions) { return product(positions, gates_ * units_); }),
      single_([this](std::int64_t positions) { return product(positions, units_); }) {}

InnerProduct RecurrentInputs::product(std::int64_t positions, std::int64_t columns) {
  return InnerProduct(positions, features_, columns, bias_, wants_dx_, wants_weights_, device_.dnnl());
}

void RecurrentInputs::prepare(std::int64_t rows, const ValidSteps& steps) {
  whole_.prepare(rows * steps_);
  steps.each_computed(rows, [this](std::int64_t positions) { whole_.prepare(positions); });
  if (draws_.input_rate() > 0 && draws_.input_masks() > 1) single_.prepare(rows * steps_);
}

std::string RecurrentInputs::name() { return whole_.at(rows_ * steps_).name(); }

RecurrentInputs::Buffers RecurrentInputs::buffers(float* scratch) const {
  kernels::cpu::WorkspaceParts memory(scratch);
  const bool drops = draws_.input_rate() > 0, by_gate = drops && draws_.input_masks() > 1;
  const std::int64_t positions = rows_ * steps_;
  Buffers buffers{};
  buffers.dropped = memory.take(drops ? positions * features_ : 0);
  buffers.factors = memory.take(drops ? rows_ * features_ : 0);
  buffers.gate_sums = memory.take(by_gate ? positions * units_ : 0);
  buffers.gate_kernel = memory.take(by_gate ? 2 * features_ * units_ : 0);
  buffers.packed = memory.take(packs_ ? positions * features_ : 0);
  buffers.product = memory.take(0);
  const std::size_t bytes = std::max(whole_.planned_scratch(), single_.planned_scratch());
  memory.take(static_cast<std::int64_t>((bytes + sizeof(float) - 1) / sizeof(float)));
  buffers.floats = memory.taken();
  return buffers;
}

std::int64_t RecurrentInputs::scratch() const { return buffers(nullptr).floats; }

kernels::cpu::Dropout RecurrentInputs::dropout(const OpArgs& a, float rate, std::uint32_t stream) const {
  return {.rate = rate,
          .seed = seed_,
          .layer = stream,
          .step = static_cast<std::uint64_t>(a.step),
          .first_row = a.first_row};
}

const float* RecurrentInputs::dropped(const OpArgs& a, std::int64_t mask, const Buffers& buffers) const {
  if (!a.training || draws_.input_rate() <= 0) return a.in();
  kernels::cpu::spatial_dropout({}, DType::kF32, dropout(a, draws_.input_rate(), draws_.of_input(mask)), a.in(), a.rows,
                                steps_, features_, buffers.factors, buffers.dropped);
  return buffers.dropped;
}

const float* RecurrentInputs::packed(const float* x, const ValidSteps& steps, const Buffers& buffers) const {
  if (steps.places() == nullptr) return x;
  kernels::cpu::gather_valid_steps(x, steps.places(), steps.positions(), features_, buffers.packed);
  kernels::cpu::fill(0, buffers.packed + steps.valid() * features_, (steps.computed() - steps.valid()) * features_);
  return buffers.packed;
}

void RecurrentInputs::forward(const OpArgs& a, const ValidSteps& steps, float* z, float* scratch) {
  const Buffers own = buffers(scratch);
  if (by_gate(a)) return forward_by_gate(a, z, own);
  InnerProduct& product = whole_.at(steps.computed());
  product.forward(packed(dropped(a, 0, own), steps, own), a.weights[0], bias_ ? a.weights[2] : nullptr, z,
                  whole_.scratch(product, own.product));
}

void RecurrentInputs::forward_by_gate(const OpArgs& a, float* z, const Buffers& own) {
  InnerProduct& product = single_.at(a.rows * steps_);
  const std::int64_t columns = gates_ * units_;
  for (std::int64_t gate = 0; gate < gates_; ++gate) {
    copy_columns({}, DType::kF32, a.weights[0] + gate * units_, columns, own.gate_kernel, units_, features_, units_);
    product.forward(dropped(a, gate, own), own.gate_kernel, bias_ ? a.weights[2] + gate * units_ : nullptr,
                    own.gate_sums, single_.scratch(product, own.product));
    copy_columns({}, DType::kF32, own.gate_sums, units_, z + gate * units_, columns, a.rows * steps_, units_);
  }
}

void RecurrentInputs::backward(const OpArgs& a, const ValidSteps& steps, float* dz, float* scratch) {
  const Buffers own = buffers(scratch);
  if (by_gate(a)) return backward_by_gate(a, dz, own);
  InnerProduct& product = whole_.at(steps.computed());
  void* const memory = whole_.scratch(product, own.product);
  const std::int64_t columns = gates_ * units_;
  kernels::cpu::fill(0, dz + steps.valid() * columns, (steps.computed() - steps.valid()) * columns);
  if (wants_weights_ && a.weight_gradients[0] != nullptr)
    product.backward_weights(packed(dropped(a, 0, own), steps, own), dz, a.weight_gradients[0],
                             bias_ ? a.weight_gradients[2] : nullptr, memory);
  if (!wants_dx_ || a.dx() == nullptr) return;
  product.backward_data(dz, a.weights[0], steps.places() == nullptr ? a.dx() : own.packed, memory);
  if (steps.places() != nullptr)
    kernels::cpu::scatter_valid_steps(own.packed, steps.places(), steps.positions(), features_, a.dx());
  if (a.training && draws_.input_rate() > 0)
    kernels::cpu::spatial_dropout({}, DType::kF32, dropout(a, draws_.input_rate(), draws_.of_input(0)), a.dx(), a.rows,
                                  steps_, features_, own.factors, a.dx());
}

void RecurrentInputs::backward_by_gate(const OpArgs& a, const float* dz, const Buffers& own) {
  InnerProduct& product = single_.at(a.rows * steps_);
  void* const memory = single_.scratch(product, own.product);
  const std::int64_t columns = gates_ * units_, positions = a.rows * steps_;
  float* const dkernel = own.gate_kernel + features_ * units_;
  for (std::int64_t gate = 0; gate < gates_; ++gate) {
    copy_columns({}, DType::kF32, dz + gate * units_, columns, own.gate_sums, units_, positions, units_);
    if (wants_weights_ && a.weight_gradients[0] != nullptr) {
      product.backward_weights(dropped(a, gate, own), own.gate_sums, dkernel,
                               bias_ ? a.weight_gradients[2] + gate * units_ : nullptr, memory);
      copy_columns({}, DType::kF32, dkernel, units_, a.weight_gradients[0] + gate * units_, columns, features_, units_);
    }
    if (!wants_dx_ || a.dx() == nullptr) continue;
    copy_columns({}, DType::kF32, a.weights[0] + gate * units_, columns, own.gate_kernel, units_, features_, units_);
    float* const part = gate == 0 ? a.dx() : own.dropped;
    product.backward_data(own.gate_sums, own.gate_kernel, part, memory);
    kernels::cpu::spatial_dropout({}, DType::kF32, dropout(a, draws_.input_rate(), draws_.of_input(gate)), part, a.rows,
                                  steps_, features_, own.factors, part);
    if (gate > 0) kernels::cpu::accumulate(part, a.dx(), positions * features_);
  }
}

void RecurrentInputs::draw_state_factors(const OpArgs& a, float* factors) const {
  kernels::cpu::fill(1.0F, factors, gates_ * a.rows * units_);
  for (std::int64_t gate = 0; gate < gates_; ++gate) {
    float* const of_gate = factors + gate * a.rows * units_;
    kernels::cpu::dropout_forward({}, DType::kF32, dropout(a, draws_.state_rate(), draws_.of_state(gate)), of_gate,
                                  a.rows, units_, of_gate);
  }
}

void RecurrentInputs::drop_state(const OpArgs& a, std::int64_t gate, const float* of, float* scratch, float* to) const {
  kernels::cpu::spatial_dropout({}, DType::kF32, dropout(a, draws_.state_rate(), draws_.of_state(gate)), of, a.rows,
                                steps_, units_, scratch, to);
}

using kernels::cpu::copy_columns;
using kernels::cpu::matrix_window;

RecurrentWeights::RecurrentWeights(const RecurrentInputs& inputs, const ValidSteps& steps, std::int64_t gates,
                                   std::int64_t rows, bool single_gates)
    : inputs_(inputs), steps_(steps), gates_(gates), rows_(rows) {
  const std::int64_t units = inputs.units(), positions = rows * inputs.steps();
  const std::int64_t grain = steps.packs() ? 1 : inputs.steps();  // positions are a multiple of this
  const auto floats = [&](std::int64_t columns) {
    return static_cast<std::int64_t>(workspace_bytes(positions / grain,
                                                     [&](std::int64_t r) {
                                                       return kernels::cpu::gemm_conv_backward_weights_workspace(
                                                           matrix_window(units, columns), r * grain, threads_);
                                                     }) /
                                     sizeof(float));
  };
  workspace_ = floats(gates * units);
  if (!single_gates && !inputs.drops_states()) return;
  kernels::cpu::WorkspaceParts memory(nullptr);
  memory.take(2 * positions * units);
  memory.take(units * units);
  memory.take(rows * units);
  memory.take(floats(units));
  workspace_ = std::max(workspace_, memory.taken());
}

void RecurrentWeights::differentiate(const OpArgs& a, const float* hidden, const float* dz, float* gradient,
                                     float* bias, float* workspace) const {
  if (!inputs_.drops_state(a))
    return kernels::cpu::gemm_conv_backward_weights(matrix_window(inputs_.units(), gates_ * inputs_.units()), hidden,
                                                    dz, steps_.valid(), workspace, gradient, bias);
  for (std::int64_t gate = 0; gate < gates_; ++gate) differentiate_gate(a, gate, hidden, dz, gradient, bias, workspace);
}

void RecurrentWeights::differentiate_gate(const OpArgs& a, std::int64_t gate, const float* hidden, const float* dz,
                                          float* gradient, float* bias, float* workspace) const {
  const std::int64_t units = inputs_.units(), positions = steps_.valid(), columns = gates_ * units;
  kernels::cpu::WorkspaceParts memory(workspace);
  float* const dropped = memory.take(2 * rows_ * inputs_.steps() * units);
  float* const of_gate = dropped + positions * units;
  float* const square = memory.take(units * units);
  float* const factors = memory.take(rows_ * units);
  float* const product = memory.take(0);
  if (inputs_.drops_state(a)) {
    inputs_.drop_state(a, gate, hidden, factors, dropped);
    hidden = dropped;
  }
  copy_columns({}, DType::kF32, dz + gate * units, columns, of_gate, units, positions, units);
  kernels::cpu::gemm_conv_backward_weights(matrix_window(units, units), hidden, of_gate, positions, product, square,
                                           bias == nullptr ? nullptr : bias + gate * units);
  copy_columns({}, DType::kF32, square, units, gradient + gate * units, columns, units, units);
}

}  // namespace dptrain::backend::cpu
