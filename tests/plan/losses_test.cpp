// The losses of a plan's outputs: fused activations, and sums of their gradients.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/error.h"
#include "core/index.h"
#include "plan/memory.h"
#include "plan/plan_simulator.h"
#include "plan/plan_steps.h"
#include "plan/sample_models.h"

namespace dptrain::plan {
namespace {

using test::FusingCapabilities;
using test::model_of;
using test::options_for;
using test::step_named;
using test::step_names;
using ::testing::ElementsAre;
using Fusion = LossStep::Fusion;

TEST(PlanLosses, FusesTheLastActivationIntoTheLoss) {
  const graph::Model model = model_of(test::kFashionMnist);
  const auto fusion = [&](const std::string& loss, const std::vector<std::string>& metrics, nn::LabelKind labels) {
    const Plan plan = make_plan(model, options_for(loss, metrics, labels), FusingCapabilities());
    EXPECT_EQ(plan.losses.front().from_logits, plan.losses.front().fusion != Fusion::kNone);
    EXPECT_EQ(plan.steps.back().fused_into_loss, plan.losses.front().fusion != Fusion::kNone);
    EXPECT_EQ(plan.tensors[at(plan.losses.front().prediction)].name,
              plan.losses.front().fusion == Fusion::kNone ? "dense_1/softmax" : "dense_1");
    EXPECT_EQ(plan.tensors[at(plan.outputs.front())].name, "dense_1/softmax");
    return plan.losses.front().fusion;
  };
  EXPECT_EQ(fusion("categorical_crossentropy", {"accuracy"}, nn::LabelKind::kDense), Fusion::kSoftmax);
  EXPECT_EQ(fusion("sparse_categorical_crossentropy", {"accuracy"}, nn::LabelKind::kClass), Fusion::kSoftmax);
  EXPECT_EQ(fusion("mse", {}, nn::LabelKind::kDense), Fusion::kNone);
  EXPECT_EQ(fusion("categorical_crossentropy", {"mae"}, nn::LabelKind::kDense), Fusion::kSoftmax);
  EXPECT_EQ(fusion("categorical_crossentropy", {"binary_accuracy"}, nn::LabelKind::kDense), Fusion::kSoftmax);

  const Plan sigmoid =
      make_plan(model_of(test::kShared), options_for("binary_crossentropy", {"accuracy"}, nn::LabelKind::kDense),
                FusingCapabilities());
  EXPECT_EQ(sigmoid.losses.front().fusion, Fusion::kSigmoid);
  EXPECT_THAT(step_names(sigmoid),
              ElementsAre("encoded_a", "encoded_aa", "encoded_b", "merged", "same", "same/sigmoid"));
  const Plan regression =
      make_plan(model_of(test::kShared), options_for("mse", {}, nn::LabelKind::kDense), FusingCapabilities());
  EXPECT_EQ(tail_activation(step_named(regression, "same")).activation,
            nn::Activation::kSigmoid);  // not fused
}

constexpr const char* kTwoOutputs = R"(
layers:
  - Input: {name: x, shape: [4]}
  - Dense: {name: trunk, units: 6, activation: relu}
  - Dense: {name: kind, units: 3, activation: softmax}
  - Dense: {name: box, inputs: trunk, units: 2}
outputs: [kind, box]
)";

PlanOptions two_losses() {
  PlanOptions options = options_for("sparse_categorical_crossentropy", {"accuracy"});
  options.objectives.push_back(
      {.output = 1, .loss = test::value_of(nn::loss_family(), "mse"), .weight = 0.5, .labels = nn::LabelKind::kDense});
  return options;
}

TEST(PlanLosses, AnIgnoredClassMasksPositions) {
  constexpr const char* kIgnoring = "SparseCategoricalCrossentropy: {ignore_class: 255}";
  constexpr const char* kMap = R"(
layers:
  - Input: {name: x, shape: [4, 5, 2]}
  - Dense: {name: classes, units: 3, activation: softmax}
)";
  const Plan plan = make_plan(model_of(kMap), options_for(kIgnoring, {"accuracy", "MeanIoU: {num_classes: 3}"}),
                              FusingCapabilities());
  const LossStep& loss = plan.losses.front();
  EXPECT_EQ(loss.ignore_class, 255);
  EXPECT_EQ(loss.masked_positions, 20);
  EXPECT_EQ(loss.mask, kAbsent);
  EXPECT_EQ(predicted_tensors(plan), plan.outputs) << "no layer makes the mask";
  EXPECT_TRUE(mask_steps(plan).empty());
  for (const nn::ResolvedMetric& metric : loss.metrics) EXPECT_TRUE(metric.masked) << metric.names.front();

  constexpr const char* kMasked = R"(
layers:
  - Input: {name: x, shape: [5], dtype: int32}
  - Embedding: {name: words, input_dim: 9, output_dim: 4, mask_zero: true}
  - Dense: {name: tag, units: 3, activation: softmax}
)";
  try {
    make_plan(model_of(kMasked), options_for(kIgnoring), FusingCapabilities());
    FAIL() << "expected an error";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), ::testing::HasSubstr("ignore_class and the mask of output 'tag' cannot be combined"));
  }
}

/// Options of a loss of maps whose data set ignores a class.
PlanOptions ignoring(const std::string& loss, const std::vector<std::string>& metrics = {},
                     nn::LabelKind labels = nn::LabelKind::kDense) {
  PlanOptions options = options_for(loss, metrics, labels);
  options.objectives.front().ignore_class = 255;
  return options;
}

TEST(PlanLosses, TheIgnoredClassOfADataSetMasksAllLossesOfClasses) {
  const graph::Model maps = model_of("layers: [Input: {shape: [4, 5, 2]}, Dense: {units: 3, activation: softmax}]");
  const graph::Model single = model_of("layers: [Input: {shape: [4, 5, 2]}, Dense: {units: 1, activation: sigmoid}]");
  const auto loss_of = [&](const graph::Model& model, const std::string& loss) {
    const Plan plan = make_plan(model, ignoring(loss, {"accuracy"}), FusingCapabilities());
    EXPECT_EQ(plan.losses.front().ignore_class, 255) << loss;
    EXPECT_EQ(plan.losses.front().masked_positions, 20) << loss;
    EXPECT_TRUE(plan.losses.front().metrics.front().masked) << loss;
    return plan.losses.front();
  };
  for (const char* const loss :
       {"categorical_crossentropy", "categorical_focal_crossentropy", "Dice: {axis: [3]}", "Tversky: {axis: [-1]}"})
    EXPECT_TRUE(loss_of(maps, loss).averages_valid()) << loss << " has a number per position";
  EXPECT_TRUE(loss_of(single, "binary_crossentropy").averages_valid());
  EXPECT_TRUE(loss_of(single, "binary_focal_crossentropy").averages_valid());
  for (const char* const loss : {"Dice: {axis: [1, 2, 3]}", "Dice: {axis: [1, 2]}", "Tversky: {axis: [2]}"})
    EXPECT_FALSE(loss_of(maps, loss).averages_valid()) << loss << " is a mean over samples";
}

TEST(PlanLosses, AnIgnoredClassRefusesR2Score) {
  const graph::Model model = model_of("layers: [Input: {shape: [4]}, Dense: {units: 1, activation: sigmoid}]");
  try {
    make_plan(model, ignoring("binary_crossentropy", {"R2Score"}), FusingCapabilities());
    FAIL() << "expected an error";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), ::testing::HasSubstr("R2Score: cannot leave out the samples of the ignored class 255"));
  }
}

TEST(PlanLosses, WeighsTheTwoClassesOfEachPosition) {
  const graph::Model model = model_of("layers: [Input: {shape: [4, 5, 2]}, Dense: {units: 1, activation: sigmoid}]");
  PlanOptions options = options_for("binary_crossentropy", {}, nn::LabelKind::kDense);
  options.objectives.front().class_weights = {1, 2};
  EXPECT_EQ(make_plan(model, options, FusingCapabilities()).losses.front().class_weights.size(), 2U);
}

TEST(PlanLosses, EveryOutputHasItsLoss) {
  const Plan plan = make_plan(model_of(kTwoOutputs), two_losses(), FusingCapabilities());
  ASSERT_EQ(plan.losses.size(), 2U);
  const LossStep &kind = plan.losses[0], &box = plan.losses[1];
  EXPECT_EQ(kind.name, "kind");
  EXPECT_EQ(kind.fusion, Fusion::kSoftmax);
  EXPECT_EQ(box.first_sum, 2U);  // after the loss and the accuracy of the other
  EXPECT_EQ(box.weight, 0.5);
  EXPECT_EQ(plan.sums(), 3U);
  // Both heads contribute a gradient to the trunk: one writes it, the other's is added.
  EXPECT_THAT(plan.backward.at(2).kind, BackwardItem::Kind::kAccumulateTensor);
  for (const Mode mode : {Mode::kTraining, Mode::kInference}) {
    const std::vector<Need> needs(plan.steps.size());
    const MemoryPlan memory = plan_memory(plan, needs, {}, 5, mode);
    EXPECT_THAT(test::Simulation(plan, memory, needs).run(mode), ::testing::IsEmpty());
  }
}

TEST(PlanLosses, AnOutputWithReadersKeepsItsActivation) {
  const Plan plan = make_plan(model_of(R"(
layers:
  - Input: {name: x, shape: [4]}
  - Dense: {name: kind, units: 3, activation: softmax}
  - Dense: {name: box, units: 2}
outputs: [kind, box]
)"),
                              two_losses(), FusingCapabilities());
  EXPECT_EQ(plan.losses[0].fusion, Fusion::kNone);
  EXPECT_FALSE(plan.losses[0].from_logits);
  // The loss writes the gradient of the probabilities; that of the second layer is added.
  EXPECT_THAT(plan.backward.at(1).kind, BackwardItem::Kind::kAccumulateTensor);
  EXPECT_EQ(plan.backward.at(1).destination, plan.losses[0].prediction_gradient);
}

TEST(PlanLosses, TwoLossesMayReadOneTensor) {
  PlanOptions options = options_for("mse", {}, nn::LabelKind::kDense);
  options.objectives.push_back(options.objectives.front());
  options.objectives.back().output = 1;
  graph::Model model = model_of("layers: [Input: {name: x, shape: [4]}, Dense: {name: y, units: 3}]");
  model.graph.outputs.push_back(model.graph.outputs.front());
  const Plan plan = make_plan(model, options, FusingCapabilities());
  EXPECT_EQ(plan.losses[0].prediction, plan.losses[1].prediction);
  EXPECT_NE(plan.losses[0].prediction_gradient, plan.losses[1].prediction_gradient);
  EXPECT_THAT(plan.backward.at(0).kind, BackwardItem::Kind::kAccumulateTensor);
  EXPECT_EQ(plan.backward.at(0).source, plan.losses[1].prediction_gradient);
}

}  // namespace
}  // namespace dptrain::plan
