#pragma once

// Op: one plan step bound to one device. It uses plain pointers into the replica's arenas, without names, defaults or
// shape rules: the layer has checked those. An op belongs to one slot of a replica and is called from its thread only.

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "backend/parts.h"
#include "backend/stream.h"
#include "config/typed.h"
#include "core/dtype.h"
#include "kernels/step_state.h"
#include "plan/memory.h"
#include "plan/plan.h"

namespace dptrain::kernels::cpu {
struct PiecePass;
}

namespace dptrain::backend {

class Device;
class FusiblePasses;
class RowTable;

/// Arguments of an op's constructor.
struct OpContext {
  const plan::Plan& plan;
  const plan::Step& step;
  std::int64_t rows = 0;        ///< maximum of OpArgs::rows
  std::uint64_t seed = 0;       ///< the experiment's, for random layers
  std::uint32_t stream_id = 0;  ///< of the step's node in the graph: the key of its first draw, as stream()
  int replicas = 1;
  int alignment = kFullAlignment;  ///< bytes; the address of every tensor of every call is a multiple

  /// Second half of the key of a random layer's draw number `draw`.
  std::uint32_t stream(std::uint32_t draw = 0) const { return stream_id | draw << kDrawShift; }
  /// Draw numbers use the bits above the node's number; a graph has far fewer nodes.
  static constexpr std::uint32_t kDrawShift = 24;

  /// Index among the inputs of the mask of input i; nullopt: every step is valid.
  std::optional<std::size_t> mask(std::size_t i = 0) const {
    if (i >= step.masks.size() || step.masks[i] == plan::kAbsent) return std::nullopt;
    return static_cast<std::size_t>(step.masks[i]);
  }
  /// Whether backward computes the gradient of input i, and of a weight.
  bool wants_dx(std::size_t i = 0) const { return step.has_backward && step.input_gradients[i] != plan::kAbsent; }
  bool trains(std::size_t weight = 0) const { return step.has_backward && step.parameter_gradients[weight]; }
  /// Number of inputs without the masks, which follow them.
  std::size_t inputs() const { return step.masks.empty() ? step.inputs.size() : step.masks.size(); }
  Shape input(std::size_t i) const { return shape_of(step.inputs[i]); }
  Shape output(std::size_t i = 0) const { return shape_of(step.outputs[i]); }
  Shape shape_of(int tensor) const {
    return plan::shape_for_op(step, plan.tensors[static_cast<std::size_t>(tensor)].shape);
  }
};

/// One call. Pointers are device memory, valid until the call returns (CPU) or the stream has passed it (CUDA). Ops
/// overwrite their results; the plan has separate backward items for sums.
struct OpArgs {
  std::int64_t rows = 0;       ///< samples times Step::frames, 1..OpContext::rows (0 only if runs_empty())
  std::int64_t first_row = 0;  ///< index of the first sample in the global batch, times Step::frames
  std::int64_t step = 0;       ///< optimizer step, the counter of random layers
  /// Weight of the call's statistics: samples of the call / samples of the global batch * Step::statistics_weight.
  double share = 1;
  bool training = false;

  // Activations and their gradients, each of its tensor's type.
  std::span<const void* const> inputs{};  ///< forward, backward
  std::span<void* const> outputs{};       ///< forward: written; backward: as forward left them
  /// Backward only; the op may use them as scratch. Null where no loss depends on that output: the gradient is zero.
  std::span<void* const> output_gradients{};
  std::span<void* const> input_gradients{};  ///< null: not needed
  // Parameters: always float, axes in the order of Parameter::order.
  std::span<const float* const> weights{};         ///< Keras's order
  std::span<const void* const> compute_weights{};  ///< the same in the compute type (`weights` where that is float32)
  /// Null: not needed. For statistics, forward in training writes share * value.
  std::span<float* const> weight_gradients{};
  /// Tables of the weights that are tables in training; null for others. The op calls read() before it reads rows, and
  /// add() instead of writing a gradient. Empty: there are none.
  std::span<RowTable* const> tables{};
  void* packed = nullptr;  ///< written by pack(), read by other calls
  void* saved = nullptr;
  void* scratch = nullptr;
  void* first_pass_scratch = nullptr;  ///< memory of plan::Need::first_pass_scratch
  // Passes of the adjacent steps (fusible_passes.h), for an op with fused_pass_support(); null: there is none.
  const kernels::cpu::PiecePass* prologue = nullptr;
  const kernels::cpu::PiecePass* epilogue = nullptr;
  // For a FusiblePasses op.
  bool first_pass_done = false;               ///< forward: the previous op has run its first pass
  bool defers_last_pass = false;              ///< forward: the next op will run its last pass
  const kernels::StepState* state = nullptr;  ///< device memory: `step` for kernels of a recorded step
  Stream* stream = nullptr;
  Collective* collective = nullptr;  ///< the replica's, for synchronized normalization

  // Typed access to tensors.
  template <class T = float>
  const T* in(std::size_t i = 0) const {
    return static_cast<const T*>(inputs[i]);
  }
  template <class T = float>
  T* out(std::size_t i = 0) const {
    return static_cast<T*>(outputs[i]);
  }
  template <class T = float>
  T* dy(std::size_t i = 0) const {
    return static_cast<T*>(output_gradients[i]);
  }
  template <class T = float>
  T* dx(std::size_t i = 0) const {
    return static_cast<T*>(input_gradients[i]);
  }
};

class Op {
 public:
  virtual ~Op() = default;
  virtual void forward(const OpArgs& args) = 0;
  virtual void backward(const OpArgs& args) = 0;
  /// Writes all of `packed`, another layout of the weights that calls read. Called if need() has `packed` bytes, in
  /// stream order: before the first call, and before the first one after each change of the weights. `args` has the
  /// weights in both types, `packed`, `scratch` and `stream`; all else is empty.
  virtual void pack(const OpArgs& args) { static_cast<void>(args); }
  /// Valid after construction and every prepare(), all of which precede the first call.
  virtual plan::Need need() const { return {}; }
  /// Makes the primitives for this number of rows, so that calls do not allocate. Calls with other numbers of rows are
  /// allowed, and allocate.
  virtual void prepare(std::int64_t rows) { static_cast<void>(rows); }
  /// Whether it is called even if this replica has no samples, because other replicas wait in a collective.
  virtual bool runs_empty() const { return false; }
  /// Passes of the adjacent ops that forward runs piece by piece (fusible_passes.h): OpArgs::prologue writes its first
  /// input, OpArgs::epilogue reads its output.
  struct FusedPassSupport {
    bool prologue = false, epilogue = false;
  };
  virtual FusedPassSupport fused_pass_support() const { return {}; }
  /// Null: no other op runs its passes.
  virtual FusiblePasses* fusible_passes() { return nullptr; }
  /// The implementation of each pass for `summary --plan`: "forward dnnl jit:avx512 direct; data ...; weights ...".
  /// Empty: nothing to report.
  virtual std::string implementation() const { return ""; }
  /// Multiply-adds times two of one sample, {forward, backward}; 0 where it is only memory traffic. For `bench
  /// --layers`.
  virtual std::pair<double, double> flops_per_sample() const { return {0, 0}; }
};

/// Arguments of a loss's constructor. The loss of one output runs after forward and after metrics that read the
/// predictions.
struct LossContext {
  const plan::Plan& plan;
  const plan::LossStep& loss;  ///< part of `plan`
  std::int64_t rows = 0;

  /// Shape of one sample of the predictions.
  const Shape& prediction() const { return plan.tensors[static_cast<std::size_t>(loss.prediction)].shape; }
};
struct LossArgs {
  std::int64_t rows = 0;
  const void* prediction = nullptr;       ///< [rows, width...], of the plan's compute type
  const void* labels = nullptr;           ///< int32 [rows, positions] or float [rows, width]: LossStep::labels
  const float* sample_weights = nullptr;  ///< [rows]: factors of a sample's loss and gradient; null: all are 1
  void* gradient = nullptr;   ///< d loss / d prediction times gradient_scale, of the compute type; null in evaluation
  double gradient_scale = 1;  ///< LossStep::weight / samples of the global batch
  const std::uint8_t* mask = nullptr;  ///< [rows, positions]: 1 counts, 0 does not; null: all count. For masked losses
  /// Device memory, with a gradient and if the loss averages_valid(): samples of the global batch / their weight
  /// (plan::weight_of), another factor of the gradient.
  const float* mask_scale = nullptr;
  const kernels::LossScale* loss_scale = nullptr;  ///< device memory: another factor of the gradient; null: none
  bool weighted = false;                           ///< by the plan's class weights, where it has any: in training
  double* sums = nullptr;  ///< added to: [0] the loss summed over samples; then the metric states of a MeasuredLoss
  /// Written if computes_hits(): whether the first largest prediction of each row is the right class, as
  /// MetricArgs::hits. Null: not needed.
  void* hits = nullptr;
  void* scratch = nullptr;
  Stream* stream = nullptr;
};
class LossOp {
 public:
  virtual ~LossOp() = default;
  virtual void run(const LossArgs& args) = 0;
  virtual plan::Need need() const { return {}; }
  /// Whether its pass over the rows also finds the largest predictions, and can write LossArgs::hits.
  virtual bool computes_hits() const { return false; }
};

}  // namespace dptrain::backend
