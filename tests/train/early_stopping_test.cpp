#include "train/callbacks/early_stopping.h"

#include <gtest/gtest.h>

#include <cmath>

#include <nlohmann/json.hpp>

#include "core/error.h"
#include "train/fake_control.h"

namespace dptrain::train {
namespace {

TEST(EarlyStopping, StopsAfterPatienceEpochsWithoutImprovement) {
  FakeControl control;
  const auto callback = make_callback(EarlyStoppingSpec{.monitor = "val_loss", .patience = 2});
  EXPECT_EQ(run(*callback, control, "val_loss", {1.0, 0.9, 0.95, 0.91, 0.5}), 4);
  EXPECT_EQ(control.stopped, "early_stopping");
}

TEST(EarlyStopping, NeverStopsInTheFirstEpochAndMaximizesAccuracy) {
  FakeControl control;
  const auto callback = make_callback(EarlyStoppingSpec{.monitor = "val_accuracy", .patience = 0});
  EXPECT_EQ(run(*callback, control, "val_accuracy", {0.5, 0.6, 0.6}), 3);
}

TEST(EarlyStopping, RestoresTheBestWeightsAtTheEndEvenWhenNotStopped) {
  FakeControl control;
  const auto callback =
      make_callback(EarlyStoppingSpec{.monitor = "val_loss", .patience = 5, .restore_best_weights = true});
  run(*callback, control, "val_loss", {1.0, 0.5, 0.7});
  callback->train_end(control);
  EXPECT_EQ(control.model.weights[0].values[0], 1.0F);
}

TEST(EarlyStopping, WaitIsResetOnlyByAnEpochThatBeatsTheBaseline) {
  FakeControl control;
  const auto callback = make_callback(EarlyStoppingSpec{.monitor = "val_loss", .patience = 3, .baseline = 0.1});
  EXPECT_EQ(run(*callback, control, "val_loss", {1.0, 0.9, 0.8, 0.7, 0.7}), 5)
      << "improvements count as waiting, then a constant value stops";
}

TEST(EarlyStopping, ContinuesFromItsSavedState) {
  FakeControl control, resumed;
  const EarlyStoppingSpec spec{.monitor = "val_loss", .patience = 2, .restore_best_weights = true};
  const auto before = make_callback(spec), after = make_callback(spec);
  run(*before, control, "val_loss", {1.0, 0.5, 0.6});
  after->restore(nlohmann::json::parse(before->save().dump()));
  after->restore_weights(before->saved_weights());
  EXPECT_EQ(run(*after, resumed, "val_loss", {0.6, 0.4}, 3), 4) << "one more epoch without improvement is the second";
  after->train_end(resumed);
  EXPECT_EQ(resumed.model.weights[0].values[0], 1.0F);
}

TEST(Monitor, ModeAutoTakesTheDirectionOfTheMetric) {
  FakeControl control;
  EXPECT_FALSE(is_larger_better(MonitorMode::kAuto, control, "val_loss"));
  EXPECT_TRUE(is_larger_better(MonitorMode::kAuto, control, "val_accuracy"));
  EXPECT_TRUE(is_larger_better(MonitorMode::kMax, control, "loss"));
  EXPECT_TRUE(is_larger_better(MonitorMode::kMax, control, "learning_rate"));
  EXPECT_THROW(is_larger_better(MonitorMode::kAuto, control, "learning_rate"), Error);
}

TEST(EarlyStopping, CountsValidationsBySteps) {
  FakeControl control, resumed;
  const EarlyStoppingSpec spec{.monitor = "val_loss", .patience = 2, .restore_best_weights = true};
  const auto callback = make_callback(spec), after = make_callback(spec);
  EXPECT_EQ(run_validations(*callback, control, "val_loss", {1.0, 0.5, 0.7, 0.6, 0.1}), 4);
  EXPECT_EQ(control.stopped, "early_stopping");
  EpochReport epoch;
  epoch.logs.set("val_loss", 0.1);
  callback->epoch_end(control, epoch);  // the end of an epoch adds nothing
  after->restore(nlohmann::json::parse(callback->save().dump()));
  after->restore_weights(callback->saved_weights());
  after->train_end(resumed);
  EXPECT_EQ(resumed.model.weights[0].values[0], 10.0F) << "the weights of the second validation, at step 10";
}

TEST(EarlyStopping, NeverStopsAtTheFirstValidation) {
  FakeControl control;
  const auto callback = make_callback(EarlyStoppingSpec{.monitor = "val_loss", .patience = 1});
  EXPECT_EQ(run_validations(*callback, control, "val_loss", {std::nan(""), std::nan(""), 1}), 2);
}

TEST(EarlyStopping, ChecksTrainingValuesAtTheEndsOfEpochs) {
  FakeControl control;
  const auto callback = make_callback(EarlyStoppingSpec{.monitor = "loss", .patience = 1});
  EXPECT_EQ(run_validations(*callback, control, "val_loss", {1, 1, 1}), 3) << "none of them counts";
  EXPECT_EQ(run(*callback, control, "accuracy", {1, 1}), 2) << "the loss does not change";
}

}  // namespace
}  // namespace dptrain::train
