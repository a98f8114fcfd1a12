// The line of the progress bar, and the parts that it omits on narrow terminals.

#include "train/progress.h"

#include <gtest/gtest.h>

#include "core/terminal.h"

namespace dptrain::train {
namespace {

BarState half_done() {
  return {.done = 50,
          .total = 100,
          .seconds = 12,
          .run_left = 245,
          .unit = BarState::Unit::kSteps,
          .learning_rate = 1e-3,
          .values = " - loss: 0.8123 - accuracy: 0.7011"};
}

TEST(ProgressBar, FillsTheTerminal) {
  const std::string wide = bar_line(half_done(), 200);
  EXPECT_EQ(terminal::width(wide), 200U);
  EXPECT_TRUE(wide.starts_with(" 50/100 [====")) << wide;
  EXPECT_TRUE(wide.ends_with("....] 12s ETA 12s (run 4:05) 240ms/step lr 0.001 - loss: 0.8123 - accuracy: 0.7011"))
      << wide;
  EXPECT_EQ(bar_line(half_done(), 80),
            " 50/100 [==>.] 12s ETA 12s 240ms/step lr 0.001 - loss: 0.8123 - accuracy: 0.7011");
}

TEST(ProgressBar, GetsShorterWithTheTerminal) {
  EXPECT_EQ(bar_line(half_done(), 60), " 50/100 [===>...] ETA 12s 240ms/step lr 0.001 - loss: 0.8123");
  EXPECT_EQ(bar_line(half_done(), 40), " 50/100 [===>...] ETA 12s - loss: 0.8123");
  EXPECT_EQ(bar_line(half_done(), 30), " 50/100 [======>.....] ETA 12s");
  EXPECT_EQ(bar_line(half_done(), 20), " 50/100 [===>..] 12s");
  EXPECT_EQ(bar_line(half_done(), 13), " 50/100 12s");
  EXPECT_EQ(bar_line(half_done(), 4), " 50/");
}

TEST(ProgressBar, ShowsNoTimeLeftBeforeTheFirstStep) {
  EXPECT_EQ(bar_line({.done = 0, .total = 19, .unit = BarState::Unit::kSteps}, 30), " 0/19 [>............] 0s ETA ?");
}

TEST(ProgressBar, ShowsSpeed) {
  BarState state{.done = 1'000, .total = 4'000, .seconds = 0.5, .unit = BarState::Unit::kSamples};
  EXPECT_NE(bar_line(state, 60).find("] 1s ETA 2s 2,000 samples/s"), std::string::npos) << bar_line(state, 60);
  state.unit = BarState::Unit::kSteps;
  EXPECT_NE(bar_line(state, 60).find(" 0.50ms/step"), std::string::npos) << bar_line(state, 60);
  state.seconds = 23'450;
  EXPECT_NE(bar_line(state, 60).find(" 23.4s/step"), std::string::npos) << bar_line(state, 60);
}

TEST(ProgressBar, CountsPercentOrWithoutATotal) {
  EXPECT_EQ(
      bar_line({.done = 1'048'576, .total = 4'194'304, .seconds = 2, .percent = true, .values = " - reading"}, 50),
      " 25 % [=====>................] 2s ETA 6s - reading");
  EXPECT_EQ(bar_line({.done = 12'345, .seconds = 3, .values = " - listing"}, 90), "12,345 3s - listing");
  EXPECT_EQ(bar_line({.seconds = 3, .values = " - opening the data"}, 90), "3s - opening the data");
  EXPECT_EQ(bar_line({.seconds = 3, .values = " - opening the data"}, 12), "3s");
}

TEST(ProgressBar, IsFullAtTheEndAndNeverLongerThanTheTerminal) {
  BarState state = half_done();
  state.done = state.total;
  state.run_left.reset();
  EXPECT_EQ(bar_line(state, 40), "100/100 [========] ETA 0s - loss: 0.8123");
  for (std::size_t columns = 1; columns < 220; ++columns) {
    EXPECT_LE(terminal::width(bar_line(half_done(), columns)), columns);
    EXPECT_LE(terminal::width(bar_line(state, columns)), columns);
    EXPECT_LE(terminal::width(bar_line({.seconds = 3, .values = " - 花花花花花花"}, columns)), columns);
  }
}

}  // namespace
}  // namespace dptrain::train
