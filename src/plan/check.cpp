#include <algorithm>

#include "config/diagnostics.h"
#include "core/error.h"
#include "core/format.h"
#include "graph/masks.h"
#include "nn/activations.h"
#include "nn/layer.h"
#include "nn/metric.h"
#include "nn/metrics.h"
#include "plan/stages.h"

namespace dptrain::plan {
namespace {

using nn::Activation;
using nn::LabelKind;
using nn::LossType;
using nn::Reads;

[[noreturn]] void refuse(const config::Typed& what, const std::string& message) {
  throw config::error_at(ErrorKind::kUsage, what.mark(), what.name() + ": " + message);
}

struct Output {
  std::string name;  ///< "'dense_1'"
  Shape shape;
  std::optional<Activation> activation;  ///< activation that it ends in, if it can be determined
  LabelKind labels = LabelKind::kClass;
};

Output output_of(const graph::Graph& graph, int output, LabelKind labels) {
  const graph::Port& port = graph.outputs[at(output)];
  const graph::Node& node = graph.nodes[at(port.node)];
  const config::Typed& spec = graph.layers[at(node.layer)].spec;
  std::optional<Activation> activation = nn::activation_of(spec);
  if (!activation) activation = pure_activation(spec);
  if (port.port > 0) activation.reset();
  return {.name = "'" + graph::name_of(graph, port) + "'",
          .shape = graph::tensor_of(graph, port).shape,
          .activation = activation,
          .labels = labels};
}

/// Whether the output is a row of class scores per position.
bool has_rows(const Output& output) { return output.shape.rank() >= 1; }

void check_labels(const config::Typed& loss, const LossType& type, const Output& output) {
  if (type.integer_labels_only && output.labels == LabelKind::kDense)
    refuse(loss,
           fmt::format("needs one class number per {}, but the labels are rows of values; try categorical_crossentropy",
                       output.shape.rank() > 1 ? "position" : "sample"));
  if (type.reads != Reads::kClasses && output.labels == LabelKind::kClass && output.shape.elements() != 1)
    refuse(loss, fmt::format("compares values, but the labels are class numbers and output {} is {}; try "
                             "categorical_crossentropy, or labels that are rows of {} values",
                             output.name, output.shape.str(), output.shape.elements()));
}

void check_shape(const config::Typed& loss, const LossType& type, const Output& output, bool masked) {
  const std::string mismatch =
      type.mismatch(loss.spec(), {.output = output.shape, .labels = output.labels, .masked = masked});
  if (!mismatch.empty()) refuse(loss, mismatch);
  if (type.reads != Reads::kClasses) return;
  if (!has_rows(output))
    refuse(loss, fmt::format("needs a row of class scores, but output {} is {}", output.name, output.shape.str()));
  if (output.shape.back() < 2)
    refuse(loss,
           fmt::format("needs at least 2 classes, but output {} has 1 value; try binary_crossentropy with activation "
                       "sigmoid, or one unit per class",
                       output.name));
}

void check_class_weights(const config::Typed& loss, const LossType& type, const Output& output, std::size_t weights) {
  const bool classes = type.reads == Reads::kClasses && has_rows(output);
  const bool two = type.reads == Reads::kProbabilities && nn::MetricSubject{.output = output.shape}.classes() == 1;
  if (!classes && !two)
    refuse(loss, fmt::format("class_weight needs one class per sample or position, which output {} of shape {} and "
                             "this loss do not have; remove class_weight, or try categorical_crossentropy",
                             output.name, output.shape.str()));
  const auto wanted = two ? std::size_t{2} : static_cast<std::size_t>(output.shape.back());
  if (weights != wanted) refuse(loss, fmt::format("{} class weights for {} classes", weights, wanted));
}

/// Number of positions per sample that the output's mask covers; 0: no mask.
std::int64_t masked_positions(const config::Typed& loss, const graph::Graph& graph, const graph::Port& port,
                              const Output& output) {
  const graph::Mask mask = graph::masks(graph)[at(port.node)][at(port.port)];
  if (mask.empty()) return 0;
  const std::string& from = graph.nodes[at(mask.front().node)].name;
  if (mask.size() > 1)
    refuse(loss, fmt::format("output {} joins the masks of '{}' and '{}', which this version does not support; "
                             "remove one of the two masks",
                             output.name, from, graph.nodes[at(mask[1].node)].name));
  const Shape& steps = graph::tensor_of(graph, mask.front()).shape;
  std::vector<std::int64_t> rows = output.shape.dims();
  if (!rows.empty()) rows.pop_back();
  if (steps.dims() != rows)
    refuse(loss, fmt::format("output {} is {}, and the mask of '{}' is {}; expected one row of values for each step, "
                             "or a network that ends the mask",
                             output.name, output.shape.str(), from, steps.str()));
  return steps.elements();
}

/// Masks the positions of an ignored class. Refuses one if a layer masks the output.
void mask_ignored(const Objective& objective, const LossType& type, const Output& output, LossStep& loss) {
  const std::optional<std::int64_t> ignored = ignored_class(objective);
  if (!ignored) return;
  if (loss.masked())
    refuse(loss.loss, fmt::format("ignore_class and the mask of output {} cannot be combined; remove one of the two",
                                  output.name));
  loss.ignore_class = static_cast<std::int32_t>(*ignored);
  loss.masked_positions = nn::MetricSubject{.output = output.shape}.positions();
  loss.sums_positions = type.sums_positions(loss.loss.spec(), output.shape);
}

void check_activation(const config::Typed& loss, const LossType& type, const Output& output) {
  if (type.reads == Reads::kValues || !output.activation) return;
  const bool classes = type.reads == Reads::kClasses, from_logits = nn::from_logits(loss);
  const Activation proper = classes ? Activation::kSoftmax : Activation::kSigmoid;
  const char* name = classes ? "softmax" : "sigmoid";
  if (from_logits && *output.activation == proper)
    refuse(loss, fmt::format("from_logits is true, but output {} already ends in {}; remove one of the two",
                             output.name, name));
  const bool logs = *output.activation == Activation::kLogSoftmax;
  if (!from_logits && (logs || *output.activation == Activation::kLinear))
    refuse(loss, fmt::format("expects probabilities, but output {} ends in {}; try from_logits: true, or activation {}",
                             output.name, logs ? "log_softmax" : "no activation", name));
  if (!classes && *output.activation == Activation::kSoftmax && output.shape.back() == 1)
    refuse(loss, fmt::format("output {} is a softmax over one value, which is always 1; try activation sigmoid",
                             output.name));
}

LossStep::Fusion choose_fusion(const LossType& type, const Output& output) {
  using Fusion = LossStep::Fusion;
  if (!type.fuses) return Fusion::kNone;
  if (type.reads == Reads::kClasses && output.activation == Activation::kSoftmax) return Fusion::kSoftmax;
  if (type.reads == Reads::kProbabilities && output.activation == Activation::kSigmoid) return Fusion::kSigmoid;
  return Fusion::kNone;
}

/// Resolves an output's metrics. In a step's sums their states follow the loss in order. No metric counts positions of
/// an ignored class. Metrics that are not means count the positions that a layer masks, as in Keras.
std::vector<nn::ResolvedMetric> resolve_metrics(const std::vector<config::Typed>& metrics, const Output& output,
                                                const LossStep& loss) {
  std::vector<nn::ResolvedMetric> all;
  std::vector<std::string> names;
  std::size_t offset = 1;
  for (const config::Typed& metric : metrics) {
    if (loss.ignore_class && metric.get_if<nn::R2ScoreSpec>() != nullptr)
      refuse(metric, fmt::format("cannot leave out the samples of the ignored class {}; remove this metric or "
                                 "ignore_class",
                                 *loss.ignore_class));
    nn::ResolvedMetric& one = all.emplace_back(
        nn::resolve_metric(metric, {.name = output.name, .output = output.shape, .labels = output.labels}));
    one.offset = offset;
    one.masked = loss.masked() && (loss.ignore_class || one.type().uses_mask);
    offset += one.state;
    for (const std::string& name : one.names) {
      if (std::ranges::find(names, name) != names.end())
        refuse(metric, fmt::format("another metric of output {} is logged as '{}', too; give one of them a name",
                                   output.name, name));
      names.push_back(name);
    }
  }
  return all;
}

}  // namespace

std::optional<std::int64_t> ignored_class(const Objective& objective) {
  return objective.ignore_class ? objective.ignore_class : nn::ignore_class(objective.loss);
}

std::optional<Activation> pure_activation(const config::Typed& layer) {
  if (const auto* s = layer.get_if<nn::ActivationSpec>()) return s->activation;
  if (layer.get_if<nn::SoftmaxSpec>() != nullptr) return Activation::kSoftmax;
  if (const auto* s = layer.get_if<nn::ReLUSpec>(); s != nullptr && s->negative_slope == 0 && s->threshold == 0) {
    if (!s->max_value) return Activation::kRelu;
    if (*s->max_value == 6) return Activation::kRelu6;
  }
  return std::nullopt;
}

Activation fused_activation(const LossStep& loss) {
  switch (loss.fusion) {
    case LossStep::Fusion::kSoftmax: return Activation::kSoftmax;
    case LossStep::Fusion::kSigmoid: return Activation::kSigmoid;
    case LossStep::Fusion::kNone: break;
  }
  return Activation::kLinear;
}

void resolve_losses(Draft& draft) {
  const graph::Graph& graph = draft.model.graph;
  std::size_t sums = 0;
  for (const Objective& objective : draft.options.objectives) {
    LossStep loss{.output = objective.output,
                  .name = graph.outputs.size() > 1 ? graph::name_of(graph, graph.outputs[at(objective.output)]) : "",
                  .loss = objective.loss,
                  .weight = objective.weight,
                  .labels = objective.labels,
                  .class_weights = objective.class_weights,
                  .first_sum = sums};
    const Output output = output_of(graph, objective.output, loss.labels);
    const LossType& type = nn::loss_type(loss.loss);
    loss.masked_positions = masked_positions(loss.loss, graph, graph.outputs[at(objective.output)], output);
    check_shape(loss.loss, type, output, loss.masked());
    check_labels(loss.loss, type, output);
    mask_ignored(objective, type, output, loss);
    check_activation(loss.loss, type, output);
    if (!loss.class_weights.empty()) check_class_weights(loss.loss, type, output, loss.class_weights.size());
    loss.metrics = resolve_metrics(objective.metrics, output, loss);
    loss.fusion = choose_fusion(type, output);
    loss.from_logits = nn::from_logits(loss.loss) || loss.fusion != LossStep::Fusion::kNone;
    sums += loss.sums();
    draft.plan.losses.push_back(std::move(loss));
  }
}

}  // namespace dptrain::plan
