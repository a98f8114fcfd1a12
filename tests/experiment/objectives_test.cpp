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

}  // namespace
}  // namespace dptrain::experiment
