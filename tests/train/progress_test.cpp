// The bar's line: all of it where there is room, and what goes first where there is less.

#include "train/progress.h"

#include <gtest/gtest.h>

namespace dptrain::train {
namespace {

BarState half_done() {
  return {.done = 50, .total = 100, .seconds = 12, .run_left = 245, .values = " - loss: 0.8123 - accuracy: 0.7011"};
}

TEST(ProgressBar, GetsShorterWithTheTerminal) {
  EXPECT_EQ(bar_line(half_done(), 200),
            "50/100 [============>...........] 12s ETA 12s (run 4:05) - loss: 0.8123 - accuracy: 0.7011");
  EXPECT_EQ(bar_line(half_done(), 78),
            "50/100 [======>.....] 12s ETA 12s (run 4:05) - loss: 0.8123 - accuracy: 0.7011");
  EXPECT_EQ(bar_line(half_done(), 66), "50/100 12s ETA 12s (run 4:05) - loss: 0.8123 - accuracy: 0.7011");
  EXPECT_EQ(bar_line(half_done(), 60), "50/100 12s ETA 12s - loss: 0.8123 - accuracy: 0.7011");
  EXPECT_EQ(bar_line(half_done(), 45), "50/100 12s ETA 12s - loss: 0.8123");
  EXPECT_EQ(bar_line(half_done(), 32), "50/100 12s ETA 12s");
  EXPECT_EQ(bar_line(half_done(), 31), "50/100 [=========>........] 12s");
  EXPECT_EQ(bar_line(half_done(), 19), "50/100 [===>..] 12s");
  EXPECT_EQ(bar_line(half_done(), 13), "50/100 12s");
  EXPECT_EQ(bar_line(half_done(), 4), "50/1");
}

TEST(ProgressBar, CountsPercentOrWhatNobodyKnowsTheEndOf) {
  EXPECT_EQ(
      bar_line({.done = 1'048'576, .total = 4'194'304, .seconds = 2, .percent = true, .values = " - reading"}, 90),
      "25 % [======>.................] 2s ETA 6s - reading");
  EXPECT_EQ(bar_line({.done = 12'345, .seconds = 3, .values = " - listing"}, 90), "12,345 3s - listing");
  EXPECT_EQ(bar_line({.seconds = 3, .values = " - opening the data"}, 90), "3s - opening the data");
  EXPECT_EQ(bar_line({.seconds = 3, .values = " - opening the data"}, 12), "3s");
}

TEST(ProgressBar, IsFullAtTheEndAndNeverLongerThanTheTerminal) {
  BarState state = half_done();
  state.done = state.total;
  state.run_left.reset();
  EXPECT_EQ(bar_line(state, 200), "100/100 [========================] 12s ETA 0s - loss: 0.8123 - accuracy: 0.7011");
  for (std::size_t columns = 1; columns < 120; ++columns) {
    EXPECT_LE(bar_line(half_done(), columns).size(), columns);
    EXPECT_LE(bar_line(state, columns).size(), columns);
  }
}

}  // namespace
}  // namespace dptrain::train
