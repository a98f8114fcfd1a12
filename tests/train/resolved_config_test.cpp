#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "config/config_loader.h"
#include "experiment/experiment.h"

namespace dptrain::experiment {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

TEST(Resolved, MinimalHasNoDefaults) {
  const Experiment experiment = load_experiment_text(
      "dptrain: 1\n"
      "model: {layers: [{Input: [4]}, {Dense: {units: 3, activation: softmax}}]}\n"
      "data: {train: {Synthetic: {samples: 12, seed: 4}}}\n"
      "train: {epochs: 2, batch_size: 3, loss: categorical_crossentropy, optimizer: {Adam: {beta_1: 0.8}}}\n"
      "callbacks: [{EarlyStopping: {monitor: loss, patience: 3}}]\n",
      "net.yaml", {});
  const std::string text = config::to_yaml(resolved(experiment, true));
  for (const char* own : {"Synthetic: {samples: 12, seed: 4}", "Adam: {beta_1: 0.8}",
                          "EarlyStopping: {monitor: loss, patience: 3}", "CategoricalCrossentropy"})
    EXPECT_THAT(text, HasSubstr(own));
  for (const char* other : {"seed: 0", "class_names", "beta_2", "epsilon", "min_delta", "label_smoothing"})
    EXPECT_THAT(text, Not(HasSubstr(other)));
  const Experiment again = load_experiment_text(text, "net.yaml", {});
  EXPECT_EQ(config::to_yaml(resolved(again)), config::to_yaml(resolved(experiment)));
}

}  // namespace
}  // namespace dptrain::experiment
