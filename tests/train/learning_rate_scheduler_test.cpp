#include "train/callbacks/learning_rate_scheduler.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>

#include <nlohmann/json.hpp>

#include "core/error.h"
#include "support/test_data.h"
#include "train/fake_control.h"

namespace dptrain::train {
namespace {

/// The rate in the logs at the end of each epoch, starting with 0.1.
std::vector<double> rates_of(const std::string& schedule, std::int64_t epochs) {
  FakeControl control;
  const auto callback = make_callback(LearningRateSchedulerSpec{schedule});
  std::vector<double> rates;
  for (std::int64_t epoch = 0; epoch < epochs; ++epoch) {
    callback->epoch_begin(control, epoch);
    EpochReport report;
    report.epoch = epoch;
    callback->epoch_end(control, report);
    rates.push_back(*report.logs.find("learning_rate"));
  }
  return rates;
}

TEST(Golden, LearningRateScheduler) {
  const auto golden =
      nlohmann::json::parse(std::ifstream(dptrain::test::test_data("golden/learning_rate_scheduler.json")));
  for (const auto& [schedule, expected] : golden["schedules"].items()) {
    const std::vector<double> rates = rates_of(schedule, static_cast<std::int64_t>(expected.size()));
    for (std::size_t epoch = 0; epoch < rates.size(); ++epoch)  // Keras keeps the rate in float
      EXPECT_NEAR(rates[epoch], expected[epoch].get<double>(), 3e-7 * rates[epoch]) << schedule << ", epoch " << epoch;
  }
}

TEST(LearningRateScheduler, RollbacksMultiplyItsRates) {
  FakeControl control;
  control.factor = 0.25;
  control.rate = 0.25 * 0.1;
  const auto own = make_callback(LearningRateSchedulerSpec{"2.0"}),
             relative = make_callback(LearningRateSchedulerSpec{"lr / 2"});
  relative->epoch_begin(control, 0);
  EXPECT_EQ(control.rate, 0.25 * 0.05);
  own->epoch_begin(control, 1);
  EXPECT_EQ(control.rate, 0.25 * 2.0);
}

TEST(LearningRateScheduler, RejectsInvalidRates) {
  for (const char* schedule : {"0.1 - epoch", "1 / (epoch - 2)", "lr / 0 if epoch > 1 else lr"}) {
    try {
      rates_of(schedule, 3);
      ADD_FAILURE() << schedule;
    } catch (const Error& error) {
      EXPECT_THAT(error.what(), ::testing::HasSubstr(std::string("schedule '") + schedule + "' gives")) << schedule;
    }
  }
  EXPECT_EQ(rates_of("0 if epoch == 1 else lr", 2).back(), 0) << "a rate of 0 is one";
  EXPECT_FALSE(scheduled_rate({"lr * momentum"}, 0, 1));
}

}  // namespace
}  // namespace dptrain::train
