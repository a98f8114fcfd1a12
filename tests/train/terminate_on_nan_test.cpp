#include "train/callbacks/terminate_on_nan.h"

#include <gtest/gtest.h>

#include <limits>

#include <nlohmann/json.hpp>

#include "core/error.h"
#include "train/fake_control.h"

namespace dptrain::train {
namespace {

TEST(TerminateOnNaN, StopsAtTheFirstLossThatIsNotANumber) {
  FakeControl control;
  const auto callback = make_callback(TerminateOnNaNSpec{});
  callback->step_end(control, {1, 0, 1, 0.5});
  EXPECT_EQ(control.stopped, "");
  callback->step_end(control, {2, 0, 2, std::numeric_limits<double>::infinity()});
  EXPECT_EQ(control.stopped, "diverged");
}

}  // namespace
}  // namespace dptrain::train
