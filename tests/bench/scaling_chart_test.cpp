#include "bench/scaling_chart.h"

#include <gtest/gtest.h>

namespace dptrain::bench {
namespace {

BenchRow row_of(int replicas, int threads, std::int64_t batch, double rate) {
  BenchRow row;
  row.replicas = replicas;
  row.threads = threads;
  row.global_batch = batch;
  row.examples_per_second = rate;
  row.examples_per_second_min = 0.9 * rate;
  row.examples_per_second_max = 1.1 * rate;
  return row;
}

/// The names in the legend, or of the only line.
std::vector<std::string> names(const plot::Chart& chart) {
  std::vector<std::string> all;
  for (const plot::Line& line : chart.panels[1].lines) all.push_back(line.name);
  return all;
}

TEST(ScalingChart, HasALinePerBatch) {
  std::vector<BenchRow> rows;
  for (const int replicas : {1, 2})
    for (const int batch : {32, 64, 128}) rows.push_back(row_of(replicas, 1, batch, 100.0 * replicas));
  const plot::Chart chart = scaling_chart(rows, "net", 60000);
  EXPECT_EQ(names(chart), (std::vector<std::string>{"global batch 32", "global batch 64", "global batch 128"}));
  EXPECT_EQ(chart.legend.size(), 3U);
  const plot::Panel& speed = chart.panels[0];
  EXPECT_EQ(speed.x_label, "replicas");
  ASSERT_EQ(speed.lines.size(), 6U) << "with the ideal of each";
  EXPECT_EQ(speed.lines[1].points.size(), 2U);
  EXPECT_DOUBLE_EQ(speed.lines[1].spread[1].low, 180);
  EXPECT_DOUBLE_EQ(chart.panels[1].lines[0].points[1].y, 300);
}

TEST(ScalingChart, TheIdealFollowsTheCores) {
  const plot::Chart faster = scaling_chart({row_of(1, 1, 64, 100), row_of(2, 1, 64, 150)}, "net", 1);
  ASSERT_EQ(faster.panels[0].lines.size(), 2U);
  EXPECT_DOUBLE_EQ(faster.panels[0].lines[0].points[1].y, 200);
  EXPECT_EQ(faster.keys[1].name, "ideal: the first point, times as many cores");
  EXPECT_TRUE(faster.legend.empty());
  const plot::Chart flat = scaling_chart({row_of(1, 2, 64, 100), row_of(2, 1, 64, 150)}, "net", 1);
  EXPECT_DOUBLE_EQ(flat.panels[0].lines[0].points[1].y, 100);
  EXPECT_EQ(flat.keys[1].name, "ideal: flat, since all rows use the same cores");
}

TEST(ScalingChart, OverBatchesHasNoIdeal) {
  const plot::Chart chart = scaling_chart({row_of(2, 1, 128, 100), row_of(2, 1, 32, 90)}, "net", 1);
  EXPECT_EQ(chart.panels[0].x_label, "global batch");
  ASSERT_EQ(chart.panels[0].lines.size(), 1U);
  EXPECT_EQ(chart.panels[0].lines[0].points.front().x, 32) << "from left to right";
  EXPECT_EQ(names(chart), (std::vector<std::string>{"measured"}));
}

TEST(ScalingChart, ABatchThatGrowsWithTheReplicasIsOneLine) {
  const plot::Chart chart = scaling_chart(
      {row_of(1, 1, 32, 100), row_of(1, 1, 64, 100), row_of(2, 1, 64, 190), row_of(2, 1, 128, 190)}, "net", 1);
  EXPECT_EQ(names(chart), (std::vector<std::string>{"batch per replica 32", "batch per replica 64"}));
}

TEST(ScalingChart, ThreadsSplitLinesIfReplicasAreEqual) {
  const plot::Chart chart =
      scaling_chart({row_of(1, 1, 64, 100), row_of(1, 2, 64, 150), row_of(2, 1, 64, 190)}, "net", 1);
  EXPECT_EQ(names(chart),
            (std::vector<std::string>{"global batch 64, 1 thread each", "global batch 64, 2 threads each"}));
}

TEST(ScalingChart, OneRowIsAPoint) {
  const plot::Chart chart = scaling_chart({row_of(1, 1, 64, 100)}, "net", 1);
  EXPECT_EQ(chart.panels[0].lines.size(), 1U);
  EXPECT_EQ(chart.keys.size(), 1U);
}

}  // namespace
}  // namespace dptrain::bench
