#pragma once

// Models from a few lines of YAML, and a device with all fusions, for tests of plans and replicas.

#include <string>

#include "config/config_loader.h"
#include "graph/graph_builder.h"
#include "graph/model.h"
#include "nn/activations.h"
#include "nn/convolutions.h"
#include "nn/merging.h"
#include "nn/normalization.h"
#include "nn/pooling.h"
#include "plan/tail.h"

namespace dptrain::test {

/// `text` is the `model` section: "layers: [...]".
inline graph::Model model_of(const std::string& text, std::uint64_t seed = 7) {
  config::Diagnostics diagnostics;
  const config::Node section = config::load_text(text, "model.yaml", "/", diagnostics);
  config::Reader reader(diagnostics);
  graph::Graph graph = graph::build(section, "sample", reader);
  diagnostics.throw_if_errors();
  return graph::make_model(std::move(graph), seed);
}

/// A value of a family: "SGD: {momentum: 0.9}".
inline config::Typed value_of(const config::Family& family, const std::string& text) {
  config::Diagnostics diagnostics;
  const config::Node node = config::load_text(text, "value.yaml", "/", diagnostics);
  config::Reader reader(diagnostics);
  config::Typed value = family.read(node, reader);
  diagnostics.throw_if_errors();
  return value;
}

inline plan::PlanOptions options_for(const std::string& loss, const std::vector<std::string>& metrics = {},
                                     nn::LabelKind labels = nn::LabelKind::kClass) {
  plan::PlanOptions options;
  if (loss.empty()) return options;
  plan::Objective objective{.loss = value_of(nn::loss_family(), loss), .labels = labels};
  for (const std::string& metric : metrics) objective.metrics.push_back(value_of(nn::metric_family(), metric));
  options.objectives.push_back(std::move(objective));
  return options;
}

/// Fuses activations after convolutions, Dense, BatchNormalization and Add; ReLUs below max-poolings.
class FusingCapabilities : public plan::Capabilities {
 public:
  std::optional<plan::TailFusion> fuses(const plan::Follower& follower) const override {
    const config::Typed& layer = follower.step.spec;
    const auto* activation = follower.layer.get_if<nn::ActivationSpec>();
    const bool takes = layer.get_if<nn::Conv2DSpec>() != nullptr || layer.get_if<nn::DenseSpec>() != nullptr ||
                       layer.get_if<nn::BatchNormalizationSpec>() != nullptr || layer.get_if<nn::AddSpec>() != nullptr;
    const bool first = follower.step.tail.empty() || plan::tail_has<nn::AddSpec>(follower.step);
    if (!takes || !first || activation == nullptr || !nn::can_be_epilogue(activation->activation) ||
        plan::tail_activation(follower.step).activation != nn::Activation::kLinear)
      return std::nullopt;
    return plan::TailFusion{.reads_output = true};
  }
  bool undoes(const plan::Step& reader, const plan::TailEntry& last) const override {
    return reader.spec.get_if<nn::MaxPooling2DSpec>() != nullptr && plan::activation_of(last) == nn::Activation::kRelu;
  }
};

/// Also fuses adds after a normalization.
class SummingCapabilities final : public FusingCapabilities {
 public:
  std::optional<plan::TailFusion> fuses(const plan::Follower& follower) const override {
    if (follower.layer.get_if<nn::AddSpec>() == nullptr) return FusingCapabilities::fuses(follower);
    const auto shapes = follower.layer_inputs;
    const bool takes = follower.step.spec.get_if<nn::BatchNormalizationSpec>() != nullptr &&
                       follower.step.tail.empty() && shapes.size() == 2 && shapes[0] == shapes[1];
    return takes ? std::optional(plan::TailFusion{.passes_gradient = true}) : std::nullopt;
  }
};

/// As in ResNet: an Add of two normalizations, then one of a normalization and the block's input.
inline constexpr const char* kBottlenecks = R"(
layers:
  - Input: {name: image, shape: [9, 7, 3]}
  - Conv2D: {name: wide, filters: 5, kernel_size: 1}
  - BatchNormalization: {name: wide_bn}
  - Conv2D: {name: short, inputs: image, filters: 5, kernel_size: 1}
  - BatchNormalization: {name: short_bn}
  - Add: {name: add1, inputs: [wide_bn, short_bn]}
  - ReLU: {name: relu1}
  - Conv2D: {name: conv, filters: 5, kernel_size: 3, padding: same}
  - BatchNormalization: {name: bn}
  - Add: {name: add2, inputs: [bn, relu1]}
  - ReLU: {name: relu2}
  - Flatten
  - Dense: {name: logits, units: 4}
  - Softmax: {name: probabilities}
)";

inline constexpr const char* kFashionMnist = R"(
layers:
  - Input: {shape: [28, 28, 1]}
  - Conv2D: {filters: 32, kernel_size: [3, 3], activation: relu}
  - MaxPooling2D: {pool_size: [2, 2], strides: 2}
  - Conv2D: {filters: 64, kernel_size: [3, 3], activation: relu}
  - MaxPooling2D: {pool_size: [2, 2], strides: 2}
  - Conv2D: {filters: 64, kernel_size: [3, 3], activation: relu}
  - Flatten
  - Dense: {units: 64, activation: relu}
  - Dense: {units: 10, activation: softmax}
)";

inline constexpr const char* kResidual = R"(
layers:
  - Input: {name: image, shape: [9, 7, 3]}
  - Conv2D: {name: stem, filters: 5, kernel_size: 3, padding: same, use_bias: false}
  - BatchNormalization: {name: bn1}
  - ReLU: {name: relu1}
  - Conv2D: {name: conv2, filters: 5, kernel_size: 3, padding: same, activation: gelu}
  - BatchNormalization: {name: bn2}
  - Add: {name: add, inputs: [bn2, relu1]}
  - Activation: {name: relu2, activation: relu}
  - Conv2D: {name: conv3, filters: 5, kernel_size: 1, activation: swish}
  - Add: {name: twice, inputs: [conv3, conv3, relu2]}
  - MaxPooling2D: {name: pool}
  - Flatten
  - Dropout: 0.25
  - Dense: {name: logits, units: 4}
  - Softmax: {name: probabilities}
)";

inline constexpr const char* kShared = R"(
shared:
  encoder: {Dense: {units: 6, activation: tanh}}
layers:
  - Input: {name: a, shape: [6]}
  - Input: {name: b, shape: [6]}
  - encoder: {name: encoded_a, inputs: a}
  - encoder: {name: encoded_aa, inputs: encoded_a}
  - encoder: {name: encoded_b, inputs: b}
  - Concatenate: {name: merged, inputs: [encoded_aa, encoded_b]}
  - Dense: {name: same, units: 1, activation: sigmoid}
)";

inline constexpr const char* kFrozen = R"(
layers:
  - Input: {shape: [12, 12, 3]}
  - Conv2D: {name: block1_conv1, filters: 8, kernel_size: 3, activation: relu}
  - BatchNormalization: {name: block1_bn}
  - Conv2D: {name: block1_conv2, filters: 8, kernel_size: 3, activation: relu}
  - MaxPooling2D: {name: block1_pool}
  - Conv2D: {name: block2_conv1, filters: 8, kernel_size: 3, activation: relu}
  - BatchNormalization: {name: block2_bn, trainable: false}
  - GlobalAveragePooling2D: {name: pool}
  - Dense: {name: predictions, units: 3, activation: softmax}
freeze: [block1_*]
)";

}  // namespace dptrain::test
