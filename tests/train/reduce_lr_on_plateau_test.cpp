#include "train/callbacks/reduce_lr_on_plateau.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "core/error.h"
#include "train/fake_control.h"

namespace dptrain::train {
namespace {

TEST(ReduceLROnPlateau, ReducesAfterPatienceThenCoolsDown) {
  FakeControl control;
  const auto callback = make_callback(
      ReduceLROnPlateauSpec{.monitor = "val_loss", .factor = 0.5, .patience = 2, .cooldown = 1, .min_lr = 0.04});
  run(*callback, control, "val_loss", {1.0, 1.0, 1.0});
  EXPECT_DOUBLE_EQ(control.rate, 0.05);
  run(*callback, control, "val_loss", {1.0});  // ends the cooldown and is the first to wait
  EXPECT_DOUBLE_EQ(control.rate, 0.05);
  run(*callback, control, "val_loss", {1.0});
  EXPECT_DOUBLE_EQ(control.rate, 0.04) << "not below min_lr";
}

TEST(ReduceLROnPlateau, LogsTheRateAndRejectsASchedule) {
  FakeControl control;
  const auto callback = make_callback(ReduceLROnPlateauSpec{});
  EpochReport report;
  report.logs.set("val_loss", 1);
  callback->epoch_end(control, report);
  ASSERT_NE(report.logs.find("learning_rate"), nullptr);
  control.schedule = true;
  EXPECT_THROW(callback->train_begin(control, false), Error);
}

TEST(ReduceLROnPlateau, CountsValidationsBySteps) {
  FakeControl control;
  const auto callback = make_callback(ReduceLROnPlateauSpec{.monitor = "val_loss", .factor = 0.5, .patience = 2});
  run_validations(*callback, control, "val_loss", {1.0, 1.0, 1.0});
  EXPECT_DOUBLE_EQ(control.rate, 0.05);
  run(*callback, control, "val_loss", {1.0, 1.0, 1.0});
  EXPECT_DOUBLE_EQ(control.rate, 0.05) << "epochs do not count";
}

}  // namespace
}  // namespace dptrain::train
