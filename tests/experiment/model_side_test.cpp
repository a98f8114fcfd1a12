// The labels that the losses of a model require.

#include "experiment/model_side.h"

#include <gtest/gtest.h>

#include "experiment/experiment.h"
#include "experiment/objectives.h"

namespace dptrain::experiment {
namespace {

data::ModelSide side_of(const std::string& losses) {
  const Experiment experiment = load_experiment_text(
      "dptrain: 1\n"
      "model: {layers: [{Input: {name: x, shape: [4]}}, {Dense: {inputs: x, name: kind, units: 3, activation: "
      "softmax}},\n"
      "  {Dense: {inputs: x, name: price, units: 1}}, {Dense: {inputs: x, name: sold, units: 1, activation: "
      "sigmoid}}],\n"
      "  outputs: [kind, price, sold]}\n" +
          losses,
      "side.yaml", {});
  return model_side(experiment.graph, objectives(experiment.config.train, experiment.graph));
}

TEST(ModelSide, LabelsHaveTheFormOfTheLoss) {
  const data::ModelSide side = side_of(
      "train: {epochs: 1, batch_size: 1, loss: {kind: sparse_categorical_crossentropy, price: mae, sold: "
      "binary_crossentropy}}\n");
  EXPECT_EQ(side.label_use("kind"), data::LabelUse::kClasses);
  EXPECT_EQ(side.label_use("price"), data::LabelUse::kNumbers);
  EXPECT_EQ(side.label_use("sold"), data::LabelUse::kAny);
  EXPECT_EQ(side.label_use("other"), data::LabelUse::kAny);
  EXPECT_EQ(side.label_use(""), data::LabelUse::kAny);
  EXPECT_EQ(side.classes_of("kind"), 3);
  EXPECT_EQ(side.classes_of("price"), 0);
  EXPECT_EQ(side_of("train: {epochs: 1, batch_size: 1, loss: {price: mse}}\n").label_use(""), data::LabelUse::kNumbers);
  EXPECT_EQ(side_of("").label_use(""), data::LabelUse::kAny);
  EXPECT_EQ(side_of("").outputs.size(), 3U);
}

}  // namespace
}  // namespace dptrain::experiment
