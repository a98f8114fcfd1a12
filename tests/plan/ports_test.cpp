// Steps with several outputs, and tensors of other types than float.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/error.h"
#include "core/index.h"
#include "plan/memory.h"
#include "plan/plan_steps.h"
#include "plan/prefix.h"
#include "plan/sample_models.h"
#include "support/halves.h"

namespace dptrain::plan {
namespace {

using test::model_of;
using test::options_for;
using test::step_named;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr const char* kHalvesNet = R"(
layers:
  - Input: {name: x, shape: [6]}
  - Dense: {name: below, units: 5}
  - TestHalves: {name: cut}
  - Dense: {name: left, units: 3}
  - Dense: {name: right, inputs: cut.high, units: 3}
  - Add: {name: sum, inputs: [left, right]}
  - Activation: {name: kind, activation: softmax}
)";

TEST(PlanPorts, EachOutputHasATensorAndAGradient) {
  const graph::Model model = model_of(kHalvesNet);
  const Plan plan = make_plan(model, options_for("categorical_crossentropy", {}), PlainCapabilities());
  const Step& cut = step_named(plan, "cut");
  ASSERT_EQ(cut.outputs.size(), 2U);
  EXPECT_EQ(plan.tensors[at(cut.outputs[1])].name, "cut.high");
  EXPECT_EQ(plan.tensors[at(cut.outputs[1])].shape, Shape{3});
  ASSERT_EQ(cut.output_gradients.size(), 2U);
  EXPECT_EQ(plan.tensors[at(cut.output_gradients[0])].shape, Shape{2});
  EXPECT_EQ(plan.tensors[at(cut.output_gradients[1])].shape, Shape{3});
  EXPECT_EQ(step_named(plan, "right").input_gradients[0], cut.output_gradients[1]);
  const std::vector<Need> needs(plan.steps.size(), {.saved = 64, .scratch = 128});
  EXPECT_THAT(print(plan, plan_memory(plan, needs, {}, 4, Mode::kTraining), {}, 0), HasSubstr("2, 3"));
}

TEST(PlanPorts, AnOutputWithoutALossHasNoGradient) {
  const graph::Model model = model_of(R"(
layers:
  - Input: {name: x, shape: [6]}
  - Dense: {name: below, units: 6}
  - TestHalves: {name: cut}
  - Activation: {name: kind, inputs: cut.high, activation: softmax}
)");
  const Plan plan = make_plan(model, options_for("categorical_crossentropy", {}), PlainCapabilities());
  const Step& cut = step_named(plan, "cut");
  EXPECT_EQ(cut.output_gradients[0], kAbsent);
  EXPECT_NE(cut.output_gradients[1], kAbsent);
  EXPECT_TRUE(cut.has_backward);
}

TEST(PlanTypes, IdsAndMasksKeepTheirTypeInAnyPrecision) {
  const graph::Model model = model_of(R"(
layers:
  - Input: {name: x, shape: [5], dtype: int32}
  - Embedding: {name: words, input_dim: 9, output_dim: 4, mask_zero: true}
  - GlobalAveragePooling1D: {name: mean}
  - Dense: {name: kind, units: 3, activation: softmax}
)");
  PlanOptions options = options_for("categorical_crossentropy", {});
  options.compute = DType::kBf16;
  const Plan plan = make_plan(model, options, PlainCapabilities());
  EXPECT_EQ(plan.tensors[at(plan.inputs[0])].type, DType::kI32);
  const Step &words = step_named(plan, "words"), &mean = step_named(plan, "mean");
  EXPECT_EQ(plan.tensors[at(words.outputs[0])].type, DType::kBf16);
  EXPECT_EQ(plan.tensors[at(words.outputs[1])].type, DType::kU8);
  EXPECT_EQ(plan.tensors[at(words.outputs[1])].bytes(3), 15U);
  EXPECT_THAT(mean.inputs, ElementsAre(words.outputs[0], words.outputs[1]));
  EXPECT_THAT(mean.masks, ElementsAre(1));
  EXPECT_THAT(mean.input_gradients, ElementsAre(words.output_gradients[0], kAbsent));
  EXPECT_EQ(words.output_gradients[1], kAbsent);
  const StepReads reads = backward_reads(mean);
  EXPECT_THAT(std::vector<int>(reads.inputs.begin(), reads.inputs.end()), ElementsAre(words.outputs[1]));
  const std::vector<Lifetime> lives = tensor_lifetimes(plan, Mode::kTraining);
  EXPECT_GT(lives[at(words.outputs[1])].last, static_cast<int>(plan.steps.size()));  // until backward of the mean
}

TEST(PlanTypes, FeaturesIncludeAMaskReadAfterTheFrozenPrefix) {
  const graph::Model model = model_of(R"(
layers:
  - Input: {name: x, shape: [5], dtype: int32}
  - Embedding: {name: words, input_dim: 9, output_dim: 4, mask_zero: true, trainable: false}
  - Dense: {name: hidden, units: 4}
  - GlobalAveragePooling1D: {name: mean}
  - Dense: {name: kind, units: 3, activation: softmax}
)");
  PlanOptions options = options_for("categorical_crossentropy", {});
  const auto border = frozen_prefix(model).border;
  EXPECT_THAT(border, ElementsAre(graph::Port(1, 0), graph::Port(1, 1)));
  options.part = Part::kHead;
  options.border = border;
  const Plan head = make_plan(model, options, PlainCapabilities());
  ASSERT_EQ(head.inputs.size(), 2U);
  EXPECT_EQ(head.tensors[at(head.inputs[1])].type, DType::kU8);
  EXPECT_EQ(step_named(head, "mean").inputs[1], head.inputs[1]);
}

TEST(PlanTypes, PlansANamedMaskLikeThatOfTheInput) {
  const graph::Model model = model_of(R"(
layers:
  - Input: {name: x, shape: [5], dtype: int32}
  - Embedding: {name: words, input_dim: 9, output_dim: 4, mask_zero: true}
  - Embedding: {name: plain, inputs: x, input_dim: 9, output_dim: 4, trainable: false}
  - GlobalAveragePooling1D: {name: given, inputs: plain, mask: words}
  - GlobalAveragePooling1D: {name: all, inputs: words, mask: none}
  - Add: {name: both, inputs: [given, all]}
  - Dense: {name: kind, units: 3, activation: softmax}
)");
  const Plan plan = make_plan(model, options_for("categorical_crossentropy", {}), PlainCapabilities());
  const Step &words = step_named(plan, "words"), &given = step_named(plan, "given"), &all = step_named(plan, "all");
  EXPECT_THAT(given.inputs, ElementsAre(step_named(plan, "plain").outputs[0], words.outputs[1]));
  EXPECT_THAT(given.masks, ElementsAre(1));
  EXPECT_THAT(all.inputs, ElementsAre(words.outputs[0]));
  EXPECT_THAT(all.masks, ElementsAre(kAbsent));
  EXPECT_THAT(frozen_prefix(model).border, ElementsAre(graph::Port(0, 0), graph::Port(2, 0)));  // not `given`
}

TEST(PlanTypes, TheLossOfAMaskedOutputReadsTheMask) {
  const graph::Model model = model_of(R"(
layers:
  - Input: {name: x, shape: [5], dtype: int32}
  - Embedding: {name: words, input_dim: 9, output_dim: 4, mask_zero: true}
  - Dense: {name: hidden, units: 4}
  - Dense: {name: kind, units: 3, activation: softmax}
)");
  const Plan plan =
      make_plan(model, options_for("categorical_crossentropy", {"categorical_accuracy", "auc"}), PlainCapabilities());
  const LossStep& loss = plan.losses.front();
  EXPECT_EQ(loss.mask, step_named(plan, "words").outputs[1]);
  EXPECT_EQ(loss.masked_positions, 5);
  EXPECT_TRUE(loss.metrics[0].masked);
  EXPECT_FALSE(loss.metrics[1].masked) << "Keras's counts ignore masks";
  EXPECT_EQ(plan.sums(), loss.valid_sum() + 1);
  const Lifetime lives = tensor_lifetimes(plan, Mode::kTraining)[at(loss.mask)];
  EXPECT_EQ(lives.last, static_cast<int>(plan.steps.size())) << "until the loss";
  ASSERT_EQ(mask_steps(plan).size(), 1U);
  EXPECT_EQ(plan.steps[at(mask_steps(plan).front())].name, "words");
}

/// The error of make_plan.
std::string masked_loss_refusal(const graph::Model& model, const PlanOptions& options) {
  try {
    make_plan(model, options, PlainCapabilities());
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

TEST(PlanTypes, RejectsAMaskForALossThatMixesSteps) {
  const graph::Model words = model_of(R"(
layers:
  - Input: {name: x, shape: [5], dtype: int32}
  - Embedding: {name: words, input_dim: 9, output_dim: 4, mask_zero: true}
  - Dense: {name: kind, units: 3, activation: sigmoid}
)");
  PlanOptions options = options_for("Dice: {axis: [1, 2]}", {});
  options.objectives.front().labels = nn::LabelKind::kDense;
  EXPECT_THAT(masked_loss_refusal(words, options),
              HasSubstr("its sums include the steps of a mask; write the last axis alone, axis: [2]"));
}

}  // namespace
}  // namespace dptrain::plan
