// Layers that a device fuses into the step before, and layers that stay separate steps.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/index.h"
#include "nn/activations.h"
#include "plan/memory.h"
#include "plan/plan_steps.h"
#include "plan/sample_models.h"

namespace dptrain::plan {
namespace {

using test::FusingCapabilities;
using test::items;
using test::model_of;
using test::options_for;
using test::step_named;
using test::step_names;
using ::testing::ElementsAre;

TEST(PlanFusion, FusesOnlyWhatTheDeviceSupports) {
  const graph::Model model = model_of(test::kResidual);
  const Plan fused = make_plan(model, options_for("categorical_crossentropy"), FusingCapabilities());
  EXPECT_THAT(step_names(fused), ElementsAre("stem", "bn1", "conv2", "conv2/gelu", "bn2", "add", "conv3", "conv3/swish",
                                             "twice", "pool", "dropout", "logits", "probabilities"));
  EXPECT_EQ(tail_activation(step_named(fused, "bn1")).activation, nn::Activation::kRelu);
  EXPECT_EQ(tail_activation(step_named(fused, "add")).activation, nn::Activation::kRelu);
  EXPECT_TRUE(step_named(fused, "conv2").tail.empty());  // gelu needs its input in backward

  const Plan plain = make_plan(model, options_for("categorical_crossentropy"), PlainCapabilities());
  EXPECT_THAT(step_names(plain),
              ElementsAre("stem", "bn1", "relu1", "conv2", "conv2/gelu", "bn2", "add", "relu2", "conv3", "conv3/swish",
                          "twice", "pool", "dropout", "logits", "probabilities"));
}

TEST(PlanFusion, FoldsAReluIntoItsOnlyReaderIfAPooling) {
  const Plan cnn =
      make_plan(model_of(test::kFashionMnist), options_for("categorical_crossentropy"), FusingCapabilities());
  EXPECT_TRUE(step_named(cnn, "conv2d").tail.back().undone);
  EXPECT_NE(step_named(cnn, "max_pooling2d").undoes.get_if<nn::ActivationSpec>(), nullptr);
  EXPECT_FALSE(step_named(cnn, "conv2d_2").tail.back().undone);  // Flatten and Dense follow

  const graph::Model forked = model_of(R"(
layers:
  - Input: {shape: [4, 4, 2]}
  - Conv2D: {name: conv, filters: 3, kernel_size: 3, padding: same, activation: relu}
  - MaxPooling2D: {name: pool, pool_size: 2, strides: 1, padding: same}
  - Add: {name: sum, inputs: [pool, conv]}
)");
  const Plan plan = make_plan(forked, options_for("mse", {}, nn::LabelKind::kDense), FusingCapabilities());
  EXPECT_FALSE(step_named(plan, "conv").tail.back().undone);
  EXPECT_FALSE(step_named(plan, "pool").undoes);
}

/// Also fuses poolings into convolutions.
class PoolingCapabilities final : public FusingCapabilities {
 public:
  std::optional<TailFusion> fuses(const Follower& follower) const override {
    if (tail_has<nn::MaxPooling2DSpec>(follower.step)) return std::nullopt;
    if (follower.layer.get_if<nn::MaxPooling2DSpec>() == nullptr) return FusingCapabilities::fuses(follower);
    return follower.step.spec.get_if<nn::Conv2DSpec>() != nullptr ? std::optional(TailFusion{}) : std::nullopt;
  }
};

TEST(PlanFusion, FusesAPoolingIntoAConvolutionWithoutOtherReaders) {
  const auto steps_of = [](const char* text) {
    std::vector<std::string> names;
    const Plan plan = make_plan(model_of(text), options_for("mse", {}, nn::LabelKind::kDense), PoolingCapabilities());
    for (const Step& step : plan.steps)
      names.push_back(step.name + (tail_has<nn::MaxPooling2DSpec>(step) ? " + pool " : " ") +
                      plan.tensors[static_cast<std::size_t>(step.output())].shape.str());
    return names;
  };
  using Names = std::vector<std::string>;
  EXPECT_EQ(steps_of(R"(
layers:
  - Input: {shape: [8, 8, 1]}
  - Conv2D: {name: a, filters: 2, kernel_size: 3, padding: same}
  - ReLU
  - MaxPooling2D
  - Conv2D: {name: b, filters: 2, kernel_size: 3, padding: same, activation: relu}
  - MaxPooling2D: {name: pool_b}
  - MaxPooling2D: {name: second}
)"),
            (Names{"a + pool 4x4x2", "b + pool 2x2x2", "second 1x1x2"}));
  EXPECT_EQ(steps_of(R"(
layers:
  - Input: {name: image, shape: [8, 8, 1]}
  - Conv2D: {name: a, filters: 2, kernel_size: 3, padding: same, activation: relu}
  - MaxPooling2D: {name: pool}
  - UpSampling2D: {name: up}
  - Add: {name: sum, inputs: [up, a]}
)"),
            (Names{"a 8x8x2", "pool 4x4x2", "up 8x8x2", "sum 8x8x2"}));
}

TEST(PlanFusion, APooledConvolutionSavesNoOutput) {
  const Plan plan =
      make_plan(model_of(test::kFashionMnist), options_for("categorical_crossentropy"), PoolingCapabilities());
  EXPECT_TRUE(tail_has<nn::MaxPooling2DSpec>(plan.steps[0]));
  EXPECT_FALSE(backward_reads(plan.steps[0]).output);
  EXPECT_FALSE(plan.steps[0].tail.back().undone);
}

TEST(PlanFusion, FusesAnAddIntoANormalizationWithoutOtherReaders) {
  const graph::Model model = model_of(test::kBottlenecks);
  const Plan plan = make_plan(model, options_for("categorical_crossentropy"), test::SummingCapabilities());
  EXPECT_THAT(step_names(plan),
              ElementsAre("wide", "wide_bn", "short", "short_bn", "conv", "bn", "logits", "probabilities"));
  EXPECT_TRUE(step_named(plan, "wide_bn").tail.empty());  // the other summand is computed later
  const auto names_of = [&](const std::vector<int>& tensors) {
    std::vector<std::string> names;
    for (const int tensor : tensors) names.push_back(plan.tensors[at(tensor)].name);
    return names;
  };
  for (const auto& [name, own, other, output] :
       {std::tuple("short_bn", "short", "wide_bn", "relu1"), std::tuple("bn", "conv", "relu1", "relu2")}) {
    const Step& step = step_named(plan, name);
    EXPECT_TRUE(tail_has<nn::AddSpec>(step)) << name;
    EXPECT_EQ(activation_of(step.tail.back()), nn::Activation::kRelu);
    EXPECT_THAT(names_of(step.inputs), ElementsAre(own, other));
    EXPECT_EQ(plan.tensors[at(step.output())].name, output);
    EXPECT_EQ(root(plan, step.input_gradients[1]), root(plan, step.output_gradients[0])) << name;
    EXPECT_NE(root(plan, step.input_gradients[0]), root(plan, step.output_gradients[0])) << name;
    EXPECT_THAT(names_of({backward_reads(step).inputs.begin(), backward_reads(step).inputs.end()}), ElementsAre(own));
  }
  EXPECT_THAT(items(plan), ElementsAre("logits", "bn", "conv", "d relu1 +=", "short_bn", "short", "wide_bn", "wide"));

  const std::vector<Need> needs(plan.steps.size());
  EXPECT_THAT(print(plan, plan_memory(plan, needs, {}, 8, Mode::kTraining), {}, 1),
              ::testing::HasSubstr("BatchNormalization + Add + relu"));
}

TEST(PlanFusion, AnAddThatCannotBeFusedStaysAStep) {
  const auto steps_of = [](const char* text) {
    return step_names(
        make_plan(model_of(text), options_for("mse", {}, nn::LabelKind::kDense), test::SummingCapabilities()));
  };
  // Broadcast over the image, another reader, an activation in between, three summands.
  EXPECT_THAT(steps_of(R"(
layers:
  - Input: {name: image, shape: [4, 4, 2]}
  - GlobalAveragePooling2D: {name: mean, keepdims: true}
  - BatchNormalization: {name: bn, inputs: image}
  - Add: {name: sum, inputs: [bn, mean]}
)"),
              ElementsAre("mean", "bn", "sum"));
  EXPECT_THAT(steps_of(R"(
layers:
  - Input: {name: image, shape: [4, 4, 2]}
  - BatchNormalization: {name: bn}
  - Add: {name: sum, inputs: [bn, image]}
  - Add: {name: again, inputs: [sum, bn]}
)"),
              ElementsAre("bn", "sum", "again"));
  EXPECT_THAT(steps_of(R"(
layers:
  - Input: {name: image, shape: [4, 4, 2]}
  - BatchNormalization: {name: bn}
  - ReLU: {name: relu}
  - Add: {name: sum, inputs: [relu, image]}
  - BatchNormalization: {name: bn2}
  - Add: {name: three, inputs: [bn2, sum, image]}
)"),
              ElementsAre("bn", "sum", "bn2", "three"));
}

}  // namespace
}  // namespace dptrain::plan
