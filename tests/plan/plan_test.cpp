#include "plan/plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <set>
#include <sstream>

#include "core/index.h"
#include "layers/activation_layer.h"
#include "plan/memory.h"
#include "plan/sample_models.h"
#include "plan/simulate.h"
#include "support/test_data.h"

namespace dptrain::plan {
namespace {

using test::FusingCapabilities;
using test::model_of;
using test::options_for;
using ::testing::ElementsAre;
using Fusion = LossStep::Fusion;

std::vector<std::string> step_names(const Plan& plan) {
  std::vector<std::string> names;
  for (const Step& step : plan.steps) names.push_back(step.name);
  return names;
}

const Step& step_named(const Plan& plan, const std::string& name) {
  for (const Step& step : plan.steps)
    if (step.name == name) return step;
  throw std::runtime_error("no step " + name);
}

std::vector<std::string> items(const Plan& plan) {
  std::vector<std::string> all;
  for (const BackwardItem& item : plan.backward) {
    if (item.kind == BackwardItem::Kind::kStep) all.push_back(plan.steps[at(item.step)].name);
    if (item.kind == BackwardItem::Kind::kAccumulateTensor)
      all.push_back(plan.tensors[at(item.destination)].name + " +=");
    if (item.kind == BackwardItem::Kind::kAccumulateParameter)
      all.push_back(plan.parameters[at(item.destination)].path + " +=");
  }
  return all;
}

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

TEST(Plan, FusesWhatTheDeviceFusesAndSplitsTheRest) {
  const graph::Model model = model_of(test::kResidual);
  const Plan fused = make_plan(model, options_for("categorical_crossentropy"), FusingCapabilities());
  EXPECT_THAT(step_names(fused), ElementsAre("stem", "bn1", "conv2", "conv2/gelu", "bn2", "add", "conv3", "conv3/swish",
                                             "twice", "pool", "dropout", "logits", "probabilities"));
  EXPECT_EQ(tail_activation(step_named(fused, "bn1")).activation, layers::Activation::kRelu);
  EXPECT_EQ(tail_activation(step_named(fused, "add")).activation, layers::Activation::kRelu);
  EXPECT_TRUE(step_named(fused, "conv2").tail.empty());  // gelu needs its input in backward

  const Plan plain = make_plan(model, options_for("categorical_crossentropy"), PlainCapabilities());
  EXPECT_THAT(step_names(plain),
              ElementsAre("stem", "bn1", "relu1", "conv2", "conv2/gelu", "bn2", "add", "relu2", "conv3", "conv3/swish",
                          "twice", "pool", "dropout", "logits", "probabilities"));
}

TEST(Plan, FoldsAReluOnlyIntoAPoolingThatReadsItAlone) {
  const Plan cnn =
      make_plan(model_of(test::kFashionMnist), options_for("categorical_crossentropy"), FusingCapabilities());
  EXPECT_TRUE(step_named(cnn, "conv2d").tail.back().undone);
  EXPECT_NE(step_named(cnn, "max_pooling2d").undoes.get_if<layers::ActivationSpec>(), nullptr);
  EXPECT_FALSE(step_named(cnn, "conv2d_2").tail.back().undone);  // Flatten and Dense follow

  const graph::Model forked = model_of(R"(
layers:
  - Input: {shape: [4, 4, 2]}
  - Conv2D: {name: conv, filters: 3, kernel_size: 3, padding: same, activation: relu}
  - MaxPooling2D: {name: pool, pool_size: 2, strides: 1, padding: same}
  - Add: {name: sum, inputs: [pool, conv]}
)");
  const Plan plan = make_plan(forked, options_for("mse", {}, optim::LabelKind::kDense), FusingCapabilities());
  EXPECT_FALSE(step_named(plan, "conv").tail.back().undone);
  EXPECT_FALSE(step_named(plan, "pool").undoes);
}

/// And computes poolings in convolutions.
class PoolingCapabilities final : public FusingCapabilities {
 public:
  std::optional<TailFusion> fuses(const Follower& follower) const override {
    if (tail_has<layers::MaxPooling2DSpec>(follower.step)) return std::nullopt;
    if (follower.layer.get_if<layers::MaxPooling2DSpec>() == nullptr) return FusingCapabilities::fuses(follower);
    return follower.step.spec.get_if<layers::Conv2DSpec>() != nullptr ? std::optional(TailFusion{}) : std::nullopt;
  }
};

TEST(Plan, APoolingBecomesPartOfTheConvolutionThatItReadsAlone) {
  const auto steps_of = [](const char* text) {
    std::vector<std::string> names;
    const Plan plan =
        make_plan(model_of(text), options_for("mse", {}, optim::LabelKind::kDense), PoolingCapabilities());
    for (const Step& step : plan.steps)
      names.push_back(step.name + (tail_has<layers::MaxPooling2DSpec>(step) ? " + pool " : " ") +
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

TEST(Plan, APooledConvolutionKeepsNeitherItsOutputNorThePooled) {
  const Plan plan =
      make_plan(model_of(test::kFashionMnist), options_for("categorical_crossentropy"), PoolingCapabilities());
  EXPECT_TRUE(tail_has<layers::MaxPooling2DSpec>(plan.steps[0]));
  EXPECT_FALSE(backward_reads(plan.steps[0]).output);
  EXPECT_FALSE(plan.steps[0].tail.back().undone);
}

TEST(Plan, SumsWhereATensorFansOut) {
  const Plan plan = make_plan(model_of(test::kResidual), options_for("categorical_crossentropy"), FusingCapabilities());
  // "twice" reads conv3 two times and relu2; relu2 has two readers, relu1 two.
  EXPECT_THAT(items(plan), ElementsAre("logits", "dropout", "pool", "twice", "d conv3/swish +=", "conv3/swish", "conv3",
                                       "d relu2 +=", "add", "bn2", "conv2/gelu", "conv2", "d relu1 +=", "bn1", "stem"));
}

TEST(Plan, AnAddBecomesPartOfTheNormalisationThatItReadsAlone) {
  const graph::Model model = model_of(test::kBottlenecks);
  const Plan plan = make_plan(model, options_for("categorical_crossentropy"), test::SummingCapabilities());
  EXPECT_THAT(step_names(plan),
              ElementsAre("wide", "wide_bn", "short", "short_bn", "conv", "bn", "logits", "probabilities"));
  EXPECT_TRUE(step_named(plan, "wide_bn").tail.empty());  // the other summand does not exist yet
  const auto names_of = [&](const std::vector<int>& tensors) {
    std::vector<std::string> names;
    for (const int tensor : tensors) names.push_back(plan.tensors[at(tensor)].name);
    return names;
  };
  for (const auto& [name, own, other, output] :
       {std::tuple("short_bn", "short", "wide_bn", "relu1"), std::tuple("bn", "conv", "relu1", "relu2")}) {
    const Step& step = step_named(plan, name);
    EXPECT_TRUE(tail_has<layers::AddSpec>(step)) << name;
    EXPECT_EQ(activation_of(step.tail.back()), layers::Activation::kRelu);
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

TEST(Plan, AnAddStaysAStepWhereItCannotBeTakenOver) {
  const auto steps_of = [](const char* text) {
    return step_names(
        make_plan(model_of(text), options_for("mse", {}, optim::LabelKind::kDense), test::SummingCapabilities()));
  };
  // Spread over the image; read by others; with an activation between; three summands.
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
  const Plan plan = make_plan(model_of(test::kShared), options_for("binary_crossentropy", {}, optim::LabelKind::kDense),
                              FusingCapabilities());
  EXPECT_THAT(items(plan), ElementsAre("same", "merged", "encoded_b", "encoded_aa", "encoder/kernel +=",
                                       "encoder/bias +=", "encoded_a", "encoder/kernel +=", "encoder/bias +="));
  EXPECT_EQ(step_named(plan, "encoded_a").input_gradients, std::vector{kAbsent});
  EXPECT_EQ(plan.backward.back().buckets_ready, std::vector{0});
}

TEST(Plan, CallsOfASharedNormalisationAreWeightedAsKerasUpdatesThem) {
  const graph::Model model = model_of(R"(
shared:
  norm: {BatchNormalization: {momentum: 0.8}}
layers:
  - Input: {shape: [4]}
  - norm: {name: n1}
  - Dense: {units: 4}
  - norm: {name: n2}
)");
  const Plan plan = make_plan(model, options_for("mse", {}, optim::LabelKind::kDense), PlainCapabilities());
  // Two updates of m = 0.8: 0.64 old + 0.2 (0.8 v1 + v2), which is one with 0.64 and weights 0.16 / 0.36, 0.2 / 0.36.
  EXPECT_NEAR(step_named(plan, "n1").statistics_weight, 0.16 / 0.36, 1e-15);
  EXPECT_NEAR(step_named(plan, "n2").statistics_weight, 0.2 / 0.36, 1e-15);
  for (const Parameter& p : plan.parameters) {
    if (p.kind == ParameterKind::kStatistic) {
      EXPECT_NEAR(p.momentum, 0.64, 1e-15);
    }
  }
}

TEST(Plan, NothingBelowTheFirstTrainableLayerGoesBackward) {
  const Plan plan = make_plan(model_of(test::kFrozen), options_for("categorical_crossentropy"), FusingCapabilities());
  EXPECT_THAT(items(plan), ElementsAre("predictions", "pool", "block2_bn", "block2_conv1"));
  EXPECT_EQ(step_named(plan, "block2_conv1").input_gradients, std::vector{kAbsent});
  EXPECT_TRUE(step_named(plan, "block2_bn").inference_mode);
  EXPECT_TRUE(step_named(plan, "block1_bn").inference_mode);
  EXPECT_THAT(step_named(plan, "block2_bn").parameter_gradients, ElementsAre(false, false, false, false));
  EXPECT_EQ(plan.statistics_end, plan.trainable_end);
}

TEST(Plan, PutsParametersIntoTheOrderOfTheirGradients) {
  const Plan plan = make_plan(model_of(test::kResidual), options_for("categorical_crossentropy"), PlainCapabilities());
  std::vector<std::string> paths;
  for (const Parameter& p : plan.parameters) paths.push_back(p.path);
  EXPECT_THAT(paths, ElementsAre("logits/kernel", "logits/bias", "conv3/kernel", "conv3/bias", "bn2/gamma", "bn2/beta",
                                 "conv2/kernel", "conv2/bias", "bn1/gamma", "bn1/beta", "stem/kernel",
                                 "bn2/moving_mean", "bn2/moving_variance", "bn1/moving_mean", "bn1/moving_variance"));
}

class Buckets : public ::testing::TestWithParam<std::tuple<const char*, std::uint64_t>> {};

TEST_P(Buckets, TileTheArenaAndAreReadyOnceInOrder) {
  const auto [text, bytes] = GetParam();
  PlanOptions options = options_for("categorical_crossentropy");
  options.first_bucket_bytes = bytes / 2;
  options.bucket_bytes = bytes;
  const Plan plan = make_plan(model_of(text), options, PlainCapabilities());

  std::int64_t end = 0;
  for (const Bucket& bucket : plan.buckets) {
    EXPECT_EQ(bucket.begin, end);
    EXPECT_GT(bucket.end, bucket.begin);
    EXPECT_EQ(bucket.end % kAlignElements, 0);
    end = bucket.end;
  }
  EXPECT_EQ(end, plan.statistics_end);
  for (const Parameter& p : plan.parameters) {
    EXPECT_EQ(p.offset % kAlignElements, 0);
    if (p.kind == ParameterKind::kFrozen) continue;
    EXPECT_GE(p.offset, plan.buckets[at(p.bucket)].begin);
    EXPECT_LE(p.offset + p.elements(), plan.buckets[at(p.bucket)].end);
  }

  int next = 0;
  for (const BackwardItem& item : plan.backward) {
    const auto untouched = [&](int p) {
      EXPECT_GE(plan.parameters[at(p)].bucket, next) << plan.parameters[at(p)].path;
    };
    if (item.kind == BackwardItem::Kind::kAccumulateParameter) untouched(item.destination);
    if (item.kind == BackwardItem::Kind::kStep)
      for (std::size_t k = 0; k < plan.steps[at(item.step)].parameters.size(); ++k)
        if (plan.steps[at(item.step)].parameter_gradients[k]) untouched(plan.steps[at(item.step)].parameters[k]);
    for (const int bucket : item.buckets_ready) EXPECT_EQ(bucket, next++);
  }
  EXPECT_EQ(next, static_cast<int>(plan.buckets.size()));
}

INSTANTIATE_TEST_SUITE_P(Sizes, Buckets,
                         ::testing::Combine(::testing::Values(test::kFashionMnist, test::kResidual, test::kFrozen),
                                            ::testing::Values(1, 1000, 40'000, 25U << 20)));

TEST(Plan, LeavesTheLastActivationToTheLoss) {
  const graph::Model model = model_of(test::kFashionMnist);
  const auto fusion = [&](const std::string& loss, const std::vector<std::string>& metrics, optim::LabelKind labels) {
    const Plan plan = make_plan(model, options_for(loss, metrics, labels), FusingCapabilities());
    EXPECT_EQ(plan.losses.front().from_logits, plan.losses.front().fusion != Fusion::kNone);
    EXPECT_EQ(plan.steps.back().fused_into_loss, plan.losses.front().fusion != Fusion::kNone);
    EXPECT_EQ(plan.tensors[at(plan.losses.front().prediction)].name,
              plan.losses.front().fusion == Fusion::kNone ? "dense_1/softmax" : "dense_1");
    EXPECT_EQ(plan.tensors[at(plan.outputs.front())].name, "dense_1/softmax");
    return plan.losses.front().fusion;
  };
  EXPECT_EQ(fusion("categorical_crossentropy", {"accuracy"}, optim::LabelKind::kDense), Fusion::kSoftmax);
  EXPECT_EQ(fusion("sparse_categorical_crossentropy", {"accuracy"}, optim::LabelKind::kClass), Fusion::kSoftmax);
  EXPECT_EQ(fusion("mse", {}, optim::LabelKind::kDense), Fusion::kNone);
  EXPECT_EQ(fusion("categorical_crossentropy", {"mae"}, optim::LabelKind::kDense), Fusion::kSoftmax);
  EXPECT_EQ(fusion("categorical_crossentropy", {"binary_accuracy"}, optim::LabelKind::kDense), Fusion::kSoftmax);

  const Plan sigmoid =
      make_plan(model_of(test::kShared), options_for("binary_crossentropy", {"accuracy"}, optim::LabelKind::kDense),
                FusingCapabilities());
  EXPECT_EQ(sigmoid.losses.front().fusion, Fusion::kSigmoid);
  EXPECT_THAT(step_names(sigmoid),
              ElementsAre("encoded_a", "encoded_aa", "encoded_b", "merged", "same", "same/sigmoid"));
  const Plan regression =
      make_plan(model_of(test::kShared), options_for("mse", {}, optim::LabelKind::kDense), FusingCapabilities());
  EXPECT_EQ(tail_activation(step_named(regression, "same")).activation,
            layers::Activation::kSigmoid);  // nobody takes it over
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
  options.objectives.push_back({.output = 1,
                                .loss = test::value_of(optim::loss_family(), "mse"),
                                .weight = 0.5,
                                .labels = optim::LabelKind::kDense});
  return options;
}

TEST(Plan, EveryOutputHasItsLoss) {
  const Plan plan = make_plan(model_of(kTwoOutputs), two_losses(), FusingCapabilities());
  ASSERT_EQ(plan.losses.size(), 2U);
  const LossStep &kind = plan.losses[0], &box = plan.losses[1];
  EXPECT_EQ(kind.name, "kind");
  EXPECT_EQ(kind.fusion, Fusion::kSoftmax);
  EXPECT_EQ(box.first_sum, 2U);  // behind the loss and the accuracy of the other
  EXPECT_EQ(box.weight, 0.5);
  EXPECT_EQ(plan.sums(), 3U);
  // Both heads hand a gradient to the trunk: one writes it, the other's is added.
  EXPECT_THAT(plan.backward.at(2).kind, BackwardItem::Kind::kAccumulateTensor);
  for (const Mode mode : {Mode::kTraining, Mode::kInference}) {
    const std::vector<Need> needs(plan.steps.size());
    const MemoryPlan memory = plan_memory(plan, needs, {}, 5, mode);
    EXPECT_THAT(test::Simulation(plan, memory, needs).run(mode), ::testing::IsEmpty());
  }
}

TEST(Plan, AnOutputThatOthersReadKeepsItsActivation) {
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
  // The loss writes the gradient of the probabilities, and what comes back from the second layer is added to it.
  EXPECT_THAT(plan.backward.at(1).kind, BackwardItem::Kind::kAccumulateTensor);
  EXPECT_EQ(plan.backward.at(1).destination, plan.losses[0].prediction_gradient);
}

TEST(Plan, TwoLossesMayReadOneTensor) {
  PlanOptions options = options_for("mse", {}, optim::LabelKind::kDense);
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

TEST(Plan, WithoutALossThereIsOnlyForward) {
  const Plan plan = make_plan(model_of(test::kResidual), {}, FusingCapabilities());
  EXPECT_TRUE(plan.backward.empty());
  EXPECT_TRUE(plan.buckets.empty());
  EXPECT_FALSE(plan.has_loss());
  for (const Step& step : plan.steps) EXPECT_FALSE(step.has_backward || step.fused_into_loss);
}

TEST(Plan, LeavesOutWhatNoOutputReads) {
  graph::Model model = model_of(R"(
layers:
  - Input: {name: x, shape: [4]}
  - Dense: {name: used, units: 3}
  - Dense: {name: unused, units: 5}
outputs: [used, unused]
)");
  model.graph.outputs.pop_back();  // a config that says so is refused
  const Plan plan = make_plan(model, options_for("mse", {}, optim::LabelKind::kDense), PlainCapabilities());
  EXPECT_THAT(step_names(plan), ElementsAre("used"));
  for (const Parameter& p : plan.parameters)
    EXPECT_EQ(p.kind, p.path.starts_with("used") ? ParameterKind::kTrainable : ParameterKind::kFrozen) << p.path;
}

TEST(Plan, SetsSynchronizedInEveryNormalisation) {
  PlanOptions options = options_for("categorical_crossentropy");
  options.sync_batchnorm = true;
  const Plan plan = make_plan(model_of(test::kResidual), options, PlainCapabilities());
  EXPECT_TRUE(step_named(plan, "bn1").spec.as<layers::BatchNormalizationSpec>().synchronized);
  EXPECT_TRUE(step_named(plan, "bn2").spec.as<layers::BatchNormalizationSpec>().synchronized);
}

struct Refusal {
  const char* name;
  const char* last_layer;
  const char* loss;
  const char* metric;
  optim::LabelKind labels;
  const char* message;
};

const Refusal kRefusals[] = {
    {"OneClass", "Dense: {units: 1}", "categorical_crossentropy", "", optim::LabelKind::kClass,
     "needs at least 2 classes, but output 'dense' has 1 value; try binary_crossentropy with activation sigmoid, or "
     "one unit per class"},
    {"SparseRows", "Dense: {units: 4, activation: softmax}", "sparse_categorical_crossentropy", "",
     optim::LabelKind::kDense,
     "wants one class number per sample, but the labels are rows of values; try categorical_crossentropy"},
    {"BinaryClasses", "Dense: {units: 4, activation: sigmoid}", "binary_crossentropy", "", optim::LabelKind::kClass,
     "compares values with values, but the labels are class numbers and output 'dense' is 4; try "
     "categorical_crossentropy, or "
     "labels that are rows of 4 values"},
    {"LogitsTwice", "Dense: {units: 4, activation: softmax}", "CategoricalCrossentropy: {from_logits: true}", "",
     optim::LabelKind::kClass,
     "from_logits is true, but output 'dense' already ends in softmax; remove one of the two"},
    {"NoActivation", "Dense: {units: 4}", "categorical_crossentropy", "", optim::LabelKind::kClass,
     "takes its input for probabilities, but output 'dense' ends in no activation; try from_logits: true, or "
     "activation softmax"},
    {"Logarithms", "Dense: {units: 4, activation: log_softmax}", "categorical_crossentropy", "",
     optim::LabelKind::kClass,
     "takes its input for probabilities, but output 'dense' ends in log_softmax; try from_logits: true, or "
     "activation softmax"},
    {"SoftmaxOfOne", "Dense: {units: 1, activation: softmax}", "binary_crossentropy", "", optim::LabelKind::kDense,
     "output 'dense' is a softmax over one value, which is always 1; try activation sigmoid"},
    {"SparseRowsOfPositions", "Reshape: {target_shape: [2, 3]}", "sparse_categorical_crossentropy", "",
     optim::LabelKind::kDense,
     "wants one class number per position, but the labels are rows of values; try categorical_crossentropy"},
    {"OneClassOfPositions", "Reshape: {target_shape: [6, 1]}", "categorical_focal_crossentropy", "",
     optim::LabelKind::kClass,
     "needs at least 2 classes, but output 'reshape' has 1 value; try binary_crossentropy with activation sigmoid, or "
     "one unit per class"},
    {"FocalWithoutActivation", "Dense: {units: 4}", "binary_focal_crossentropy", "", optim::LabelKind::kDense,
     "takes its input for probabilities, but output 'dense' ends in no activation; try from_logits: true, or "
     "activation sigmoid"},
    {"DiceOfTheBatch", "Reshape: {target_shape: [2, 3]}", "dice", "", optim::LabelKind::kDense,
     "without axis it sums over the whole batch, as Keras does: no mean over samples, so replicas, micro-batches and "
     "the last short batch would change what is trained; give it the axes of a sample, axis: [1, 2]"},
    {"DiceOfTheBatchByNumber", "Reshape: {target_shape: [2, 3]}", "Dice: {axis: [0, 1]}", "", optim::LabelKind::kDense,
     "axis [0, 1] does not fit an output of 2x3; expected neighbouring axes of a sample, from 1 to 2 (0 is the "
     "batch's: the loss would not be a mean over samples)"},
    {"DiceWithAGap", "Reshape: {target_shape: [1, 2, 3]}", "Dice: {axis: [1, 3]}", "", optim::LabelKind::kDense,
     "axis [1, 3] does not fit an output of 1x2x3; expected neighbouring axes of a sample, from 1 to 3"},
    {"CosineOfAnotherAxis", "Reshape: {target_shape: [2, 3]}", "CosineSimilarity: {axis: 1}", "",
     optim::LabelKind::kDense, "axis 1 is not supported, only the last axis is: -1 or 2"},
    {"ArgmaxOfOne", "Dense: {units: 1, activation: sigmoid}", "binary_crossentropy", "categorical_accuracy",
     optim::LabelKind::kDense, "is always 1 with one output value (output 'dense'); try binary_accuracy"},
    {"ErrorOfClasses", "Dense: {units: 4, activation: softmax}", "categorical_crossentropy", "mse",
     optim::LabelKind::kClass,
     "compares values with values, but the labels are class numbers and output 'dense' is 4; try accuracy"},
};

class Refuses : public ::testing::TestWithParam<Refusal> {};

TEST_P(Refuses, WhatDoesNotFitTogether) {
  const Refusal& c = GetParam();
  const graph::Model model = model_of(std::string("layers: [{Input: {shape: [6]}}, {") + c.last_layer + "}]");
  const PlanOptions options =
      options_for(c.loss, *c.metric == 0 ? std::vector<std::string>() : std::vector<std::string>{c.metric}, c.labels);
  try {
    make_plan(model, options, PlainCapabilities());
    FAIL() << "expected an error";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kUsage);
    EXPECT_THAT(error.what(), ::testing::StartsWith("value.yaml:1:1: error: "));
    EXPECT_THAT(error.what(), ::testing::EndsWith(std::string(": ") + c.message));
  }
}

INSTANTIATE_TEST_SUITE_P(Combinations, Refuses, ::testing::ValuesIn(kRefusals),
                         [](const auto& c) { return c.param.name; });

}  // namespace
}  // namespace dptrain::plan
