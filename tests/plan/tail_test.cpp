// The tail of a step: its order, its inputs, and layers that are never offered to an op.

#include "plan/tail.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/error.h"
#include "plan/memory.h"
#include "plan/sample_models.h"
#include "plan/stages.h"

namespace dptrain::plan {
namespace {

using test::model_of;
using test::options_for;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

/// Accepts every offered layer with `fusion` and records it.
class Greedy final : public Capabilities {
 public:
  explicit Greedy(TailFusion fusion = {}) : fusion_(fusion) {}
  std::optional<TailFusion> fuses(const Follower& follower) const override {
    offered.push_back(follower.step.name + " < " + follower.layer.name());
    for (const Shape& shape : follower.layer_inputs) offered.back() += " " + shape.str();
    offered.back() += " = " + follower.layer_output.str();
    return fusion_;
  }
  bool undoes(const Step& reader, const TailEntry&) const override {
    return reader.spec.get_if<nn::MaxPooling2DSpec>() != nullptr;
  }

  mutable std::vector<std::string> offered;

 private:
  TailFusion fusion_;
};

Plan plan_of(const char* text, const Capabilities& device) {
  return make_plan(model_of(text), options_for("mse", {}, nn::LabelKind::kDense), device);
}

std::vector<std::string> tail_of(const Step& step) {
  std::vector<std::string> names;
  for (const TailEntry& entry : step.tail) names.push_back(entry.layer.name());
  return names;
}

constexpr const char* kSumReluPool = R"(
layers:
  - Input: {name: image, shape: [4, 6, 2]}
  - Conv2D: {name: conv, filters: 2, kernel_size: 1}
  - Add: {name: sum, inputs: [conv, image]}
  - ReLU: {name: relu}
  - MaxPooling2D: {name: pool}
)";

TEST(Tail, HasTheOrderOfTheGraph) {
  const Greedy device;
  const graph::Model model = model_of(kSumReluPool);
  const Plan plan = make_plan(model, options_for("mse", {}, nn::LabelKind::kDense), device);
  ASSERT_EQ(plan.steps.size(), 1U);
  const Step& step = plan.steps[0];
  EXPECT_THAT(tail_of(step), ElementsAre("Add", "Activation", "MaxPooling2D"));
  EXPECT_THAT(device.offered, ElementsAre("conv < Add 4x6x2 4x6x2 = 4x6x2", "conv < Activation 4x6x2 = 4x6x2",
                                          "conv < MaxPooling2D 4x6x2 = 2x3x2"));
  EXPECT_EQ(plan.tensors[at(step.output())].name, "pool");
  EXPECT_EQ(plan.tensors[at(step.output())].shape, (Shape{2, 3, 2}));
  EXPECT_EQ(tail_activation(step).activation, nn::Activation::kRelu);

  // One input of the convolution, which backward may read, and one of the Add.
  ASSERT_EQ(step.inputs.size(), 2U);
  EXPECT_EQ(own_inputs(step), 1U);
  EXPECT_EQ(entry_of_input(step, 0), nullptr);
  EXPECT_EQ(entry_of_input(step, 1), &step.tail[0]);
  EXPECT_EQ(backward_reads(step).inputs.size(), 1U);

  const std::string text = print(plan, plan_memory(plan, std::vector<Need>(1), {}, 8, Mode::kTraining), {}, 1);
  EXPECT_THAT(text, HasSubstr("Conv2D + Add + relu + MaxPooling2D"));
}

TEST(Tail, ItsLastEntryDeterminesWhetherBackwardReadsTheOutput) {
  class OfActivations final : public Capabilities {
   public:
    std::optional<TailFusion> fuses(const Follower& follower) const override {
      return TailFusion{.reads_output = follower.layer.get_if<nn::ActivationSpec>() != nullptr};
    }
    bool undoes(const Step&, const TailEntry&) const override { return false; }
  };
  EXPECT_FALSE(backward_reads(plan_of(kSumReluPool, OfActivations()).steps[0]).output);
  EXPECT_TRUE(backward_reads(plan_of(R"(
layers:
  - Input: {shape: [4]}
  - Dense: {units: 3, activation: tanh}
)",
                                     OfActivations())
                                 .steps[0])
                  .output);
}

/// A layer with weights, a random one, one that reads two inputs in backward, one whose other input is computed later,
/// one with another reader of its input.
TEST(Tail, NeverOffersSomeLayers) {
  for (const char* text : {R"(
layers:
  - Input: {shape: [4, 4, 2]}
  - Conv2D: {filters: 2, kernel_size: 1}
  - BatchNormalization
)",
                           R"(
layers:
  - Input: {shape: [4, 4, 2]}
  - Conv2D: {filters: 2, kernel_size: 1}
  - Dropout: 0.5
)",
                           R"(
layers:
  - Input: {name: image, shape: [4, 4, 2]}
  - Conv2D: {name: conv, filters: 2, kernel_size: 1}
  - Multiply: {inputs: [conv, image]}
)",
                           R"(
layers:
  - Input: {name: image, shape: [4, 4, 2]}
  - Conv2D: {name: conv, filters: 2, kernel_size: 1}
  - MaxPooling2D: {name: pool, pool_size: 2, strides: 1, padding: same}
  - Subtract: {inputs: [pool, conv]}
)"}) {
    const Greedy device;
    const Plan plan = plan_of(text, device);
    EXPECT_THAT(tail_of(plan.steps[0]), IsEmpty()) << text;
  }
  const Greedy device;
  const Plan plan = plan_of(R"(
layers:
  - Input: {name: image, shape: [4]}
  - Dense: {name: early, inputs: image, units: 4}
  - Dense: {name: late, inputs: image, units: 4}
  - Add: {name: sum, inputs: [early, late]}
)",
                            device);
  EXPECT_THAT(device.offered, ElementsAre("late < Add 4 4 = 4"));
  EXPECT_THAT(tail_of(plan.steps[0]), IsEmpty());
}

TEST(Tail, PassesOnlyOneGradient) {
  const char* const two_sums = R"(
layers:
  - Input: {name: image, shape: [4]}
  - Dense: {name: other, units: 4}
  - Dense: {name: own, inputs: image, units: 4}
  - Add: {name: sum, inputs: [own, other]}
  - Add: {name: again, inputs: [sum, image]}
)";
  const Plan plan = plan_of(two_sums, Greedy());
  ASSERT_EQ(plan.steps.size(), 2U);
  EXPECT_THAT(tail_of(plan.steps[1]), ElementsAre("Add", "Add"));
  EXPECT_EQ(own_inputs(plan.steps[1]), 1U);
  EXPECT_NE(root(plan, plan.steps[1].input_gradients[1]), root(plan, plan.steps[1].output_gradients[0]));
  try {
    plan_of(two_sums, Greedy({.passes_gradient = true}));
    FAIL() << "two gradients lie in one place";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kInternal);
    EXPECT_STREQ(error.what(), "step 'own' would leave 2 gradients in one place");
  }
}

TEST(Tail, OnlyTheLastEntryIsUndoneByTheReader) {
  const Plan plan = plan_of(R"(
layers:
  - Input: {shape: [4, 4, 2]}
  - Conv2D: {name: conv, filters: 2, kernel_size: 1, activation: relu}
  - Conv2D: {name: conv2, filters: 2, kernel_size: 1, activation: tanh}
  - MaxPooling2D: {name: pool}
)",
                            test::FusingCapabilities());
  EXPECT_FALSE(plan.steps[0].tail.back().undone);  // its reader is a convolution
  EXPECT_FALSE(plan.steps[1].tail.back().undone);  // tanh
  EXPECT_FALSE(plan.steps[2].undoes);
}

}  // namespace
}  // namespace dptrain::plan
