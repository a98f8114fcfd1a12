#include "plan/plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <sstream>

#include "core/index.h"
#include "plan/memory.h"
#include "plan/plan_steps.h"
#include "plan/sample_models.h"
#include "support/test_data.h"

namespace dptrain::plan {
namespace {

using test::FusingCapabilities;
using test::items;
using test::model_of;
using test::options_for;
using test::step_named;
using test::step_names;
using ::testing::ElementsAre;

TEST(Plan, PrintsTheFashionMnistCnn) {
  const graph::Model model = model_of(test::kFashionMnist);
  const Plan plan = make_plan(model, options_for("categorical_crossentropy", {"accuracy"}), FusingCapabilities());
  const std::vector<Need> needs(plan.steps.size(), {.saved = 64, .scratch = 4096});
  const MemoryPlan memory = plan_memory(plan, needs, {}, 128, Mode::kTraining);
  const std::string text = print(plan, memory, {"forward direct; data -; weights direct"}, 2);

  std::ifstream file(dptrain::test::test_data("plan/fashion_mnist_plan.txt"));
  std::stringstream golden;
  golden << file.rdbuf();
  EXPECT_EQ(text, golden.str());
}

TEST(Plan, SumsGradientsOfATensorWithSeveralReaders) {
  const Plan plan = make_plan(model_of(test::kResidual), options_for("categorical_crossentropy"), FusingCapabilities());
  // "twice" reads conv3 two times and relu2; relu2 has two readers, relu1 two.
  EXPECT_THAT(items(plan), ElementsAre("logits", "dropout", "pool", "twice", "d conv3/swish +=", "conv3/swish", "conv3",
                                       "d relu2 +=", "add", "bn2", "conv2/gelu", "conv2", "d relu1 +=", "bn1", "stem"));
}

TEST(Plan, EveryGradientTensorHasOneReader) {
  for (const char* text : {test::kResidual, test::kFashionMnist, test::kFrozen}) {
    const Plan plan = make_plan(model_of(text), options_for("categorical_crossentropy"), PlainCapabilities());
    std::map<int, int> readers;
    for (const Step& step : plan.steps)
      if (step.has_backward) ++readers[step.output_gradients[0]];
    for (const BackwardItem& item : plan.backward)
      if (item.source != kAbsent) ++readers[item.source];
    for (const auto& [tensor, count] : readers) EXPECT_EQ(count, 1) << plan.tensors[at(tensor)].name;
  }
}

TEST(Plan, SharedWeightsAreSummedOverTheirCalls) {
  const Plan plan = make_plan(model_of(test::kShared), options_for("binary_crossentropy", {}, nn::LabelKind::kDense),
                              FusingCapabilities());
  EXPECT_THAT(items(plan), ElementsAre("same", "merged", "encoded_b", "encoded_aa", "encoder/kernel +=",
                                       "encoder/bias +=", "encoded_a", "encoder/kernel +=", "encoder/bias +="));
  EXPECT_EQ(step_named(plan, "encoded_a").input_gradients, std::vector{kAbsent});
  EXPECT_EQ(plan.backward.back().buckets_ready, std::vector{0});
}

TEST(Plan, WeighsCallsOfASharedNormalizationLikeKeras) {
  const graph::Model model = model_of(R"(
shared:
  norm: {BatchNormalization: {momentum: 0.8}}
layers:
  - Input: {shape: [4]}
  - norm: {name: n1}
  - Dense: {units: 4}
  - norm: {name: n2}
)");
  const Plan plan = make_plan(model, options_for("mse", {}, nn::LabelKind::kDense), PlainCapabilities());
  // Two updates of m = 0.8: 0.64 old + 0.2 (0.8 v1 + v2), equal to one with 0.64 and weights 0.16 / 0.36, 0.2 / 0.36.
  EXPECT_NEAR(step_named(plan, "n1").statistics_weight, 0.16 / 0.36, 1e-15);
  EXPECT_NEAR(step_named(plan, "n2").statistics_weight, 0.2 / 0.36, 1e-15);
  for (const Parameter& p : plan.parameters) {
    if (p.kind == ParameterKind::kStatistic) {
      EXPECT_NEAR(p.momentum, 0.64, 1e-15);
    }
  }
}

TEST(Plan, HasNoBackwardBelowTheFirstTrainableLayer) {
  const Plan plan = make_plan(model_of(test::kFrozen), options_for("categorical_crossentropy"), FusingCapabilities());
  EXPECT_THAT(items(plan), ElementsAre("predictions", "pool", "block2_bn", "block2_conv1"));
  EXPECT_EQ(step_named(plan, "block2_conv1").input_gradients, std::vector{kAbsent});
  EXPECT_TRUE(step_named(plan, "block2_bn").inference_mode);
  EXPECT_TRUE(step_named(plan, "block1_bn").inference_mode);
  EXPECT_THAT(step_named(plan, "block2_bn").parameter_gradients, ElementsAre(false, false, false, false));
  EXPECT_EQ(plan.statistics_end, plan.trainable_end);
}

TEST(Plan, NormalizationInInferenceModeTrainsItsScaleAndKeepsItsStatistics) {
  const Plan plan = make_plan(model_of(R"(
layers:
  - Input: {name: x, shape: [6]}
  - Dense: {name: below, units: 5}
  - BatchNormalization: {name: norm, inference_mode: true}
  - Dense: {name: kind, units: 3, activation: softmax}
)"),
                              options_for("categorical_crossentropy"), FusingCapabilities());
  const Step& norm = step_named(plan, "norm");
  EXPECT_TRUE(norm.inference_mode);
  EXPECT_THAT(norm.parameter_gradients, ElementsAre(true, true, false, false));
  EXPECT_EQ(plan.statistics_end, plan.trainable_end);
}

TEST(Plan, OrdersParametersByTheirGradients) {
  const Plan plan = make_plan(model_of(test::kResidual), options_for("categorical_crossentropy"), PlainCapabilities());
  std::vector<std::string> paths;
  for (const Parameter& p : plan.parameters) paths.push_back(p.path);
  EXPECT_THAT(paths, ElementsAre("logits/kernel", "logits/bias", "conv3/kernel", "conv3/bias", "bn2/gamma", "bn2/beta",
                                 "conv2/kernel", "conv2/bias", "bn1/gamma", "bn1/beta", "stem/kernel",
                                 "bn2/moving_mean", "bn2/moving_variance", "bn1/moving_mean", "bn1/moving_variance"));
}

TEST(Plan, WithoutALossThereIsOnlyForward) {
  const Plan plan = make_plan(model_of(test::kResidual), {}, FusingCapabilities());
  EXPECT_TRUE(plan.backward.empty());
  EXPECT_TRUE(plan.buckets.empty());
  EXPECT_FALSE(plan.has_loss());
  for (const Step& step : plan.steps) EXPECT_FALSE(step.has_backward || step.fused_into_loss);
}

TEST(Plan, OmitsStepsWithoutReaders) {
  graph::Model model = model_of(R"(
layers:
  - Input: {name: x, shape: [4]}
  - Dense: {name: used, units: 3}
  - Dense: {name: unused, units: 5}
outputs: [used, unused]
)");
  model.graph.outputs.pop_back();  // a config cannot do this
  const Plan plan = make_plan(model, options_for("mse", {}, nn::LabelKind::kDense), PlainCapabilities());
  EXPECT_THAT(step_names(plan), ElementsAre("used"));
  for (const Parameter& p : plan.parameters)
    EXPECT_EQ(p.kind, p.path.starts_with("used") ? ParameterKind::kTrainable : ParameterKind::kFrozen) << p.path;
}

TEST(Plan, SetsSynchronizedInEveryNormalization) {
  PlanOptions options = options_for("categorical_crossentropy");
  options.sync_batchnorm = true;
  const Plan plan = make_plan(model_of(test::kResidual), options, PlainCapabilities());
  EXPECT_TRUE(step_named(plan, "bn1").spec.as<nn::BatchNormalizationSpec>().synchronized);
  EXPECT_TRUE(step_named(plan, "bn2").spec.as<nn::BatchNormalizationSpec>().synchronized);
}

}  // namespace
}  // namespace dptrain::plan
