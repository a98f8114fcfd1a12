#include "backend/gpu/recurrent_op.h"

#include <algorithm>

#include "kernels/cuda/bias.h"
#include "kernels/cuda/elementwise.h"

namespace dptrain::backend::DPTRAIN_BACKEND {

/// Per gate, sums, kernels and biases start at multiples of a gate's columns.
ConvSets RecurrentOp::products(std::int64_t in, std::int64_t sums, std::int64_t rows, bool bias,
                               const gpu::ConvPasses& passes) {
  gpu::ConvProblem problem = product_problem(in, sums, rows, type_, bias);
  if (sums != gates_ * units_) problem.alignment = alignment_of(sums, type_);
  return product_sets(device_, problem, passes);
}

RecurrentOp::Sets::Sets(RecurrentOp& op, std::int64_t sums)
    : columns(sums),
      inputs(op.products(op.features_, sums, op.steps_, op.spec_.use_bias,
                         {.forward = true, .data = op.wants_dx_, .weights = op.wants_weights_})),
      state(op.products(op.units_, sums, 1, false, {.forward = true, .data = op.has_backward_})),
      weights(op.products(op.units_, sums, op.steps_, false, {.forward = false, .weights = op.wants_weights_})) {}

void RecurrentOp::Sets::prepare(std::int64_t rows) {
  inputs.prepare(rows);
  state.prepare(rows);
  if (weights.passes().weights) weights.prepare(rows);
}

std::uint64_t RecurrentOp::Sets::planned() const {
  return std::max({inputs.planned(), state.planned(), weights.planned()});
}

RecurrentOp::RecurrentOp(const nn::RecurrentSpec& spec, std::int64_t gates, const OpContext& context, Device& device,
                         bool single_gates)
    : GpuOp(context, device),
      spec_(spec),
      draws_(spec, gates, context),
      rows_(context.rows),
      steps_(context.input(0)[0]),
      features_(context.input(0)[1]),
      gates_(gates),
      units_(spec.units),
      single_gates_(single_gates),
      has_backward_(context.step.has_backward),
      has_states_(context.inputs() > 1),
      wants_dx_(context.wants_dx()),
      wants_weights_(context.trains()),
      mask_(context.mask()),
      seed_(static_cast<std::uint32_t>(context.seed ^ context.seed >> 32)),
      whole_(*this, gates * spec.units),
      single_(*this, spec.units) {}

void RecurrentOp::prepare(std::int64_t rows) {
  whole_.prepare(rows);
  if (single_gates_ || draws_.state_rate() > 0) single_.prepare(rows);
}

std::pair<double, double> RecurrentOp::flops_per_sample() const {
  const double inputs = flops(whole_.inputs.sample()),
               state = flops(whole_.state.sample()) * static_cast<double>(steps_);
  return {inputs + state, inputs * (int{wants_dx_} + int{wants_weights_}) + state * (1 + int{wants_weights_})};
}

RecurrentOp::CallScratch RecurrentOp::allocate_scratch(Parts& parts) const {
  const bool drops_inputs = draws_.input_rate() > 0, drops_state = draws_.state_rate() > 0;
  const std::int64_t positions = rows_ * steps_, sums = gates_ * states(rows_);
  CallScratch scratch{};
  scratch.dropped = parts.take(drops_inputs || drops_state || single_gates_ ? positions * features_ : 0, type_);
  scratch.factors = parts.take(drops_state ? sums : 0, type_);
  scratch.operands = parts.take(drops_state ? sums : 0, type_);
  scratch.hidden = parts.take(drops_state ? positions * units_ : 0, type_);
  scratch.products = parts.take(sums, type_);
  scratch.dz = parts.take(has_backward_ ? sums : 0, type_);
  scratch.h = parts.take(states(rows_), type_);
  scratch.c = parts.floats(states(rows_));
  scratch.dh = parts.floats(states(rows_));
  scratch.dc = parts.floats(states(rows_));
  scratch.begins = reinterpret_cast<std::int32_t*>(parts.take(mask_ ? rows_ : 0, DType::kI32));
  scratch.bias = parts.floats(spec_.use_bias && wants_weights_
                                  ? std::max(kernel::bias_gradient_workspace(positions, gates_ * units_),
                                             kernel::bias_gradient_workspace(positions, units_))
                                  : 0);
  scratch.convolution = parts.take(std::max(whole_.planned(), single_.planned()));
  return scratch;
}

kernel::RecurrentSteps RecurrentOp::begin(const OpArgs& a, const CallScratch& scratch) const {
  kernel::RecurrentSteps steps{.rows = a.rows,
                               .steps = steps_,
                               .units = units_,
                               .gates = gates_,
                               .backwards = spec_.go_backwards,
                               .by_gate = by_gate(a),
                               .sequences = spec_.return_sequences,
                               .mask = mask_ ? a.in<std::uint8_t>(*mask_) : nullptr,
                               .begins = nullptr,
                               .activation = spec_.activation};
  if (!mask_) return steps;
  kernel::find_begins(at(a), steps, scratch.begins);
  steps.begins = scratch.begins;
  return steps;
}

void RecurrentOp::set_state(const OpArgs& a, const void* from, void* h) const {
  if (from != nullptr) return kernel::copy(at(a), type_, from, h, states(a.rows));
  const auto bytes = static_cast<std::int64_t>(size_of(type_)) * states(a.rows);  // h extends to a whole float
  device_.fill(static_cast<float*>(h), (bytes + 3) / 4, 0, *a.stream);
}

void RecurrentOp::set_float_state(const OpArgs& a, const void* from, float* c) const {
  if (from == nullptr) return device_.fill(c, states(a.rows), 0, *a.stream);
  device_.to_float(from, type_, c, states(a.rows), *a.stream);
}

kernel::Dropout RecurrentOp::dropout(const OpArgs& a, float rate, std::uint32_t stream) const {
  return {.rate = rate, .seed = seed_, .layer = stream, .first_row = a.first_row};
}

void RecurrentOp::draw_factors(const OpArgs& a, const CallScratch& scratch) const {
  if (!drops_state(a)) return;
  device_.fill(scratch.dc, states(a.rows), 1, *a.stream);
  for (std::int64_t gate = 0; gate < gates_; ++gate) {
    void* const factors = elements(scratch.factors, gate * states(a.rows));
    device_.from_float(scratch.dc, factors, type_, states(a.rows), *a.stream);
    kernel::dropout_forward(at(a), type_, dropout(a, draws_.state_rate(), draws_.of_state(gate)), a.state, factors,
                            a.rows, units_, factors);
  }
}

const void* RecurrentOp::dropped_input(const OpArgs& a, const CallScratch& scratch, std::int64_t part) const {
  if (!drops_inputs(a)) return a.inputs[0];
  kernel::spatial_dropout(at(a), type_, dropout(a, draws_.input_rate(), input_draw(part)), a.state, a.inputs[0], a.rows,
                          steps_, features_, scratch.dropped);
  return scratch.dropped;
}

void RecurrentOp::multiply_inputs(const OpArgs& a, const CallScratch& scratch, void* z) {
  Sets& sets = sets_of(a);
  const ConvSets::Call call = sets.inputs.call(a.rows, scratch.convolution);
  for (std::int64_t part = 0; part < parts_of(a); ++part)
    call.convolution.forward(dropped_input(a, scratch, part),
                             elements(a.compute_weights[0], part * sets.columns * features_),
                             spec_.use_bias ? elements(a.compute_weights[2], part * sets.columns) : nullptr,
                             elements(z, part * a.rows * steps_ * sets.columns), call.workspace, a.stream->native());
}

void RecurrentOp::multiply_state(const OpArgs& a, const kernel::RecurrentSteps& steps, const CallScratch& scratch) {
  if (drops_state(a)) kernel::drop_state(at(a), type_, steps, scratch.h, scratch.factors, scratch.operands);
  for (std::int64_t part = 0; part < parts_of(a); ++part)
    multiply_part(a, part, drops_state(a) ? elements(scratch.operands, part * states(a.rows)) : scratch.h, scratch,
                  elements(scratch.products, part * a.rows * sets_of(a).columns));
}

void RecurrentOp::multiply_part(const OpArgs& a, std::int64_t part, const void* h, const CallScratch& scratch,
                                void* to) {
  Sets& sets = sets_of(a);
  const ConvSets::Call call = sets.state.call(a.rows, scratch.convolution);
  call.convolution.forward(h, elements(a.compute_weights[1], part * sets.columns * units_), nullptr, to, call.workspace,
                           a.stream->native());
}

void RecurrentOp::multiply_back(const OpArgs& a, const kernel::RecurrentSteps& steps, std::int64_t s, bool add,
                                const CallScratch& scratch) {
  for (std::int64_t part = 0; part < parts_of(a); ++part)
    multiply_part_back(a, part, elements(scratch.dz, part * a.rows * sets_of(a).columns), scratch,
                       elements(scratch.products, part * states(a.rows)));
  kernel::collect_state_gradient(at(a), type_, steps, s, scratch.products, factors_of(a, scratch, 0), add, scratch.dh);
}

void RecurrentOp::multiply_part_back(const OpArgs& a, std::int64_t part, const void* dz, const CallScratch& scratch,
                                     void* to) {
  Sets& sets = sets_of(a);
  const ConvSets::Call call = sets.state.call(a.rows, scratch.convolution);
  call.convolution.backward_data(dz, elements(a.compute_weights[1], part * sets.columns * units_), to, call.workspace,
                                 a.stream->native());
}

void RecurrentOp::differentiate_inputs(const OpArgs& a, const CallScratch& scratch, const void* dz) {
  Sets& sets = sets_of(a);
  const ConvSets::Call call = sets.inputs.call(a.rows, scratch.convolution);
  const std::int64_t positions = a.rows * steps_;
  for (std::int64_t part = 0; part < parts_of(a); ++part) {
    const void* const of_part = elements(dz, part * positions * sets.columns);
    const std::int64_t filter = part * sets.columns * features_;
    if (wants_weights_ && a.weight_gradients[0] != nullptr) {
      call.differentiate_filter(at(a), dropped_input(a, scratch, part), of_part, a.weight_gradients[0] + filter);
      if (spec_.use_bias)
        kernel::bias_gradient(at(a), type_, of_part, positions, sets.columns, scratch.bias,
                              a.weight_gradients[2] + part * sets.columns);
    }
    if (!wants_dx_ || a.input_gradients[0] == nullptr) continue;
    void* const dx = part == 0 ? a.input_gradients[0] : scratch.dropped;
    call.convolution.backward_data(of_part, elements(a.compute_weights[0], filter), dx, call.workspace,
                                   a.stream->native());
    if (drops_inputs(a))
      kernel::spatial_dropout(at(a), type_, dropout(a, draws_.input_rate(), input_draw(part)), a.state, dx, a.rows,
                              steps_, features_, dx);
    if (part > 0) kernel::accumulate(at(a), type_, dx, a.input_gradients[0], positions * features_);
  }
}

void RecurrentOp::differentiate_state(const OpArgs& a, const CallScratch& scratch, const void* hidden, const void* dz) {
  for (std::int64_t part = 0; part < parts_of(a); ++part)
    differentiate_state_part(a, scratch, part, hidden, elements(dz, part * a.rows * steps_ * sets_of(a).columns));
}

void RecurrentOp::differentiate_state_part(const OpArgs& a, const CallScratch& scratch, std::int64_t part,
                                           const void* hidden, const void* dz) {
  if (!wants_weights_ || a.weight_gradients[1] == nullptr) return;
  Sets& sets = sets_of(a);
  if (drops_state(a))
    kernel::spatial_dropout(at(a), type_, dropout(a, draws_.state_rate(), draws_.of_state(part)), a.state, hidden,
                            a.rows, steps_, units_, scratch.hidden);
  sets.weights.call(a.rows, scratch.convolution)
      .differentiate_filter(at(a), drops_state(a) ? scratch.hidden : hidden, dz,
                            a.weight_gradients[1] + part * sets.columns * units_);
}

void RecurrentOp::write_state_gradient(const OpArgs& a, std::size_t input, const float* gradient) const {
  if (has_states_ && a.input_gradients[input] != nullptr)
    device_.from_float(gradient, a.input_gradients[input], type_, states(a.rows), *a.stream);
}

}  // namespace dptrain::backend::DPTRAIN_BACKEND
