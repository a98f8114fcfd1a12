#pragma once

// The plan: the steps that every replica executes, computed once on the host from the Model. Pure data, the same for
// every replica, printable (`dptrain summary --plan`). Read-only after make_plan: any thread.
//
// A replica has a primary device slot (slot 0) and any number of secondary ones. Every step and every tensor has a
// slot. A separate step copies each tensor that is read in another slot; gradients are copied back likewise (slots.cpp,
// backward.cpp). The parameter arenas are in the primary slot.
//
// Tensors are [rows, shape...] of their own type: the compute type, int32 ids, or masks of bytes. Rows are the samples
// of one micro-batch of one replica. Parameters are in one flat arena of floats. It has the same order on the host and
// on every device:
//   [0, trainable_end)                trainable weights, in the order in which backward completes their gradients;
//   [trainable_end, statistics_end)   moving statistics of normalization layers;
//   [statistics_end, tables_end())    trainable tables whose gradients are rows (backend/row_table.h);
//   [tables_end(), total)             frozen weights.
// The gradient arena covers [0, statistics_end). The "gradient" of a statistic is its value over the batch times the
// replica's share of the global batch. The all-reduce that sums gradients thus also averages statistics, weighted by
// samples.

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "config/typed.h"
#include "core/dtype.h"
#include "graph/model.h"
#include "nn/layer_signature.h"
#include "nn/resolved_metric.h"
#include "plan/capabilities.h"

namespace dptrain::plan {

inline constexpr int kAbsent = -1;
/// Alignment of every tensor and parameter, in floats. Gaps contain zeros and stay zero.
inline constexpr std::int64_t kAlignElements = 64;

struct Tensor {
  std::string name;        ///< "conv1", "d conv1" for its gradient
  Shape shape;             ///< without the rows
  int alias_of = kAbsent;  ///< tensor that owns the memory (views); never itself an alias
  bool external = false;   ///< memory of the batch, bound in each step (graph inputs)
  bool rowless = false;    ///< `shape` is the whole shape: a parameter's gradient outside the arena
  int slot = 0;            ///< slot of the memory; external tensors are in every slot that reads them
  /// The plan's compute type for floats (float where rowless), kI32 for ids, kU8 for masks (1: valid, 0: not).
  DType type = DType::kF32;

  std::int64_t elements(std::int64_t rows) const { return shape.elements() * (rowless ? 1 : rows); }
  bool is_float() const { return type != DType::kI32 && type != DType::kU8; }
  std::size_t bytes(std::int64_t rows) const { return static_cast<std::size_t>(elements(rows)) * size_of(type); }
};

/// In the arena's order. kTable is trainable, but a step computes gradients for some of its rows only.
enum class ParameterKind { kTrainable, kStatistic, kTable, kFrozen };
inline bool is_trained(ParameterKind kind) {
  return kind == ParameterKind::kTrainable || kind == ParameterKind::kTable;
}

struct Parameter {
  int weight = 0;  ///< index into Model::weights
  std::string path;
  Shape shape;  ///< Keras's
  /// Axis i in the arenas is Keras's axis order[i], as the device requires (KRSC on GPUs). Empty: Keras's order.
  std::vector<int> order;
  ParameterKind kind = ParameterKind::kTrainable;
  std::int64_t offset = 0;  ///< floats from the start of the arena
  nn::Penalty penalty;      ///< l1, l2
  double momentum = 0;      ///< statistics
  int bucket = kAbsent;     ///< bucket of its gradient
  std::int64_t elements() const { return shape.elements(); }
};

/// A layer that the op of a step computes after the step's own layer.
struct TailEntry {
  config::Typed layer;           ///< from nn::layer_family(); layers that only apply an activation are an Activation
  TailFusion fusion{};           ///< how the op computes it
  std::size_t other_inputs = 0;  ///< inputs other than the result before it; in Step::inputs in tail order
  /// Whether the backward of the step's only reader includes that of this entry (Step::undoes). The step's backward
  /// then starts from the gradient before this entry. Only for the last entry.
  bool undone = false;
};

/// One operation: forward and, when has_backward, backward. Steps are in forward order.
struct Step {
  std::string name{};   ///< name of the layer's call; "conv1/gelu" for a separate activation
  int node = 0;         ///< index in Graph::nodes
  int slot = 0;         ///< slot of the step and its tensors
  bool copies = false;  ///< no op, no backward: copies its input from another slot
  /// From nn::layer_family(). Its `activation` is linear: the activation is in `tail`, or a separate step. For a layer
  /// over steps or volumes it may be the layer over images that computes it (nn::computed_as).
  config::Typed spec{};
  /// Whether the op receives every tensor in the shape of nn::with_height(), as layers over images require.
  bool adds_height = false;
  /// Number of leading axes of every tensor that are steps of a sample, and the product of their extents. The op treats
  /// each step as a sample, so a call has `frames` times the rows (nn::LayerType::applies).
  int frame_axes = 0;
  std::int64_t frames = 1;
  /// Layers that the op computes after its own. `output` is that of the last one; backward covers all of them.
  std::vector<TailEntry> tail{};
  /// The last layer in the tail of the step that computes the input, if this op's backward includes that layer's (a
  /// ReLU before a max-pooling). The op reads only its own output for it. Empty: none.
  config::Typed undoes{};
  /// Not executed in training or evaluation with a loss: the loss reads this step's input (softmax + cross-entropy).
  bool fused_into_loss = false;
  bool inference_mode = false;  ///< frozen normalization: moving statistics even in training
  /// Factor of this call's statistics; 1 unless the layer has several calls. Keras updates the moving values once per
  /// call. One update with momentum^calls and these weights, which add up to 1, gives the same.
  double statistics_weight = 1;

  std::vector<int> inputs{};  ///< tensors: the layer's, their masks if the op reads them, those of the tail's entries
  /// For each input of the layer the index of its mask in `inputs`, or kAbsent. Empty: the op reads no masks.
  std::vector<int> masks{};
  std::vector<int> outputs{};     ///< tensors, in the layer's order, all written by forward; one if there is a tail
  std::vector<int> parameters{};  ///< indices into Plan::parameters, Keras's order

  bool has_backward = false;
  /// One per output; kAbsent: no loss depends on that output, so its gradient is zero.
  std::vector<int> output_gradients{};
  std::vector<int> input_gradients{};       ///< one per input; kAbsent: not computed. Backward overwrites them
  std::vector<bool> parameter_gradients{};  ///< one per parameter: computed (statistics: always in training)
  /// One per parameter: tensor for its gradient if another call of the layer writes the arena; kAbsent: the arena.
  std::vector<int> parameter_gradient_tensors{};

  int output() const { return outputs.front(); }  ///< the only output of most steps
};

/// Sets the layer that the step's op computes, for an input of this shape. It is the layer itself, the layer over
/// images that computes it, or the layer that it applies to every step.
void set_layer(Step& step, const config::Typed& layer, const Shape& input);
/// The shape in which the step's op receives a tensor.
Shape shape_for_op(const Step& step, const Shape& shape);

/// Tensors that the step's backward reads in addition to the output's gradient.
struct StepReads {
  std::span<const int> inputs{};  ///< a part of Step::inputs
  bool output = false;            ///< all of Step::outputs
};
StepReads backward_reads(const Step& step);

/// Backward is a list of these, in order.
struct BackwardItem {
  /// kFetch...: overwrites the destination with the source, which is in another slot.
  enum class Kind { kStep, kAccumulateTensor, kAccumulateParameter, kFetchTensor, kFetchParameter };
  Kind kind = Kind::kStep;
  int step = kAbsent;                ///< kStep
  int destination = kAbsent;         ///< tensor; for kinds of parameters a parameter, whose gradient is written
  int source = kAbsent;              ///< tensor: destination += source, or destination = source
  std::vector<int> buckets_ready{};  ///< buckets complete after this item
};

struct Bucket {
  std::int64_t begin = 0, end = 0;  ///< floats of the gradient arena; buckets tile [0, statistics_end)
};

/// The loss of one output: what it reads and writes.
struct LossStep {
  int output = 0;      ///< index in Plan::outputs
  std::string name{};  ///< name of the output if the model has several, else ""
  config::Typed loss{};
  double weight = 1;  ///< factor in the total loss
  enum class Fusion { kNone, kSoftmax, kSigmoid };
  /// kSoftmax, kSigmoid: `prediction` is the logits before that activation. Metrics are defined on its result: their
  /// ops transform thresholds, or read values with the activation applied (MetricReads).
  Fusion fusion = Fusion::kNone;
  bool from_logits = false;  ///< whether the loss reads logits, by its key or through fusion
  int slot = 0;              ///< slot of the prediction; a masked loss is computed in the primary slot
  int prediction = kAbsent;  ///< tensor
  int prediction_gradient = kAbsent;
  nn::LabelKind labels = nn::LabelKind::kClass;
  std::vector<nn::ResolvedMetric> metrics{};
  /// One factor per class for a sample's loss and gradient in training; metrics ignore it. Empty: none.
  std::vector<float> class_weights{};
  /// The mask that a layer makes: valid positions per sample (kU8, 1 or 0); kAbsent: none. The loss is the mean over
  /// the valid positions of the global batch.
  int mask = kAbsent;
  std::int64_t masked_positions = 0;           ///< elements of the mask of one sample; 0: there is none
  std::optional<std::int32_t> ignore_class{};  ///< positions with this label are not valid; rows of -1 for kDense
  bool sums_positions = false;  ///< each number is a sum over valid positions; their mean is over samples
  /// Index of its first number in a step's sums: the summed loss, each metric's state, the count of valid positions.
  std::size_t first_sum = 0;
  std::size_t sums() const { return valid_sum() + (masked() ? 1 : 0); }

  bool masked() const { return masked_positions > 0; }
  /// Whether the loss is the mean over the valid positions of the global batch.
  bool averages_valid() const { return masked() && !sums_positions; }
  bool has_mask_tensor() const { return masked() && !ignore_class; }
  /// Index of the number of valid positions among its sums.
  std::size_t valid_sum() const { return metrics.empty() ? 1 : metrics.back().offset + metrics.back().state; }
};

/// The divisor of a loss and its metrics: `samples` or, with a mask, the sum of their shares of valid positions.
double weight_of(const LossStep& loss, std::span<const double> sums, std::int64_t samples);

/// Keras adds this to the number of valid positions before it divides by it.
inline constexpr double kMaskEpsilon = 1e-7;

struct Plan {
  const graph::Graph* graph = nullptr;  ///< graph of the model; outlives the plan
  std::vector<Tensor> tensors;
  std::vector<Parameter> parameters;  ///< in arena order
  std::int64_t trainable_end = 0, statistics_end = 0, total = 0;
  std::int64_t table_floats = 0;  ///< size of all tables
  std::vector<Step> steps;
  std::vector<BackwardItem> backward;
  /// In the order of completion. Without a backward item (only statistics) all are complete after forward.
  std::vector<Bucket> buckets;
  std::vector<LossStep> losses;  ///< in the order of the outputs; empty: prediction only
  std::vector<int> inputs;       ///< tensors, in the order of Graph::inputs; for kHead those of the border
  std::vector<int>
      outputs;  ///< tensors after activations, in the order of Graph::outputs; for kPrefix those of the border
  DType compute = DType::kF32;  ///< type of activations, their gradients and the weights that ops read
  /// For each slot its names in the config, its own first. Empty: one slot, for any names.
  std::vector<std::vector<std::string>> slots;

  int slot_count() const { return slots.empty() ? 1 : static_cast<int>(slots.size()); }
  bool has_loss() const { return !losses.empty(); }
  std::int64_t tables_end() const { return statistics_end + table_floats; }
  /// Floats of one slot of the optimizer: one per trained weight element, tables after the others.
  std::int64_t slot_floats() const { return trainable_end + table_floats; }
  /// Offset of a trained parameter in a slot of the optimizer.
  std::int64_t slot_offset(const Parameter& p) const {
    return p.kind == ParameterKind::kTable ? p.offset - statistics_end + trainable_end : p.offset;
  }
  /// Number of sums of a step, over all losses.
  std::size_t sums() const { return has_loss() ? losses.back().first_sum + losses.back().sums() : 0; }
};

/// The part of the graph that a plan runs: all of it, or one side of a cut (frozen_prefix() in prefix.h). Both sides
/// use the numbers of nodes and weights of the whole graph, so random layers draw the same numbers.
enum class Part {
  kWhole,
  kPrefix,  ///< from the inputs to the border, whose tensors are the plan's outputs; no loss
  kHead     ///< from the border, whose tensors are the plan's inputs; only the parameters that it reads
};

/// The loss and the metrics of one output.
struct Objective {
  int output = 0;  ///< index in Graph::outputs
  config::Typed loss;
  double weight = 1;
  std::vector<config::Typed> metrics{};
  std::vector<float> class_weights{};  ///< one per class (one output: two); may be empty
  nn::LabelKind labels = nn::LabelKind::kClass;
  std::optional<std::int64_t> ignore_class{};  ///< of the data set
};

/// Label of the positions that the loss and its metrics leave out: that of the data set, else the loss's own key.
std::optional<std::int64_t> ignored_class(const Objective& objective);

struct PlanOptions {
  std::vector<Objective> objectives;                      ///< at most one per output; empty: prediction only
  std::optional<std::uint64_t> bucket_bytes = 25u << 20;  ///< none: an eighth of the total, from 64 KiB to 25 MiB
  std::uint64_t first_bucket_bytes = 1u << 20;  ///< upper limit of the first bucket, so that reduction starts early
  /// None: no tables. Else a weight of at least so many floats is a table, if all its steps can read it by row.
  std::optional<std::int64_t> tables_from;
  DType compute = DType::kF32;
  bool sync_batchnorm = false;  ///< sets `synchronized` in every BatchNormalization
  Part part = Part::kWhole;
  std::vector<graph::Port> border;  ///< only for kPrefix and kHead
  /// As Plan::slots. Empty: one slot.
  std::vector<std::vector<std::string>> slots;
};

/// The steps that the masks of losses depend on, in order. They compute which positions are valid.
std::vector<int> mask_steps(const Plan& plan);

/// Tensors that prediction can return: the plan's outputs, then the mask tensor of each loss that has one.
std::vector<int> predicted_tensors(const Plan& plan);

/// The tensor that owns the memory: the tensor itself, or the one that it is a view of.
inline int root(const Plan& plan, int tensor) {
  const int alias = plan.tensors[static_cast<std::size_t>(tensor)].alias_of;
  return alias == kAbsent ? tensor : alias;
}

/// The slot in which an item of backward is executed: that of the memory it writes.
int slot_of(const Plan& plan, const BackwardItem& item);

/// The type of the tensor on the host, where floats of 16 bits are float32.
inline DType host_type(const Tensor& tensor) { return tensor.is_float() ? DType::kF32 : tensor.type; }
/// Bytes of one sample on the host.
inline std::size_t host_row_bytes(const Tensor& tensor) {
  return static_cast<std::size_t>(tensor.shape.elements()) * size_of(host_type(tensor));
}

/// Throws Error{kUsage} if loss, metrics and output do not fit together.
Plan make_plan(const graph::Model& model, const PlanOptions& options, const Capabilities& device);

}  // namespace dptrain::plan
