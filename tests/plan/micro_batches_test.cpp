#include "plan/micro_batches.h"

#include <gtest/gtest.h>

#include "core/format.h"
#include "plan/memory.h"
#include "plan/sample_models.h"

namespace dptrain::plan {
namespace {

using test::model_of;
using test::options_for;

/// One convolution of a square image.
std::string images(int size, int channels, int filters, int kernel) {
  return fmt::format(R"(
layers:
  - Input: {{shape: [{0}, {0}, {1}]}}
  - Conv2D: {{filters: {2}, kernel_size: {3}, activation: relu}}
  - GlobalAveragePooling2D
  - Dense: {{units: 2, activation: softmax}}
)",
                     size, channels, filters, kernel);
}

std::string normalised(bool trainable) {
  return fmt::format(R"(
layers:
  - Input: {{shape: [16, 16, 3]}}
  - Conv2D: {{filters: 8, kernel_size: 3}}
  - BatchNormalization: {{trainable: {}}}
  - Flatten
  - Dense: {{units: 2, activation: softmax}}
)",
                     trainable);
}

/// 4 million weights on 2,048 values of a sample.
constexpr const char* kWide = R"(
layers:
  - Input: {shape: [2048]}
  - Dense: {units: 2048, activation: relu}
  - Dense: {units: 2, activation: softmax}
)";

constexpr const char* kMasked = R"(
layers:
  - Input: {shape: [12], dtype: int32}
  - Embedding: {input_dim: 20, output_dim: 8, mask_zero: true}
  - LSTM: {units: 8, return_sequences: true}
  - Dense: {units: 2, activation: softmax}
)";

class MicroBatches : public ::testing::Test {
 protected:
  void plan_of(const std::string& text) {
    model_ = model_of(text);
    plan_ = make_plan(model_, options_for("sparse_categorical_crossentropy"), device_);
  }
  std::uint64_t arena(std::int64_t rows) const {
    return plan_memory(plan_, std::vector<Need>(plan_.steps.size()), {}, rows, Mode::kTraining).arena_bytes;
  }

  /// Uses a last level of eight times `cache` bytes.
  std::int64_t parts(std::int64_t rows, std::uint64_t cache) const {
    return micro_batches_in_cache(plan_, rows, {.wanted = cache, .last = 8 * cache});
  }

  const PlainCapabilities device_;
  graph::Model model_;
  Plan plan_;
};

TEST_F(MicroBatches, IsOneIfAllRowsFit) {
  plan_of(images(20, 3, 8, 3));
  EXPECT_EQ(parts(64, arena(64)), 1);
  EXPECT_EQ(parts(64, arena(64) - 1), 2);
}

TEST_F(MicroBatches, EachFitsTheCache) {
  plan_of(images(20, 3, 8, 3));
  const std::uint64_t cache = arena(10);
  const std::int64_t many = parts(64, cache);
  EXPECT_EQ(many, 7);
  EXPECT_LE(arena((64 + many - 1) / many), cache);
  EXPECT_GT(arena((64 + many - 2) / (many - 1)), cache) << "and no more than it takes";
}

TEST_F(MicroBatches, HaveOneRowIfNoneFits) {
  plan_of(images(20, 3, 8, 3));
  EXPECT_EQ(parts(5, arena(1) / 2), 5);
  EXPECT_EQ(parts(1, arena(1) / 2), 1);
}

TEST_F(MicroBatches, ProductsKeepTheirSize) {
  plan_of(images(10, 64, 64, 1));  // 100 positions each
  EXPECT_EQ(parts(60, arena(1)), 20) << "of 3 rows, which are 300 vectors";
}

TEST_F(MicroBatches, IsOneIfTheCacheIsUnknown) {
  plan_of(images(20, 3, 8, 3));
  EXPECT_EQ(parts(64, 0), 1);
}

TEST_F(MicroBatches, LargeWeightsLimitTheirNumber) {
  plan_of(kWide);
  EXPECT_EQ(parts(64, arena(8)), 1) << "weights are larger than all activations";
  const std::int64_t rows = 65536;
  const std::int64_t few = micro_batches_in_cache(plan_, rows, {.wanted = arena(8), .last = arena(rows)});
  EXPECT_GT(few, 1);
  EXPECT_LT(few, rows / 8);
  // 5 times the weights' bytes per micro-batch, compared with half of 6 times the activations'.
  const double weights = 5.0 * static_cast<double>(plan_.total) * sizeof(float) * static_cast<double>(few);
  EXPECT_LE(weights, 0.5 * 6 * static_cast<double>(arena(rows)));
  EXPECT_EQ(parts(rows, arena(8)), 1) << "which fit no level";
}

TEST_F(MicroBatches, IsOneIfALayerUsesBatchStatistics) {
  plan_of(normalised(true));
  EXPECT_FALSE(rows_are_independent(plan_));
  EXPECT_EQ(parts(64, arena(8)), 1);
}

TEST_F(MicroBatches, IgnoresStatisticsOfFrozenLayers) {
  plan_of(normalised(false));
  EXPECT_TRUE(rows_are_independent(plan_));
  EXPECT_GT(parts(64, arena(8)), 1);
}

TEST_F(MicroBatches, IsOneIfALossCountsValidPositions) {
  plan_of(kMasked);
  EXPECT_FALSE(rows_are_independent(plan_));
  EXPECT_EQ(parts(64, arena(8)), 1);
}

TEST_F(MicroBatches, IsOneIfTheConfigNamesSlots) {
  plan_of(R"(
layers:
  - Input: {shape: [16, 16, 3]}
  - Conv2D: {filters: 8, kernel_size: 3, device: a}
  - GlobalAveragePooling2D: {device: a}
  - Dense: {units: 2, activation: softmax, device: a}
)");
  EXPECT_EQ(plan_.slot_count(), 1) << "even where all of it is in one place";
  EXPECT_EQ(parts(64, arena(8)), 1);
}

}  // namespace
}  // namespace dptrain::plan
