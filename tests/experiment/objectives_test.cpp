// Losses and metrics of outputs.

#include <gmock/gmock.h>

#include "experiment/experiment.h"

namespace dptrain::experiment {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

std::vector<std::string> warnings_of(int units, const std::string& loss, const std::string& metric) {
  return load_experiment_text(
             "dptrain: 1\nmodel: {layers: [{Input: {shape: [4]}}, {Dense: {units: " + std::to_string(units) +
                 ", activation: sigmoid}}]}\ntrain: {epochs: 1, batch_size: 2, loss: " + loss + ", metrics: [" +
                 metric + "]}\n",
             "small.yaml", {})
      .warnings;
}

TEST(Objectives, WarnOfMetricsThatMislead) {
  const std::string loss = "binary_crossentropy";
  EXPECT_THAT(warnings_of(1, loss, "f1_score"), ElementsAre(HasSubstr("{F1Score: {threshold: 0.5}}")));
  EXPECT_THAT(warnings_of(3, loss, "accuracy"), ElementsAre(HasSubstr("write binary_accuracy")));
  EXPECT_THAT(warnings_of(1, loss, "accuracy"), IsEmpty());
  EXPECT_THAT(warnings_of(1, loss, "{F1Score: {threshold: 0.5}}"), IsEmpty());
  EXPECT_THAT(warnings_of(3, loss, "f1_score"), IsEmpty());
  EXPECT_THAT(warnings_of(3, "mse", "accuracy"), IsEmpty());
}

TEST(Objectives, WarnOfLossesThatCompareEachValueOfASoftmax) {
  const auto warnings = [](const std::string& last, const std::string& loss) {
    return load_experiment_text("dptrain: 1\nmodel: {layers: [{Input: {shape: [4]}}, " + last +
                                    "]}\ntrain: {epochs: 1, batch_size: 2, loss: " + loss + "}\n",
                                "small.yaml", {})
        .warnings;
  };
  for (const char* const last :
       {"{Dense: {units: 3, activation: softmax}}", "{Dense: 3}, Softmax", "{Dense: 3}, {Activation: softmax}"})
    for (const char* const loss : {"mse", "mae", "binary_crossentropy"})
      EXPECT_THAT(warnings(last, loss), ElementsAre(HasSubstr("write categorical_crossentropy"))) << last << loss;
  EXPECT_THAT(warnings("{Dense: {units: 3, activation: softmax}}", "kl_divergence"), IsEmpty());
  EXPECT_THAT(warnings("{Dense: {units: 3, activation: sigmoid}}", "binary_crossentropy"), IsEmpty());
  EXPECT_THAT(warnings("{Dense: 3}", "mse"), IsEmpty());
}

TEST(Objectives, WarnOfBatchNormalizationOverSteps) {
  const auto warnings = [](const std::string& normalization, const std::string& loss) {
    return load_experiment_text("dptrain: 1\nmodel:\n  layers:\n    - Input: {shape: [3, 4]}\n    - " + normalization +
                                    "\n    - Flatten\n    - {Dense: 1}\ntrain: {epochs: 1" + loss + "}\n",
                                "steps.yaml", {})
        .warnings;
  };
  const std::string loss = ", batch_size: 2, loss: mse";
  EXPECT_THAT(
      warnings("TimeDistributed: {name: norm, layer: BatchNormalization}", loss),
      ElementsAre("steps.yaml:5:7: TimeDistributed 'norm': its BatchNormalization normalizes over the batch and all "
                  "steps in training and updates the moving values once, as in Keras 2; Keras 3 does both for each "
                  "step"));
  EXPECT_THAT(warnings("TimeDistributed: {name: norm, layer: BatchNormalization, trainable: false}", loss), IsEmpty());
  EXPECT_THAT(warnings("TimeDistributed: {name: norm, layer: {BatchNormalization: {inference_mode: true}}}", loss),
              IsEmpty());
  EXPECT_THAT(warnings("TimeDistributed: {name: norm, layer: LayerNormalization}", loss), IsEmpty());
  EXPECT_THAT(warnings("BatchNormalization", loss), IsEmpty());
}

}  // namespace
}  // namespace dptrain::experiment
