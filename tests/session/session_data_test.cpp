// Which samples a session trains on and judges by.

#include <gtest/gtest.h>

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

}  // namespace
}  // namespace dptrain::session
