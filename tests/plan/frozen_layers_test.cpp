// Frozen layers in the plan: no backward below the first trainable layer, no weight gradients above it, memory as in
// inference.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "core/index.h"
#include "plan/memory.h"
#include "plan/sample_models.h"

namespace dptrain::plan {
namespace {

using test::FusingCapabilities;
using test::model_of;
using test::options_for;
using ::testing::Each;
using ::testing::HasSubstr;
using ::testing::Not;

/// A frozen prefix, a trainable layer, frozen layers of every kind above it, a trainable head.
constexpr const char* kSandwich = R"(
layers:
  - Input: {shape: [12, 12, 3]}
  - Conv2D: {name: low1, filters: 8, kernel_size: 3, activation: relu, kernel_regularizer: {L2: 0.1}}
  - Conv2D: {name: low1a, filters: 8, kernel_size: 3, padding: same, activation: relu}
  - Conv2D: {name: low1b, filters: 8, kernel_size: 3, padding: same, activation: relu}
  - BatchNormalization: {name: low2}
  - Activation: {name: low3, activation: relu}
  - MaxPooling2D: {name: low4}
  - Conv2D: {name: middle, filters: 8, kernel_size: 3, kernel_regularizer: {L2: 0.1}}
  - BatchNormalization: {name: high1}
  - Conv2D: {name: high2, filters: 8, kernel_size: 2}
  - Flatten
  - Dense: {name: high3, units: 6}
  - Dense: {name: predictions, units: 3, activation: softmax}
freeze: [low*, high*]
)";

Plan sandwich(const graph::Model& model) {
  return make_plan(model, options_for("categorical_crossentropy"), FusingCapabilities());
}

const Step& frozen_step(const Plan& plan, const std::string& name) {
  for (const Step& step : plan.steps)
    if (step.name == name) return step;
  throw std::runtime_error("no step " + name);
}

int last_use(const Plan& plan, const std::string& tensor, Mode mode) {
  const std::vector<Lifetime> lives = tensor_lifetimes(plan, mode);
  for (std::size_t t = 0; t < lives.size(); ++t)
    if (plan.tensors[t].name == tensor) return lives[t].last;
  throw std::runtime_error("no tensor " + tensor);
}

TEST(Frozen, APrefixUsesInferenceMemoryAndHasNoBackward) {
  const graph::Model model = model_of(kSandwich);
  const Plan plan = sandwich(model);
  for (const char* name : {"low1", "low1a", "low1b", "low3"})
    EXPECT_EQ(last_use(plan, name, Mode::kTraining), last_use(plan, name, Mode::kInference)) << name;
  const int loss = static_cast<int>(plan.steps.size());
  EXPECT_GT(last_use(plan, "low4", Mode::kTraining), loss) << "the first trainable layer reads it in backward";
  for (const Step& step : plan.steps) {
    if (!step.name.starts_with("low")) continue;
    EXPECT_FALSE(step.has_backward) << step.name;
    EXPECT_EQ(step.output_gradients, std::vector<int>(step.output_gradients.size(), kAbsent)) << step.name;
    EXPECT_THAT(step.parameter_gradients, Each(false)) << step.name;
  }
  for (const Tensor& tensor : plan.tensors) EXPECT_THAT(tensor.name, Not(HasSubstr("d low")));
  EXPECT_EQ(plan.steps[at(plan.backward.back().step)].name, "middle");
  EXPECT_EQ(frozen_step(plan, "middle").input_gradients, std::vector{kAbsent});
}

TEST(Frozen, AboveATrainableLayerHasOnlyDataGradients) {
  const graph::Model model = model_of(kSandwich);
  const Plan plan = sandwich(model);
  const int loss = static_cast<int>(plan.steps.size());
  for (const char* name : {"high1", "high2", "high3"}) {
    const Step& step = frozen_step(plan, name);
    EXPECT_TRUE(step.has_backward) << name;
    EXPECT_THAT(step.input_gradients, Each(::testing::Ne(kAbsent))) << name;
    EXPECT_THAT(step.parameter_gradients, Each(false)) << name;
  }
  EXPECT_TRUE(frozen_step(plan, "high1").inference_mode);
  // Their inputs are freed after forward; trainable layers would keep them for their gradients.
  for (const char* name : {"middle", "high1", "high2"}) EXPECT_LE(last_use(plan, name, Mode::kTraining), loss) << name;
  EXPECT_GT(last_use(plan, "high3", Mode::kTraining), loss);  // read by the trainable head
}

/// Convolutions of every kind, frozen above a trainable one.
constexpr const char* kKinds = R"(
layers:
  - Input: {shape: [12, 12, 3]}
  - Conv2D: {name: low, filters: 4, kernel_size: 3}
  - Conv2D: {name: conv, filters: 6, kernel_size: 3}
  - DepthwiseConv2D: {name: depthwise, kernel_size: 3}
  - SeparableConv2D: {name: separable, filters: 5, kernel_size: 3}
  - Conv2DTranspose: {name: transpose, filters: 4, kernel_size: 3}
  - Conv2D: {name: last, filters: 2, kernel_size: 3}
  - Flatten
  - Dense: {name: predictions, units: 3, activation: softmax}
freeze: [conv, depthwise, separable, transpose, last]
)";

TEST(Frozen, ConvolutionsKeepInputsOnlyForTraining) {
  const graph::Model frozen = model_of(kKinds);
  graph::Model trained = frozen;
  for (graph::Layer& layer : trained.graph.layers) layer.trainable = true;
  for (graph::Weight& weight : trained.weights) weight.trainable = weight.def.trainable;
  const Plan with = sandwich(frozen), without = sandwich(trained);
  const int loss = static_cast<int>(with.steps.size());
  for (const char* input : {"low", "conv", "depthwise", "separable", "transpose"}) {
    EXPECT_LE(last_use(with, input, Mode::kTraining), loss) << input;
    EXPECT_GT(last_use(without, input, Mode::kTraining), loss) << input;
  }
}

TEST(Frozen, WeightsHaveNoGradientSlotOrPenalty) {
  const graph::Model model = model_of(kSandwich);
  const Plan plan = sandwich(model);
  std::int64_t trainable = 0;
  for (const Parameter& p : plan.parameters) {
    const bool trains = p.path.starts_with("middle") || p.path.starts_with("predictions");
    EXPECT_EQ(p.kind, trains ? ParameterKind::kTrainable : ParameterKind::kFrozen) << p.path;
    EXPECT_EQ(p.penalty.l2 != 0, p.path == "middle/kernel") << p.path;  // low1/kernel has the same regularizer
    EXPECT_EQ(p.bucket == kAbsent, !trains) << p.path;
    if (trains) trainable += (p.elements() + kAlignElements - 1) / kAlignElements * kAlignElements;
  }
  EXPECT_EQ(plan.trainable_end, trainable);  // of slots and gradients
  EXPECT_EQ(plan.statistics_end, trainable);
}

TEST(Frozen, TheTableOfMemoryShowsTheGain) {
  const graph::Model model = model_of(kSandwich);
  const Plan plan = sandwich(model);
  graph::Model thawed = model;
  for (graph::Layer& layer : thawed.graph.layers) layer.trainable = true;
  for (graph::Weight& weight : thawed.weights) weight.trainable = weight.def.trainable;
  const Plan all = sandwich(thawed);
  const auto table = [](const Plan& of) {
    const std::vector<Need> needs(of.steps.size());
    const MemoryPlan memory = plan_memory(of, needs, {}, 32, Mode::kTraining);
    return std::pair(memory.arena_bytes, print(of, memory, {}, 2));
  };
  const auto [frozen_bytes, frozen_text] = table(plan);
  const auto [all_bytes, all_text] = table(all);
  EXPECT_LT(frozen_bytes, all_bytes * 2 / 3);
  EXPECT_THAT(frozen_text, HasSubstr(" frozen\n"));
  EXPECT_THAT(all_text, Not(HasSubstr(" frozen\n")));
  EXPECT_THAT(frozen_text, ::testing::ContainsRegex("low1 +Conv2D [+] relu +input_layer .* -\n"));
  EXPECT_THAT(frozen_text, ::testing::ContainsRegex("high1 .* data, moving statistics\n"));
  EXPECT_THAT(frozen_text, ::testing::ContainsRegex("high2 .* data\n"));
}

}  // namespace
}  // namespace dptrain::plan
