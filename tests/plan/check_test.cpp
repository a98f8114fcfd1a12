// Losses, metrics, labels and outputs that do not fit together, and the errors about them.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/error.h"
#include "plan/sample_models.h"

namespace dptrain::plan {
namespace {

using test::model_of;
using test::options_for;

struct Refusal {
  const char* name;
  const char* last_layer;
  const char* loss;
  const char* metric;
  nn::LabelKind labels;
  const char* message;
};

const Refusal kRefusals[] = {
    {"OneClass", "Dense: {units: 1}", "categorical_crossentropy", "", nn::LabelKind::kClass,
     "needs at least 2 classes, but output 'dense' has 1 value; try binary_crossentropy with activation sigmoid, or "
     "one unit per class"},
    {"SparseRows", "Dense: {units: 4, activation: softmax}", "sparse_categorical_crossentropy", "",
     nn::LabelKind::kDense,
     "needs one class number per sample, but the labels are rows of values; try categorical_crossentropy"},
    {"BinaryClasses", "Dense: {units: 4, activation: sigmoid}", "binary_crossentropy", "", nn::LabelKind::kClass,
     "compares values, but the labels are class numbers and output 'dense' is 4; try categorical_crossentropy, or "
     "labels that are rows of 4 values"},
    {"LogitsTwice", "Dense: {units: 4, activation: softmax}", "CategoricalCrossentropy: {from_logits: true}", "",
     nn::LabelKind::kClass, "from_logits is true, but output 'dense' already ends in softmax; remove one of the two"},
    {"NoActivation", "Dense: {units: 4}", "categorical_crossentropy", "", nn::LabelKind::kClass,
     "expects probabilities, but output 'dense' ends in no activation; try from_logits: true, or activation softmax"},
    {"Logarithms", "Dense: {units: 4, activation: log_softmax}", "categorical_crossentropy", "", nn::LabelKind::kClass,
     "expects probabilities, but output 'dense' ends in log_softmax; try from_logits: true, or activation softmax"},
    {"SoftmaxOfOne", "Dense: {units: 1, activation: softmax}", "binary_crossentropy", "", nn::LabelKind::kDense,
     "output 'dense' is a softmax over one value, which is always 1; try activation sigmoid"},
    {"SparseRowsOfPositions", "Reshape: {target_shape: [2, 3]}", "sparse_categorical_crossentropy", "",
     nn::LabelKind::kDense,
     "needs one class number per position, but the labels are rows of values; try categorical_crossentropy"},
    {"OneClassOfPositions", "Reshape: {target_shape: [6, 1]}", "categorical_focal_crossentropy", "",
     nn::LabelKind::kClass,
     "needs at least 2 classes, but output 'reshape' has 1 value; try binary_crossentropy with activation sigmoid, or "
     "one unit per class"},
    {"FocalWithoutActivation", "Dense: {units: 4}", "binary_focal_crossentropy", "", nn::LabelKind::kDense,
     "expects probabilities, but output 'dense' ends in no activation; try from_logits: true, or activation sigmoid"},
    {"DiceOfTheBatch", "Reshape: {target_shape: [2, 3]}", "dice", "", nn::LabelKind::kDense,
     "without axis it sums over the whole batch, as in Keras, so replicas, micro-batches and the last short batch "
     "would change the loss; write the axes of a sample, axis: [1, 2]"},
    {"DiceOfTheBatchByNumber", "Reshape: {target_shape: [2, 3]}", "Dice: {axis: [0, 1]}", "", nn::LabelKind::kDense,
     "axis [0, 1] does not fit an output of 2x3; expected neighbouring axes of a sample, from 1 to 2 (0 is the "
     "batch's: the loss would not be a mean over samples)"},
    {"DiceWithAGap", "Reshape: {target_shape: [1, 2, 3]}", "Dice: {axis: [1, 3]}", "", nn::LabelKind::kDense,
     "axis [1, 3] does not fit an output of 1x2x3; expected neighbouring axes of a sample, from 1 to 3"},
    {"CosineOfAnotherAxis", "Reshape: {target_shape: [2, 3]}", "CosineSimilarity: {axis: 1}", "", nn::LabelKind::kDense,
     "axis 1 is not supported, only the last axis is: -1 or 2"},
    {"ArgmaxOfOne", "Dense: {units: 1, activation: sigmoid}", "binary_crossentropy", "categorical_accuracy",
     nn::LabelKind::kDense, "is always 1 with one output value (output 'dense'); try binary_accuracy"},
    {"ErrorOfClasses", "Dense: {units: 4, activation: softmax}", "categorical_crossentropy", "mse",
     nn::LabelKind::kClass, "compares values, but the labels are class numbers and output 'dense' is 4; try accuracy"},
};

class Refuses : public ::testing::TestWithParam<Refusal> {};

TEST_P(Refuses, LossesMetricsAndLabelsThatDoNotFit) {
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
