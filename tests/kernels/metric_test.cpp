#include "kernels/cpu/metric.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

namespace dptrain::kernels::cpu {
namespace {

TEST(Hits, CategoricalAndTopK) {
  const std::vector<float> scores = {3.0F, 3.0F, 1.0F, 2.0F,  // a tie for the largest score
                                     0.0F, 1.0F, 2.0F, 3.0F,  //
                                     1.0F, NAN,  0.0F, 0.0F};
  const std::vector<int32_t> labels = {1, 2, 1};
  const std::vector<float> dense = {0, 1, 0, 0, 0, 0, 1, 0, 0, 1, 0, 0};
  for (const LossTargets& targets : {LossTargets{labels.data(), nullptr}, LossTargets{nullptr, dense.data()}}) {
    std::vector<uint8_t> hit(3);
    categorical_hits({}, DType::kF32, scores.data(), 3, 4, targets, hit.data());
    EXPECT_EQ(hit, (std::vector<uint8_t>{0, 0, 0}));
    top_k_hits({}, DType::kF32, scores.data(), 3, 4, targets, 1, hit.data());
    EXPECT_EQ(hit, (std::vector<uint8_t>{1, 0, 0}));
    top_k_hits({}, DType::kF32, scores.data(), 3, 4, targets, 2, hit.data());
    EXPECT_EQ(hit, (std::vector<uint8_t>{1, 1, 0}));
  }
  const std::vector<int32_t> others = {0, 3, 7};
  std::vector<uint8_t> hit(3);
  categorical_hits({}, DType::kF32, scores.data(), 3, 4, {others.data()}, hit.data());
  EXPECT_EQ(hit, (std::vector<uint8_t>{1, 1, 0}));
  top_k_hits({}, DType::kF32, scores.data(), 3, 4, {others.data()}, 4, hit.data());
  EXPECT_EQ(hit, (std::vector<uint8_t>{1, 1, 0}));
}

TEST(Hits, Binary) {
  const std::vector<float> p = {0.5F, 0.6F, 0.4F, 0.9F}, y = {0.0F, 1.0F, 1.0F, 0.0F};
  std::vector<int32_t> hits(2);
  binary_hits({}, DType::kF32, p.data(), 2, 2, {.dense = y.data()}, 0.5F, hits.data());
  EXPECT_EQ(hits, (std::vector<int32_t>{2, 0}));  // 0.5 is not above 0.5
}

TEST(Errors, OfLabelsAndRows) {
  const std::vector<float> p = {0.5F, 0.25F, 0.25F, 1.0F, 0.0F, 0.0F}, y = {0, 1, 0, 0, 0, 1};
  const std::vector<int32_t> labels = {1, 2};
  for (const LossTargets& targets : {LossTargets{.labels = labels.data()}, LossTargets{.dense = y.data()}}) {
    std::vector<float> error(2);
    squared_errors({}, DType::kF32, p.data(), 2, 3, targets, error.data());
    EXPECT_EQ(error, (std::vector<float>{0.875F / 3, 2.0F / 3}));
    absolute_errors({}, DType::kF32, p.data(), 2, 3, targets, error.data());
    EXPECT_EQ(error, (std::vector<float>{0.5F, 2.0F / 3}));
  }
}

}  // namespace
}  // namespace dptrain::kernels::cpu
