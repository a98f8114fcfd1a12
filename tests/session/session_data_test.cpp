// Which samples a session trains on and judges by.

#include <gtest/gtest.h>

#include <algorithm>

#include "session/session.h"

namespace dptrain::session {
namespace {

/// Half of the training set is the test set: fit trains on the other half, though it opens no test set.
TEST(SessionData, FitLeavesOutWhatEvalJudgesBy) {
  const experiment::Experiment experiment = experiment::load_experiment_text(
      "dptrain: 1\n"
      "model: {layers: [{Input: {shape: [4]}}, {Dense: {units: 3, activation: softmax}}]}\n"
      "data: {train: {Synthetic: {samples: 1000}}, test: {Split: {of: train, fraction: 0.5}}}\n"
      "train: {epochs: 1, batch_size: 100, loss: sparse_categorical_crossentropy}\n",
      "half.yaml", {});
  SessionOptions fit;
  fit.devices = {.replicas = 1, .threads = 1};
  Session training(experiment, fit);
  EXPECT_EQ(training.train_loader().samples(), 500);
  EXPECT_EQ(training.test_loader(), nullptr);

  SessionOptions eval = fit;
  eval.training = eval.wants_train = eval.wants_validation = false;
  eval.wants_test = true;
  Session judging(experiment, eval);
  EXPECT_EQ(judging.test_loader()->samples(), 500);
}

/// The data set has classes; what is mixed needs rows, in validation as well.
TEST(SessionData, MixedLabelsAreRows) {
  const experiment::Experiment experiment = experiment::load_experiment_text(
      "dptrain: 1\n"
      "model: {layers: [{Input: {shape: [4, 4, 1]}}, Flatten, {Dense: {units: 3, activation: softmax}}]}\n"
      "data:\n"
      "  train: {Synthetic: {samples: 40}}\n"
      "  validation: {Synthetic: {samples: 10}}\n"
      "  transforms: {train: [{MixUp: {alpha: 1}}, CutMix], eval: []}\n"
      "train: {epochs: 1, batch_size: 20, loss: categorical_crossentropy, metrics: [accuracy]}\n",
      "mixed.yaml", {});
  SessionOptions options;
  options.devices = {.replicas = 2, .threads = 1};
  Session session(experiment, options);
  const auto soft_rows = [](const data::Batch& batch) {
    const auto* labels = static_cast<const float*>(batch.labels());
    int soft = 0;
    for (std::int64_t row = 0; row < batch.rows(); ++row, labels += 3) {
      EXPECT_NEAR(labels[0] + labels[1] + labels[2], 1, 1e-5F);
      soft += std::max({labels[0], labels[1], labels[2]}) < 0.999F ? 1 : 0;
    }
    return soft;
  };
  EXPECT_GT(soft_rows(session.train_loader().next()), 4);
  EXPECT_EQ(soft_rows(session.validation_loader()->next()), 0);
}

}  // namespace
}  // namespace dptrain::session
