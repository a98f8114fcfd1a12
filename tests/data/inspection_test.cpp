// scan() and data_stats() on a source in memory; tests/e2e/data_commands.sh covers files and images.

#include <gtest/gtest.h>

#include <atomic>
#include <cmath>

#include "config/family.h"
#include "core/error.h"
#include "data/inspection.h"
#include "data/transform.h"
#include "data/transforms/normalization.h"

namespace dptrain::data {
namespace {

/// Images [2 + index % 2, 3, 2] of numbers that are easy to add up; sample `bad` cannot be read.
class Numbers : public Source {
 public:
  Numbers(std::int64_t samples, std::int64_t bad = -1, std::int64_t other_channels = -1)
      : samples_(samples), bad_(bad), other_channels_(other_channels) {}

  std::int64_t size() const override { return samples_; }
  int inputs() const override { return 1; }
  std::string input_name(int) const override { return ""; }
  Shape input_shape(int) const override { return {}; }
  void read(std::int64_t index, int, Array& out, const ReadHint&) const override {
    if (index == bad_) throw SampleError({.file = "item 1", .byte = 17, .reason = "it is broken"});
    const std::int64_t channels = index == other_channels_ ? 1 : 2;
    out.shape = Shape{2 + index % 2, 3, channels};
    out.type = DType::kU8;
    out.u8.assign(static_cast<std::size_t>(out.shape.elements()), 0);
    for (std::size_t i = 0; i < out.u8.size(); ++i)
      out.u8[i] = static_cast<std::uint8_t>(i % 2 == 0 ? 10 + index : 200);
  }
  LabelType label_type(int) const override { return LabelType::kClass; }
  std::int64_t label_width(int) const override { return 1; }
  std::int64_t label_class(std::int64_t index, int) const override { return index % 2; }
  void label_values(std::int64_t, float*, int) const override {}
  std::string label_place(std::int64_t index, int) const override { return "item " + std::to_string(index); }
  std::vector<std::string> class_names(int) const override { return {"even", "odd", "none"}; }
  std::string fingerprint() const override { return ""; }

 private:
  std::int64_t samples_, bad_, other_channels_;
};

/// Labels of any size, as in a table.
class FarNumbers : public Numbers {
 public:
  using Numbers::Numbers;
  std::int64_t label_class(std::int64_t index, int) const override { return index == 0 ? -3 : 4'000'000'000'000; }
  std::vector<std::string> class_names(int) const override { return {}; }
};

TEST(DataScan, CountsLabelsOfAnySize) {
  EXPECT_EQ(scan(FarNumbers(3)).classes,
            (std::vector<std::pair<std::string, std::int64_t>>{{"-3", 1}, {"4000000000000", 2}}));
}

TEST(DataScan, CountsClassesAndSizesAndListsDamagedItems) {
  const DataScan found = scan(Numbers(5, 1));
  EXPECT_EQ(found.samples, 5);
  EXPECT_EQ(found.classes, (std::vector<std::pair<std::string, std::int64_t>>{{"even", 3}, {"odd", 2}, {"none", 0}}));
  EXPECT_EQ(found.sizes, 2);
  EXPECT_EQ(found.heights, (std::vector<std::int64_t>{2, 2, 2, 3}));
  ASSERT_EQ(found.damaged.size(), 1U);
  EXPECT_EQ(scan_report("train", found),
            "train: 5 samples, 3 classes\n"
            "  even          3   60.0 %\n"
            "  odd           2   40.0 %\n"
            "  none          0    0.0 %\n"
            "sizes    2 different; height 2 to 3, median 2; width 3 to 3, median 3\n"
            "damaged  1\n"
            "  item 1: byte 17: it is broken\n");
}

TEST(DataStats, WeighsAllPixelsEqually) {
  // Channel 0 is 10, 11, 12 in images of 6, 9 and 6 pixels; channel 1 is 200 throughout.
  const DataStats found = data_stats(Numbers(3), 0, Pipeline());
  const double mean = (10 * 6 + 11 * 9 + 12 * 6) / 21.0;
  const double variance = (6 * std::pow(10 - mean, 2) + 9 * std::pow(11 - mean, 2) + 6 * std::pow(12 - mean, 2)) / 21;
  EXPECT_EQ(found.pixels, 21);
  ASSERT_EQ(found.mean.size(), 2U);
  EXPECT_NEAR(found.mean[0], mean, 1e-12);
  EXPECT_NEAR(found.variance[0], variance, 1e-12);
  EXPECT_EQ(found.mean[1], 200);
  EXPECT_EQ(found.variance[1], 0);
  EXPECT_EQ(found.low[0], 10);
  EXPECT_EQ(found.high[0], 12);
  EXPECT_EQ(found.heights, (std::vector<std::int64_t>{2, 2, 3}));
}

TEST(DataStats, DescribeTransformedValues) {
  RescalingSpec rescaling;
  rescaling.scale = 0.5;
  const Pipeline half({transform_family().make(rescaling)}, true);
  EXPECT_NEAR(data_stats(Numbers(3), 0, half).mean[1], 100, 1e-12);
}

TEST(DataStats, SkipUnreadableSamples) {
  const DataStats found = data_stats(Numbers(3, 1), 0, Pipeline());
  EXPECT_EQ(found.unreadable, 1);
  EXPECT_EQ(found.pixels, 12);
  EXPECT_NEAR(found.mean[0], 11, 1e-12);
  EXPECT_THROW(data_stats(Numbers(1, 0), 0, Pipeline()), Error);
  EXPECT_THROW(data_stats(Numbers(3, -1, 2), 0, Pipeline()), Error) << "other channels";
}

TEST(DataStats, ReportEndsWithTheNormalization) {
  DataStats stats{.samples = 3,
                  .unreadable = 1,
                  .pixels = 12,
                  .mean = {1.5},
                  .variance = {0.25},
                  .low = {1},
                  .high = {2},
                  .heights = {2, 4},
                  .widths = {3, 3}};
  EXPECT_EQ(stats_report("train", stats, "values as they are stored"),
            "train: 3 samples (1 cannot be read), 12 pixels, values as they are stored\n"
            "  channel          mean    deviation     smallest      largest\n"
            "        0           1.5          0.5            1            2\n"
            "  size     smallest      5 %   median     95 %  largest\n"
            "  height          2        2        2        2        4\n"
            "  width           3        3        3        3        3\n"
            "Normalization: {mean: [1.5], variance: [0.25]}\n");
}

TEST(ForEachSample, VisitsEachOnceAndThrowsTheErrorOfTheLowestIndex) {
  std::vector<std::atomic<int>> calls(1000);
  for_each_sample("counting", 1000, [&](std::int64_t i) { ++calls[static_cast<std::size_t>(i)]; });
  for (const auto& count : calls) EXPECT_EQ(count, 1);
  for_each_sample("nothing", 0, [](std::int64_t) { FAIL(); });
  try {
    for_each_sample("failing", 100, [](std::int64_t i) {
      if (i % 10 == 7) throw Error(ErrorKind::kData, std::to_string(i));
    });
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(), "7");
  }
}

}  // namespace
}  // namespace dptrain::data
