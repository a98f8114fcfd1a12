#include "train/callbacks/csv_logger.h"

#include <gtest/gtest.h>

#include <fstream>

#include <nlohmann/json.hpp>

#include "core/error.h"
#include "train/fake_control.h"

namespace dptrain::train {
namespace {

TEST(CsvLogger, WritesKerasFormat) {
  FakeControl control;
  const auto callback = make_callback(CSVLoggerSpec{});
  callback->train_begin(control, false);
  run(*callback, control, "accuracy", {0.5, 0.75});
  std::ifstream file(control.run_directory() + "/log.csv", std::ios::binary);
  const std::string text((std::istreambuf_iterator<char>(file)), {});
  EXPECT_EQ(text, "epoch,accuracy,loss,val_accuracy,val_loss\r\n0,0.5,1,NA,NA\r\n1,0.75,1,NA,NA\r\n");
}

TEST(CsvLogger, AResumedRunRewritesRowsOfLaterEpochs) {
  FakeControl control;
  const auto before = make_callback(CSVLoggerSpec{}), after = make_callback(CSVLoggerSpec{});
  before->train_begin(control, false);
  run(*before, control, "val_loss", {0.5});
  const auto state = nlohmann::json::parse(before->save().dump());
  run(*before, control, "val_loss", {0.75, 0.25}, 1);  // then the run is killed
  after->restore(state);
  after->train_begin(control, true);
  run(*after, control, "val_loss", {0.125}, 1);
  std::ifstream file(control.run_directory() + "/log.csv", std::ios::binary);
  const std::string text((std::istreambuf_iterator<char>(file)), {});
  EXPECT_EQ(text, "epoch,loss,val_loss\r\n0,1,0.5\r\n1,1,0.125\r\n");
}

TEST(CsvLogger, WritesInOneProcess) {
  FakeControl control;
  control.silent = true;
  const auto callback = make_callback(CSVLoggerSpec{.filename = "sub/log.csv"});
  callback->train_begin(control, false);
  run(*callback, control, "accuracy", {0.5});
  EXPECT_TRUE(callback->flush());
  EXPECT_FALSE(std::filesystem::exists(control.run_directory() + "/sub"));
}

}  // namespace
}  // namespace dptrain::train
