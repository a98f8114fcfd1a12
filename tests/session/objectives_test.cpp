// Objectives of outputs: loss, loss_weights and metrics by output name, and errors about them.

#include "experiment/objectives.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/error.h"
#include "experiment/experiment.h"
#include "nn/loss.h"
#include "nn/metric.h"
#include "session/evaluation.h"
#include "session/session.h"

namespace dptrain::session {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

/// A config with two outputs; `train` is appended to its section.
experiment::Experiment two_outputs(const std::string& train) {
  return experiment::load_experiment_text(
      "dptrain: 1\n"
      "model:\n"
      "  layers:\n"
      "    - Input: {name: x, shape: [4]}\n"
      "    - Dense: {name: trunk, units: 5, activation: relu}\n"
      "    - Dense: {name: kind, units: 3, activation: softmax}\n"
      "    - Dense: {name: box, inputs: trunk, units: 2}\n"
      "  outputs: [kind, box]\n"
      "data: {train: {Synthetic: {samples: 12}}, validation: {Synthetic: {samples: 6}}}\n"
      "train: {epochs: 1, batch_size: 3, " +
          train + "}\n",
      "two.yaml", {});
}

std::string two_outputs_refused(const std::string& train) {
  try {
    two_outputs(train);
  } catch (const Error& error) {
    return error.what();
  }
  return "nothing was refused";
}

std::vector<std::string> names(const experiment::Experiment& e) {
  std::vector<std::string> all;
  for (const experiment::LoggedValue& value : logged_values(e.config.train, e.graph, false)) all.push_back(value.name);
  return all;
}

TEST(Objectives, AreMatchedByOutputName) {
  const experiment::Experiment e = two_outputs(
      "loss: {box: mse, kind: {SparseCategoricalCrossentropy: {}}}, loss_weights: {box: 0.25}, "
      "metrics: {kind: [accuracy], box: mae}");
  const auto all = objectives(e.config.train, e.graph);
  ASSERT_EQ(all.size(), 2U);
  EXPECT_EQ(all[0].loss.name(), "SparseCategoricalCrossentropy");
  EXPECT_EQ(all[0].weight, 1);
  EXPECT_EQ(all[1].output, 1);
  EXPECT_EQ(all[1].weight, 0.25);
  EXPECT_THAT(names(e), ElementsAre("loss", "kind_loss", "box_loss", "kind_accuracy", "box_mae"));
}

TEST(Objectives, DirectionsFollowTypesNotNames) {
  const experiment::Experiment e = two_outputs(
      "loss: {kind: sparse_categorical_crossentropy, box: mse}, "
      "metrics: {kind: [{SparseTopKCategoricalAccuracy: {k: 2, name: best2}}], box: [{MeanAbsoluteError: {name: "
      "f1}}]}");
  const auto logged = logged_values(e.config.train, e.graph, true);
  EXPECT_EQ(direction_of(logged, "kind_best2"), nn::Direction::kLarger);
  EXPECT_EQ(direction_of(logged, "val_kind_best2"), nn::Direction::kLarger);
  EXPECT_EQ(direction_of(logged, "box_f1"), nn::Direction::kSmaller);
  EXPECT_EQ(direction_of(logged, "val_box_loss"), nn::Direction::kSmaller);
  EXPECT_EQ(direction_of(logged, "val_loss"), nn::Direction::kSmaller);
  EXPECT_EQ(direction_of(logged, "accuracy"), nn::Direction::kUnknown) << "no output has it";
}

TEST(Objectives, OneLossAppliesToAllOutputs) {
  const experiment::Experiment e = two_outputs("loss: mse, metrics: [mae]");
  EXPECT_THAT(names(e), ElementsAre("loss", "kind_loss", "box_loss", "kind_mae", "box_mae"));
}

TEST(Objectives, AnOutputMayHaveNoLoss) {
  const experiment::Experiment e = two_outputs("loss: {box: mse}");
  EXPECT_THAT(names(e), ElementsAre("loss", "box_loss"));
}

TEST(Objectives, SurviveTheResolvedConfig) {
  const experiment::Experiment e =
      two_outputs("loss: {kind: sparse_categorical_crossentropy, box: mse}, loss_weights: {box: 0.5}");
  for (const bool minimal : {false, true}) {
    const experiment::Experiment again =
        experiment::load_experiment_text(config::to_yaml(resolved(e, minimal)), "again.yaml", {});
    EXPECT_EQ(names(again), names(e));
    EXPECT_EQ(*again.config.train.loss_weights.find("box"), 0.5);
  }
}

TEST(Objectives, RejectInvalidSettings) {
  EXPECT_THAT(two_outputs_refused("loss: {kind: mse, bax: mse}"),
              HasSubstr("two.yaml:10:53: error: train.loss: the model has no output 'bax'; it has kind, box; did you "
                        "mean 'box'?"));
  EXPECT_THAT(two_outputs_refused("loss: {kind: mse}, metrics: {box: mae}"),
              HasSubstr("train.metrics: output 'box' has no loss"));
  EXPECT_THAT(two_outputs_refused("loss: mse, loss_weights: {trunk: 2}"), HasSubstr("no output 'trunk'"));
  EXPECT_THAT(two_outputs_refused("loss: mse, class_weight: balanced"), HasSubstr("the model has several outputs"));
  EXPECT_THAT(two_outputs_refused("loss: {MeanSquareError: {}}"), HasSubstr("did you mean 'MeanSquaredError'?"));
}

/// A config of maps of classes; `data` and `loss` are inserted.
experiment::Experiment maps(const std::string& data, const std::string& loss) {
  return experiment::load_experiment_text(
      "dptrain: 1\n"
      "model:\n"
      "  layers:\n"
      "    - Input: {name: x, shape: [4, 4, 1]}\n"
      "    - Dense: {name: map, units: 3, activation: softmax}\n"
      "    - Flatten: {name: flat}\n"
      "    - Dense: {name: size, units: 1}\n"
      "  outputs: [map, size]\n"
      "data: {" +
          data +
          "}\n"
          "train: {epochs: 1, batch_size: 3, loss: " +
          loss + "}\n",
      "maps.yaml", {});
}

TEST(Objectives, IgnoreTheClassOfTheDataSet) {
  const std::string ignoring = "train: {Synthetic: {samples: 12, ignore_class: 255}}";
  for (const std::string name :
       {"sparse_categorical_crossentropy", "categorical_crossentropy", "categorical_focal_crossentropy",
        "binary_crossentropy", "binary_focal_crossentropy", "{Dice: {axis: [1, 2, 3]}}"}) {
    const experiment::Experiment e = maps(ignoring, "{map: " + name + ", size: mse}");
    const auto all = objectives(e.config.train, e.graph);
    EXPECT_EQ(plan::ignored_class(all[0]), 255) << name;
    EXPECT_EQ(plan::ignored_class(all[1]), std::nullopt) << "a regression has no classes";
    EXPECT_EQ(nn::ignore_class(all[0].loss),
              name.starts_with("sparse") ? std::optional<std::int64_t>(255) : std::nullopt)
        << "only this loss has the key in Keras";
  }
  const auto of = [](const std::string& data, const std::string& loss) {
    const experiment::Experiment e = maps(data, "{map: " + loss + "}");
    return plan::ignored_class(objectives(e.config.train, e.graph).front());
  };
  const std::string plain = "train: {Synthetic: {samples: 12}}", sparse = "sparse_categorical_crossentropy";
  EXPECT_EQ(of(plain, sparse), std::nullopt);
  EXPECT_EQ(of(plain, "{SparseCategoricalCrossentropy: {ignore_class: 7}}"), 7) << "Keras's key";
  EXPECT_EQ(of(ignoring, "{SparseCategoricalCrossentropy: {ignore_class: 255}}"), 255);
  EXPECT_EQ(of(ignoring + ", validation: {Synthetic: {ignore_class: 255}}", sparse), 255);
  EXPECT_EQ(of(ignoring + ", test: {Synthetic: {}}", sparse), 255);
  EXPECT_EQ(of("validation: {Synthetic: {ignore_class: 3}}", sparse), 3) << "without data.train";
}

TEST(Objectives, SyntheticHasLabelsForAll) {
  const experiment::Experiment e = two_outputs("loss: {kind: sparse_categorical_crossentropy, box: mse}");
  session::SessionOptions options;
  options.devices = {.replicas = 1, .threads = 1};
  session::Session session(e, options);
  session.replicas().push(session.model());
  const auto values = session::values_of(session.plan(), evaluate(session, *session.validation_loader()));
  ASSERT_EQ(values.size(), 3U);
  EXPECT_NEAR(values[0].second, values[1].second + values[2].second, 1e-9);
}

}  // namespace
}  // namespace dptrain::session
