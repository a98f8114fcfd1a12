// LSTM, GRU, SimpleRNN, Bidirectional and ConvLSTM2D.

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "backend/bidirectional.h"
#include "backend/conv_lstm2d.h"
#include "backend/cpu/cpu_device.h"
#include "backend/cpu/recurrent_inputs.h"
#include "kernels/cpu/dropout.h"
#include "kernels/cpu/elementwise.h"
#include "kernels/cpu/lstm_gates.h"
#include "kernels/cpu/recurrent.h"
#include "nn/recurrent.h"

namespace dptrain::backend::cpu {
namespace {

/// A recurrent op, split into parts; the result of a part is valid until the next one. Forward: one product of the
/// inputs of all steps, then step by step (kernels/cpu/recurrent.h). Packed: the recurrent kernel, for forward and for
/// backward.
class RecurrentPasses : public Op {
 public:
  void forward(const OpArgs& a) final {
    const kernels::cpu::RecurrentWork steps = begin_forward(a);
    kernels::cpu::run_recurrent({&steps, 1}, workspace(a));
  }
  void backward(const OpArgs& a) final {
    const kernels::cpu::RecurrentWork steps = begin_backward(a);
    kernels::cpu::run_recurrent({&steps, 1}, workspace(a));
    end_backward(a);
  }

  /// Does the work before the steps, and returns the steps.
  virtual kernels::cpu::RecurrentWork begin_forward(const OpArgs& a) = 0;
  virtual kernels::cpu::RecurrentWork begin_backward(const OpArgs& a) = 0;
  /// Does the work after the steps: gradients of weights and inputs.
  virtual void end_backward(const OpArgs& a) = 0;
  /// Workspace of the steps.
  virtual float* workspace(const OpArgs& a) const = 0;
};

/// `Spec` derives from nn::RecurrentSpec; `Cell` derives from this and defines what it saves:
///   SavedTensors allocate_saved(kernels::cpu::WorkspaceParts&, bool for_backward) const;
///   std::int64_t more_floats() const;   the cell's own scratch
template <class Cell, class Spec>
class RecurrentOp : public RecurrentPasses {
 public:
  plan::Need need() const override {
    kernels::cpu::WorkspaceParts saved(nullptr), scratch(nullptr);
    if (has_backward_) cell().allocate_saved(saved, true);
    cell().allocate_saved(scratch, false);
    allocate_scratch(scratch);
    return {.saved = bytes(saved), .scratch = bytes(scratch), .packed = packed_in(nullptr).bytes};
  }
  void prepare(std::int64_t rows) override { inputs_.prepare(rows, valid_); }
  std::string implementation() const override { return "inputs: " + implementation_; }
  std::pair<double, double> flops_per_sample() const override {
    const double inputs = inputs_.flops(), state = recurrent_.flops();
    return {inputs + state, inputs * (int{inputs_.wants_dx()} + int{inputs_.wants_weights()}) +
                                state * (1 + int{inputs_.wants_weights()})};
  }
  void pack(const OpArgs& a) override {
    const Packed packed = packed_in(a.packed);
    kernels::cpu::pack_recurrent_kernel(a.weights[1], spec_.units, gates_, false, packed.forward);
    if (has_backward_) kernels::cpu::pack_recurrent_kernel(a.weights[1], spec_.units, gates_, true, packed.backward);
  }

 protected:
  /// single_gates: as in RecurrentWeights. scratch: floats of workspace for a piece of the steps.
  RecurrentOp(const Spec& spec, std::int64_t gates, std::int64_t scratch, const OpContext& context, Device& device,
              bool single_gates = false)
      : spec_(spec),
        rows_(context.rows),
        gates_(gates),
        scratch_(scratch),
        has_backward_(context.step.has_backward),
        has_states_(context.inputs() > 1),
        inputs_(spec, gates, context, static_cast<CpuDevice&>(device)),
        valid_(rows_, inputs_.steps(), context.mask().has_value(), !inputs_.drops_states()),
        recurrent_(inputs_, valid_, gates, rows_, single_gates),
        mask_(context.mask()) {
    inputs_.prepare(rows_, valid_);
    implementation_ = inputs_.name();
  }

  float* workspace(const OpArgs& a) const override { return places(a, false).second.workspace; }

  std::int64_t more_floats() const { return 0; }
  struct Scratch {
    float *inputs, *factors, *more, *valid, *workspace;
  };
  /// Tensors of allocate_saved(), in saved memory if for_backward, else in scratch; and the rest of scratch.
  auto places(const OpArgs& a, bool for_backward) const {
    kernels::cpu::WorkspaceParts saved(static_cast<float*>(a.saved)), scratch(static_cast<float*>(a.scratch));
    const auto passing = cell().allocate_saved(scratch, false);
    return std::pair(for_backward ? cell().allocate_saved(saved, true) : passing, allocate_scratch(scratch));
  }
  auto places_of_forward(const OpArgs& a) const { return places(a, has_backward_ && a.training); }

  /// Calls prepare_backward() and computes the sums of the inputs.
  void begin(const OpArgs& a, float* sums, const Scratch& own) {
    prepare_backward(a, own);
    inputs_.forward(a, valid_, sums, own.inputs);
  }
  /// Finds the valid steps, and draws the factors of the state's dropout.
  void prepare_backward(const OpArgs& a, const Scratch& own) {
    valid_.find(mask_of(a), a.rows, own.valid);
    if (inputs_.drops_state(a)) inputs_.draw_state_factors(a, own.factors);
  }
  bool wants_recurrent_weights(const OpArgs& a) const {
    return inputs_.wants_weights() && a.weight_gradients[1] != nullptr;
  }

  struct Packed {
    float *forward, *backward;
    std::uint64_t bytes;
  };
  Packed packed_in(void* memory) const {
    kernels::cpu::WorkspaceParts parts(static_cast<float*>(memory));
    const std::int64_t floats = kernels::cpu::packed_recurrent_kernel(spec_.units, gates_);
    Packed packed{};
    packed.forward = parts.take(floats);
    packed.backward = parts.take(has_backward_ ? floats : 0);
    packed.bytes = bytes(parts);
    return packed;
  }
  /// `factors`: of the state's dropout; read only if the call drops states.
  kernels::cpu::RecurrentSteps steps_of(const OpArgs& a, const float* factors) const {
    kernels::cpu::RecurrentSteps steps{.rows = a.rows,
                                       .steps = inputs_.steps(),
                                       .units = spec_.units,
                                       .backwards = spec_.go_backwards,
                                       .mask = mask_of(a),
                                       .order = valid_.order(),
                                       .places = valid_.places(),
                                       .state_factors = inputs_.drops_state(a) ? factors : nullptr,
                                       .activation = spec_.activation,
                                       .sequences = spec_.return_sequences};
    if constexpr (requires { spec_.recurrent_activation; }) steps.recurrent_activation = spec_.recurrent_activation;
    return steps;
  }
  /// Numbers of one state in all steps.
  std::int64_t all_states() const { return rows_ * inputs_.steps() * spec_.units; }

  const Spec spec_;
  const std::int64_t rows_, gates_, scratch_;
  const bool has_backward_;
  const bool has_states_;  ///< the initial state is an input
  RecurrentInputs inputs_;
  ValidSteps valid_;
  RecurrentWeights recurrent_;

 private:
  const std::uint8_t* mask_of(const OpArgs& a) const { return mask_ ? a.in<std::uint8_t>(*mask_) : nullptr; }
  const Cell& cell() const { return static_cast<const Cell&>(*this); }
  static std::uint64_t bytes(const kernels::cpu::WorkspaceParts& parts) {
    return static_cast<std::uint64_t>(parts.taken()) * sizeof(float);
  }
  Scratch allocate_scratch(kernels::cpu::WorkspaceParts& parts) const {
    Scratch own{};
    own.inputs = parts.take(inputs_.scratch());
    own.factors = parts.take(spec_.recurrent_dropout > 0 ? gates_ * rows_ * spec_.units : 0);
    own.more = parts.take(cell().more_floats());
    own.valid = parts.take(valid_.scratch());
    // Workspace of the steps, and after them of the recurrent kernel's gradient.
    own.workspace = parts.take(
        std::max(kernels::cpu::recurrent_workspace(scratch_, kernels::cpu::thread_count()), recurrent_.workspace()));
    return own;
  }

  std::optional<std::size_t> mask_;
  std::string implementation_;
};

constexpr std::int64_t kGates = 4;

/// Saved for backward: the kernel's saved tensors and the initial c.
class LSTMOp final : public RecurrentOp<LSTMOp, nn::LSTMSpec> {
 public:
  LSTMOp(const nn::LSTMSpec& spec, const OpContext& context, Device& device)
      : RecurrentOp(spec, kGates, kernels::cpu::lstm_scratch(spec.units), context, device) {}

  kernels::cpu::RecurrentWork begin_forward(const OpArgs& a) override {
    const auto [saved, own] = places_of_forward(a);
    begin(a, saved.steps.gates, own);
    if (saved.c0 != nullptr) kernels::cpu::copy({}, DType::kF32, a.in(2), saved.c0, a.rows * spec_.units);
    const bool states = spec_.return_state;
    forward_ = {.steps = steps_of(a, own.factors),
                .kernel = packed_in(a.packed).forward,
                .h0 = has_states_ ? a.in(1) : nullptr,
                .c0 = has_states_ ? a.in(2) : nullptr,
                .saved = saved.steps,
                .y = a.out(),
                .h = states ? a.out(1) : nullptr,
                .c = states ? a.out(2) : nullptr};
    return kernels::cpu::lstm_work(forward_);
  }

  kernels::cpu::RecurrentWork begin_backward(const OpArgs& a) override {
    const auto [saved, own] = places(a, true);
    prepare_backward(a, own);
    const bool states = spec_.return_state;
    backward_ = {.steps = steps_of(a, own.factors),
                 .kernel = packed_in(a.packed).backward,
                 .c0 = saved.c0,
                 .saved = saved.steps,
                 .y = a.dy(),
                 .h = states ? a.dy(1) : nullptr,
                 .c = states ? a.dy(2) : nullptr,
                 .dh0 = has_states_ ? a.dx(1) : nullptr,
                 .dc0 = has_states_ ? a.dx(2) : nullptr};
    return kernels::cpu::lstm_work(backward_);
  }

  void end_backward(const OpArgs& a) override {
    const auto [saved, own] = places(a, true);
    if (wants_recurrent_weights(a))
      recurrent_.differentiate(a, saved.steps.hidden, saved.steps.gates, a.weight_gradients[1], nullptr, own.workspace);
    inputs_.backward(a, valid_, saved.steps.gates, own.inputs);
  }

  struct SavedTensors {
    kernels::cpu::LstmSaved steps;
    float* c0;  ///< null: zeros, or not saved
  };
  SavedTensors allocate_saved(kernels::cpu::WorkspaceParts& parts, bool for_backward) const {
    SavedTensors saved{};
    saved.steps.gates = parts.take(kGates * all_states());
    if (!for_backward) return saved;
    saved.steps.hidden = parts.take(all_states());
    saved.steps.cell = parts.take(all_states());
    saved.steps.squashed = parts.take(all_states());
    if (has_states_) saved.c0 = parts.take(rows_ * spec_.units);
    return saved;
  }

 private:
  kernels::cpu::LstmForward forward_{};
  kernels::cpu::LstmBackward backward_{};
};

constexpr std::int64_t kGruBlocks = 3;

/// As LSTMOp. With reset_after the sums of inputs and of states have gradients of their own, those of states in
/// scratch.
class GRUOp final : public RecurrentOp<GRUOp, nn::GRUSpec> {
 public:
  GRUOp(const nn::GRUSpec& spec, const OpContext& context, Device& device)
      : RecurrentOp(spec, kGruBlocks, kernels::cpu::gru_scratch(spec.units), context, device, !spec.reset_after) {}

  kernels::cpu::RecurrentWork begin_forward(const OpArgs& a) override {
    const auto [saved, own] = places_of_forward(a);
    begin(a, saved.gates, own);
    forward_ = {.steps = steps_of(a, own.factors),
                .reset_after = spec_.reset_after,
                .kernel = packed_in(a.packed).forward,
                .bias = has_state_bias() ? a.weights[2] + kGruBlocks * spec_.units : nullptr,
                .h0 = has_states_ ? a.in(1) : nullptr,
                .saved = saved,
                .y = a.out(),
                .h = spec_.return_state ? a.out(1) : nullptr};
    return kernels::cpu::gru_work(forward_);
  }

  kernels::cpu::RecurrentWork begin_backward(const OpArgs& a) override {
    const auto [saved, own] = places(a, true);
    prepare_backward(a, own);
    backward_ = {.steps = steps_of(a, own.factors),
                 .reset_after = spec_.reset_after,
                 .kernel = packed_in(a.packed).backward,
                 .saved = saved,
                 .y = a.dy(),
                 .h = spec_.return_state ? a.dy(1) : nullptr,
                 .dh0 = has_states_ ? a.dx(1) : nullptr,
                 .recurrent = own.more};
    return kernels::cpu::gru_work(backward_);
  }

  void end_backward(const OpArgs& a) override {
    const auto [saved, own] = places(a, true);
    if (wants_recurrent_weights(a)) differentiate_weights(a, saved, own);
    inputs_.backward(a, valid_, saved.gates, own.inputs);
  }

  kernels::cpu::GruSaved allocate_saved(kernels::cpu::WorkspaceParts& parts, bool for_backward) const {
    kernels::cpu::GruSaved saved{.gates = parts.take(kGruBlocks * all_states())};
    if (!for_backward) return saved;
    saved.hidden = parts.take(all_states());
    saved.inner = parts.take(all_states());
    return saved;
  }
  /// Scratch for the gradients of the states' sums.
  std::int64_t more_floats() const { return has_backward_ && spec_.reset_after ? kGruBlocks * all_states() : 0; }

 private:
  void differentiate_weights(const OpArgs& a, const kernels::cpu::GruSaved& saved, const Scratch& own) const {
    if (spec_.reset_after) {
      float* const bias = has_state_bias() ? a.weight_gradients[2] + kGruBlocks * spec_.units : nullptr;
      return recurrent_.differentiate(a, saved.hidden, own.more, a.weight_gradients[1], bias, own.workspace);
    }
    recurrent_.differentiate(a, saved.hidden, saved.gates, a.weight_gradients[1], nullptr, own.workspace);
    recurrent_.differentiate_gate(a, 2, saved.inner, saved.gates, a.weight_gradients[1], nullptr, own.workspace);
  }

  bool has_state_bias() const { return spec_.reset_after && spec_.use_bias; }

  kernels::cpu::GruForward forward_{};
  kernels::cpu::GruBackward backward_{};
};

class SimpleRNNOp final : public RecurrentOp<SimpleRNNOp, nn::SimpleRNNSpec> {
 public:
  SimpleRNNOp(const nn::SimpleRNNSpec& spec, const OpContext& context, Device& device)
      : RecurrentOp(spec, 1, kernels::cpu::simple_rnn_scratch(spec.units), context, device) {}

  kernels::cpu::RecurrentWork begin_forward(const OpArgs& a) override {
    const auto [saved, own] = places_of_forward(a);
    begin(a, saved.sums, own);
    forward_ = {.steps = steps_of(a, own.factors),
                .kernel = packed_in(a.packed).forward,
                .h0 = has_states_ ? a.in(1) : nullptr,
                .saved = saved,
                .y = a.out(),
                .h = spec_.return_state ? a.out(1) : nullptr};
    return kernels::cpu::simple_rnn_work(forward_);
  }

  kernels::cpu::RecurrentWork begin_backward(const OpArgs& a) override {
    const auto [saved, own] = places(a, true);
    prepare_backward(a, own);
    backward_ = {.steps = steps_of(a, own.factors),
                 .kernel = packed_in(a.packed).backward,
                 .saved = saved,
                 .y = a.dy(),
                 .h = spec_.return_state ? a.dy(1) : nullptr,
                 .dh0 = has_states_ ? a.dx(1) : nullptr};
    return kernels::cpu::simple_rnn_work(backward_);
  }

  void end_backward(const OpArgs& a) override {
    const auto [saved, own] = places(a, true);
    if (wants_recurrent_weights(a))
      recurrent_.differentiate(a, saved.hidden, saved.sums, a.weight_gradients[1], nullptr, own.workspace);
    inputs_.backward(a, valid_, saved.sums, own.inputs);
  }

  kernels::cpu::SimpleRnnSaved allocate_saved(kernels::cpu::WorkspaceParts& parts, bool for_backward) const {
    kernels::cpu::SimpleRnnSaved saved{.sums = parts.take(all_states())};
    if (for_backward) saved.hidden = parts.take(all_states());
    return saved;
  }

 private:
  kernels::cpu::SimpleRnnForward forward_{};
  kernels::cpu::SimpleRnnBackward backward_{};
};

/// The steps of both directions are shared among the threads together. Both use the first op's workspace.
class CpuBidirectionalOp final : public BidirectionalOp {
 public:
  CpuBidirectionalOp(const nn::BidirectionalSpec& spec, const OpContext& context, Device& device)
      : BidirectionalOp(spec, context, device), passes_{&passes_of(op(0)), &passes_of(op(1))} {}

 protected:
  void run_forward(const Both& both) override {
    const std::array works{passes_[0]->begin_forward(both[0]), passes_[1]->begin_forward(both[1])};
    kernels::cpu::run_recurrent(works, passes_[0]->workspace(both[0]));
  }
  void run_backward(const Both& both) override {
    const std::array works{passes_[0]->begin_backward(both[0]), passes_[1]->begin_backward(both[1])};
    kernels::cpu::run_recurrent(works, passes_[0]->workspace(both[0]));
    for (std::size_t direction = 0; direction < both.size(); ++direction)
      passes_[direction]->end_backward(both[direction]);
  }
  void merge(const OpArgs&, const kernels::DirectionShape& shape, const void* forward, const void* backward,
             void* y) override {
    kernels::cpu::merge_directions(shape, floats(forward), floats(backward), floats(y));
  }
  void split(const OpArgs&, const kernels::DirectionShape& shape, const void* dy, const void* forward,
             const void* backward, void* d_forward, void* d_backward) override {
    kernels::cpu::split_directions(shape, floats(dy), floats(forward), floats(backward), floats(d_forward),
                                   floats(d_backward));
  }
  void add(const OpArgs&, const void* x, void* y, std::int64_t n) override {
    kernels::cpu::accumulate(floats(x), floats(y), n);
  }

 private:
  static RecurrentPasses& passes_of(Op& op) { return static_cast<RecurrentPasses&>(op); }
  static const float* floats(const void* x) { return static_cast<const float*>(x); }
  static float* floats(void* x) { return static_cast<float*>(x); }

  std::array<RecurrentPasses*, 2> passes_;
};

class CpuConvLSTM2DOp final : public ConvLSTM2DOp {
 public:
  CpuConvLSTM2DOp(const nn::ConvLSTM2DSpec& spec, const OpContext& context, Device& device)
      : ConvLSTM2DOp(spec, context, device) {}

 protected:
  void step_forward(const OpArgs&, const Step& step) override {
    kernels::cpu::lstm_gates_forward(gates_of(step.pixels), {.gates = of(step.gates),
                                                             .products = of(step.products),
                                                             .h = of(step.h),
                                                             .c = step.c,
                                                             .cell = step.cell,
                                                             .squashed = step.squashed,
                                                             .y = of(step.y)});
  }
  void step_backward(const OpArgs&, const StepBack& step) override {
    kernels::cpu::lstm_gates_backward(gates_of(step.pixels), {.gates = of(step.gates),
                                                              .before = step.before,
                                                              .squashed = step.squashed,
                                                              .dy = of(step.dy),
                                                              .dh = step.dh,
                                                              .dc = step.dc});
  }
  void by_step(const OpArgs&, const kernels::FramesShape& shape, const void* from, void* to) override {
    kernels::cpu::frames_by_step(shape, of(from), of(to));
  }
  void by_row(const OpArgs&, const kernels::FramesShape& shape, const void* from, void* to) override {
    kernels::cpu::frames_by_row(shape, of(from), of(to));
  }
  void drop(const OpArgs& a, const Draw& draw, const void* x, std::int64_t positions, std::int64_t width,
            float* factors, void* y) override {
    const kernels::cpu::Dropout dropout{.rate = draw.rate,
                                        .seed = seed_,
                                        .layer = draw.stream,
                                        .step = static_cast<std::uint64_t>(a.step),
                                        .first_row = a.first_row};
    kernels::cpu::spatial_dropout({}, DType::kF32, dropout, of(x), a.rows, positions, width, factors, of(y));
  }
  void copy(const OpArgs&, const void* x, void* y, std::int64_t n) override {
    kernels::cpu::copy({}, DType::kF32, of(x), of(y), n);
  }

 private:
  kernels::cpu::LstmGates gates_of(std::int64_t pixels) const {
    return {pixels, spec_.units, spec_.activation, spec_.recurrent_activation};
  }
  static const float* of(const void* x) { return static_cast<const float*>(x); }
  static float* of(void* x) { return static_cast<float*>(x); }
};

const RegisteredOp kCpuLSTM = op<nn::LSTMSpec, LSTMOp>(DeviceKind::kCpu);
const RegisteredOp kCpuGRU = op<nn::GRUSpec, GRUOp>(DeviceKind::kCpu);
const RegisteredOp kCpuSimpleRNN = op<nn::SimpleRNNSpec, SimpleRNNOp>(DeviceKind::kCpu);
const RegisteredOp kCpuBidirectional = op<nn::BidirectionalSpec, CpuBidirectionalOp>(DeviceKind::kCpu);
const RegisteredOp kCpuConvLSTM2D = op<nn::ConvLSTM2DSpec, CpuConvLSTM2DOp>(DeviceKind::kCpu);

}  // namespace
}  // namespace dptrain::backend::cpu
