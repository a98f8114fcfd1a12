#include "train/callbacks/time_history.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "train/fake_control.h"

namespace dptrain::train {
namespace {

TEST(TimeHistory, CountsEpochsAndSecondsAcrossAResume) {
  FakeControl control;
  const auto before = make_callback(TimeHistorySpec{}), after = make_callback(TimeHistorySpec{});
  run(*before, control, "accuracy", {0.5, 0.5});
  after->restore(nlohmann::json::parse(before->save().dump()));
  run(*after, control, "accuracy", {0.5}, 2);
  EXPECT_EQ(after->save()["count"], 3);
  EXPECT_EQ(after->save()["seconds"], 3.0);
}

}  // namespace
}  // namespace dptrain::train
