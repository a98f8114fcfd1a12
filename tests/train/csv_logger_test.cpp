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

}  // namespace
}  // namespace dptrain::train
