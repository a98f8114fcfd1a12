#pragma once

// The plan: what every replica executes, step by step, computed once on the host from the Model. Pure data, the same
// for every replica, printable (`dptrain summary --plan`), testable without a device. Read-only after make_plan: any
// thread.
//
// A replica has one device, or several: slots, the first of which is its home. Every step has a slot and every tensor
// lies in one; what a step reads from another slot is copied to its own by a step that does only that, and gradients go
// back the same way (slots.cpp, backward.cpp). The parameter arenas lie at home.
//
// Tensors are [rows, shape...] of their own type: the compute type, int32 ids, masks of bytes; rows being the samples
// of one micro-batch of one replica. Parameters lie in one flat arena of floats (on the host and on every device
// alike), in this order:
//   [0, trainable_end)                trainable weights, in the order in which their gradients become ready in backward
//   [trainable_end, statistics_end)   moving statistics of normalisation layers
//   [statistics_end, tables_end())    trainable tables whose gradients are rows (backend/row_table.h)
//   [tables_end(), total)             frozen weights
// The gradient arena covers [0, statistics_end): the "gradient" of a statistic is its value over the batch times the
// replica's share of the global batch, so that the all-reduce that sums gradients also averages statistics, weighted by
// samples.

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "config/family.h"
#include "core/dtype.h"
#include "graph/model.h"
#include "nn/loss.h"
#include "nn/metric.h"
#include "plan/capabilities.h"

namespace dptrain::plan {

inline constexpr int kAbsent = -1;
/// Every tensor and every parameter starts on such a boundary (floats); gaps hold zeros and stay zero.
inline constexpr std::int64_t kAlignElements = 64;

struct Tensor {
  std::string name;        ///< "conv1", "d conv1" for its gradient
  Shape shape;             ///< of one sample
  int alias_of = kAbsent;  ///< same memory as that tensor (views); never chained
  bool external = false;   ///< bound anew each step (graph inputs): the batch's own memory
  bool rowless = false;    ///< `shape` is all of it, whatever the rows: a parameter's gradient on its way to the arena
  int slot = 0;            ///< where it lies; external ones lie in every slot that reads them
  /// The plan's compute type for floats (float where rowless), kI32 for ids, kU8 for masks (1: valid, 0: not).
  DType type = DType::kF32;

  std::int64_t elements(std::int64_t rows) const { return shape.elements() * (rowless ? 1 : rows); }
  bool is_float() const { return type != DType::kI32 && type != DType::kU8; }
  std::size_t bytes(std::int64_t rows) const { return static_cast<std::size_t>(elements(rows)) * size_of(type); }
};

/// In the arena's order. kTable: trainable, too, but a step gives a gradient to some of its rows alone.
enum class ParameterKind { kTrainable, kStatistic, kTable, kFrozen };
inline bool is_trained(ParameterKind kind) {
  return kind == ParameterKind::kTrainable || kind == ParameterKind::kTable;
}

struct Parameter {
  int weight = 0;  ///< index into Model::weights
  std::string path;
  Shape shape;  ///< Keras's
  /// Axis i of the arenas is Keras's axis order[i], as the device wants it (filters KRSC on GPUs); empty: as Keras has
  /// it.
  std::vector<int> order;
  ParameterKind kind = ParameterKind::kTrainable;
  std::int64_t offset = 0;  ///< floats from the start of the arena
  nn::Penalty penalty;      ///< l1, l2
  double momentum = 0;      ///< statistics
  int bucket = kAbsent;     ///< of its gradient
  std::int64_t elements() const { return shape.elements(); }
};

/// A layer that the op of a step computes behind the step's own.
struct TailEntry {
  config::Typed layer;           ///< of nn::layer_family(); an Activation for whatever is nothing else
  TailFusion fusion{};           ///< what the op says of it
  std::size_t other_inputs = 0;  ///< besides what is before it in the tail; in Step::inputs, behind those before them
  /// The step's one reader goes back through it (its Step::undoes), so that backward takes the gradient of what comes
  /// before. The last entry's alone.
  bool undone = false;
};

/// One operation: forward and, when has_backward, backward. Steps are in forward order.
struct Step {
  std::string name{};   ///< of the layer's call; an activation split off is "conv1/gelu"
  int node = 0;         ///< in Graph::nodes, of the layer
  int slot = 0;         ///< where it runs, and where its tensors lie
  bool copies = false;  ///< no op: its one output is its one input, which lies in another slot; no backward
  /// Of nn::layer_family(). Its `activation` argument is linear: what it said is in `tail`, or a step of its own.
  /// Of a layer over steps or volumes it may be the sister over images (nn::computed_as).
  config::Typed spec{};
  /// The op sees every tensor of the step as nn::with_height() has it, as the sister over images needs it.
  bool adds_height = false;
  /// Leading axes of every tensor of the step that are steps of a sample, and how many steps they are together: to the
  /// op each is a sample of its own, so a call has `frames` times the rows (nn::LayerType::applies).
  int frame_axes = 0;
  std::int64_t frames = 1;
  /// What the op computes behind its layer, in order; `output` is the last one's, and backward goes back through all.
  std::vector<TailEntry> tail{};
  /// The last layer in the tail of the step that makes the input, where this op's backward goes back through that, too,
  /// seen from its own output (a ReLU before a max-pooling). Empty: none.
  config::Typed undoes{};
  /// Not executed in training or evaluation with a loss: the loss starts from this step's input (softmax +
  /// cross-entropy).
  bool fused_into_loss = false;
  bool inference_mode = false;  ///< frozen normalisation: moving statistics even in training
  /// Factor on the share of this call's statistics. 1 unless the layer is called more than once: Keras then updates the
  /// moving values once per call, which one update does with momentum^calls and these weights (they add up to 1).
  double statistics_weight = 1;

  std::vector<int>
      inputs{};  ///< tensors: the layer's, their masks where its op heeds them, those of the tail's entries
  /// Per input of the layer the place of its mask in `inputs`, kAbsent where it has none; empty: the op heeds no mask.
  std::vector<int> masks{};
  std::vector<int> outputs{};  ///< tensors, in the layer's order; forward writes all of them. With a tail there is one
  std::vector<int> parameters{};  ///< indices into Plan::parameters, Keras's order

  bool has_backward = false;
  /// One per output; kAbsent: nothing on the way to a loss reads that output, so its gradient is zero.
  std::vector<int> output_gradients{};
  std::vector<int> input_gradients{};       ///< one per input; kAbsent: not wanted. Overwritten by backward
  std::vector<bool> parameter_gradients{};  ///< one per parameter: wanted (statistics: always wanted in training mode)
  /// Tensors that take this use's parameter gradients when another call of the same (shared) layer has written the
  /// arena; one per parameter, kAbsent: the arena itself.
  std::vector<int> parameter_gradient_tensors{};

  int output() const { return outputs.front(); }  ///< most steps have this one alone
};

/// Puts what computes the layer into the step: the layer itself, its sister over images, or what it applies to every
/// step of its input, a tensor of that shape.
void set_layer(Step& step, const config::Typed& layer, const Shape& input);
/// A tensor's shape as the step's op sees it.
Shape shape_seen(const Step& step, const Shape& shape);

/// Which of its tensors the step's backward reads, besides the output's gradient.
struct StepReads {
  std::span<const int> inputs{};  ///< of Step::inputs
  bool output = false;            ///< all of Step::outputs
};
StepReads backward_reads(const Step& step);

/// Backward is a list of these, in order.
struct BackwardItem {
  /// kFetch...: the source lies in another slot than the destination, which is overwritten.
  enum class Kind { kStep, kAccumulateTensor, kAccumulateParameter, kFetchTensor, kFetchParameter };
  Kind kind = Kind::kStep;
  int step = kAbsent;                ///< kStep
  int destination = kAbsent;         ///< tensor; of the kinds for parameters the gradient of a parameter
  int source = kAbsent;              ///< tensor: destination += source, or destination = source
  std::vector<int> buckets_ready{};  ///< buckets complete after this item
};

struct Bucket {
  std::int64_t begin = 0, end = 0;  ///< floats of the gradient arena; buckets tile [0, statistics_end)
};

/// The loss of one output: what it reads and writes.
struct LossStep {
  int output = 0;      ///< in Plan::outputs
  std::string name{};  ///< of the output where the model has several, else ""
  config::Typed loss{};
  double weight = 1;  ///< its part in the whole loss
  enum class Fusion { kNone, kSoftmax, kSigmoid };
  /// kSoftmax, kSigmoid: `prediction` are the logits before that activation. Metrics mean what comes after it: their
  /// ops move thresholds, or read values to which the activation was applied for them (MetricReads).
  Fusion fusion = Fusion::kNone;
  bool from_logits = false;  ///< what the loss computes from, fusion included
  int slot = 0;              ///< where the prediction lies; a masked loss is computed at home
  int prediction = kAbsent;  ///< tensor
  int prediction_gradient = kAbsent;
  nn::LabelKind labels = nn::LabelKind::kClass;
  std::vector<nn::ResolvedMetric> metrics{};
  /// One per class: factor of a sample's loss and gradient in training; metrics go without. Empty: none.
  std::vector<float> class_weights{};
  /// Which positions count (kU8, 1 or 0), of a sample; kAbsent: all. The loss of a global batch is then the mean over
  /// its valid positions, on whatever replica they are.
  int mask = kAbsent;
  std::int64_t masked_positions = 0;  ///< elements of the mask of one sample; 0: there is none
  /// Its place in a step's sums: the loss summed over samples, then each metric's state, then the number of valid
  /// positions where there is a mask.
  std::size_t first_sum = 0;
  std::size_t sums() const { return valid_sum() + (masked() ? 1 : 0); }

  bool masked() const { return masked_positions > 0; }
  /// Place of the number of valid positions among its sums.
  std::size_t valid_sum() const { return metrics.empty() ? 1 : metrics.back().offset + metrics.back().state; }
};

/// What a loss and its metrics are a mean over, in samples, from the plan's sums over so many of them: their number or,
/// with a mask, the sum of each sample's share of valid positions.
double weight_of(const LossStep& loss, std::span<const double> sums, std::int64_t samples);

/// What Keras adds to the number of valid positions before it divides by it.
inline constexpr double kMaskEpsilon = 1e-7;

struct Plan {
  const graph::Graph* graph = nullptr;  ///< of the model the plan was made from; outlives the plan
  std::vector<Tensor> tensors;
  std::vector<Parameter> parameters;  ///< in arena order
  std::int64_t trainable_end = 0, statistics_end = 0, total = 0;
  std::int64_t table_floats = 0;  ///< of all tables
  std::vector<Step> steps;
  std::vector<BackwardItem> backward;
  /// In the order in which they become ready. Without any backward item (nothing to train but statistics) all of them
  /// are ready after forward.
  std::vector<Bucket> buckets;
  std::vector<LossStep> losses;  ///< by output; empty: prediction only
  std::vector<int> inputs;       ///< tensors, in the order of Graph::inputs; of a head: of the border
  std::vector<int>
      outputs;  ///< tensors, in the order of Graph::outputs (after their activations); of a prefix: of the border
  DType compute = DType::kF32;  ///< of activations, of their gradients and of the weights that ops read
  /// Per slot the names in the config that mean it, the first one being its own. Empty: one slot, whatever its names.
  std::vector<std::vector<std::string>> slots;

  int slot_count() const { return slots.empty() ? 1 : static_cast<int>(slots.size()); }
  bool has_loss() const { return !losses.empty(); }
  std::int64_t tables_end() const { return statistics_end + table_floats; }
  /// Floats of an optimizer's slot: one for each of a trained weight, the tables' behind the others'.
  std::int64_t slot_floats() const { return trainable_end + table_floats; }
  /// Where those of a trained parameter begin.
  std::int64_t slot_offset(const Parameter& p) const {
    return p.kind == ParameterKind::kTable ? p.offset - statistics_end + trainable_end : p.offset;
  }
  /// Numbers that a step sums over its samples, one loss after the other.
  std::size_t sums() const { return has_loss() ? losses.back().first_sum + losses.back().sums() : 0; }
};

/// Which part of the graph a plan runs: all of it, or one side of a cut (frozen_prefix() in prefix.h). Both sides keep
/// the whole graph's numbers of nodes and weights, so that random layers draw the same and one Model serves both.
enum class Part {
  kWhole,
  kPrefix,  ///< from the inputs to the border, whose tensors are the plan's outputs; no loss
  kHead     ///< from the border, whose tensors are the plan's inputs; only the parameters that it reads
};

/// What is trained and measured at one output.
struct Objective {
  int output = 0;  ///< in Graph::outputs
  config::Typed loss;
  double weight = 1;
  std::vector<config::Typed> metrics{};
  std::vector<float> class_weights{};  ///< one per class (one output: two); may be empty
  nn::LabelKind labels = nn::LabelKind::kClass;
};

struct PlanOptions {
  std::vector<Objective> objectives;                      ///< by output, at most one each; empty: prediction only
  std::optional<std::uint64_t> bucket_bytes = 25u << 20;  ///< none: an eighth of all, from 64 KiB to 25 MiB
  std::uint64_t first_bucket_bytes = 1u << 20;            ///< if that is less: small, so that reduction starts early
  /// Floats from which on a weight that all its steps read by row, where the device can, is a table. None: never.
  std::optional<std::int64_t> tables_from;
  DType compute = DType::kF32;
  bool sync_batchnorm = false;  ///< sets `synchronized` in every BatchNormalization
  Part part = Part::kWhole;
  std::vector<graph::Port> border;  ///< kPrefix and kHead
  /// As Plan::slots: where the config's slots are. Empty: all in one place.
  std::vector<std::vector<std::string>> slots;
};

/// The steps that the masks of losses depend on, in order: what must run to know how many positions are valid.
std::vector<int> mask_steps(const Plan& plan);

/// What prediction can give: the plan's outputs, then the mask of each masked loss.
std::vector<int> predicted_tensors(const Plan& plan);

/// The memory a tensor lies in: itself, or what it is a view of.
inline int root(const Plan& plan, int tensor) {
  const int alias = plan.tensors[static_cast<std::size_t>(tensor)].alias_of;
  return alias == kAbsent ? tensor : alias;
}

/// Where an item of backward is executed: it writes there.
int slot_of(const Plan& plan, const BackwardItem& item);

/// The type that a tensor has on the host: floats of 16 bits are float32 there.
inline DType host_type(const Tensor& tensor) { return tensor.is_float() ? DType::kF32 : tensor.type; }
/// Of one sample on the host.
inline std::size_t host_row_bytes(const Tensor& tensor) {
  return static_cast<std::size_t>(tensor.shape.elements()) * size_of(host_type(tensor));
}

/// Throws Error{kUsage} when loss, metrics and output do not fit together.
Plan make_plan(const graph::Model& model, const PlanOptions& options, const Capabilities& device);

}  // namespace dptrain::plan
