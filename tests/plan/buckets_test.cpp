// The gradient arena divided into buckets.

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "core/index.h"
#include "plan/sample_models.h"

namespace dptrain::plan {
namespace {

using test::model_of;
using test::options_for;

class Buckets : public ::testing::TestWithParam<std::tuple<const char*, std::uint64_t>> {};

TEST_P(Buckets, TileTheArenaAndAreReadyOnceInOrder) {
  const auto [text, bytes] = GetParam();
  PlanOptions options = options_for("categorical_crossentropy");
  options.first_bucket_bytes = bytes / 2;
  options.bucket_bytes = bytes;
  const Plan plan = make_plan(model_of(text), options, PlainCapabilities());

  std::int64_t end = 0;
  for (const Bucket& bucket : plan.buckets) {
    EXPECT_EQ(bucket.begin, end);
    EXPECT_GT(bucket.end, bucket.begin);
    EXPECT_EQ(bucket.end % kAlignElements, 0);
    end = bucket.end;
  }
  EXPECT_EQ(end, plan.statistics_end);
  for (const Parameter& p : plan.parameters) {
    EXPECT_EQ(p.offset % kAlignElements, 0);
    if (p.kind == ParameterKind::kFrozen) continue;
    EXPECT_GE(p.offset, plan.buckets[at(p.bucket)].begin);
    EXPECT_LE(p.offset + p.elements(), plan.buckets[at(p.bucket)].end);
  }

  int next = 0;
  for (const BackwardItem& item : plan.backward) {
    const auto untouched = [&](int p) {
      EXPECT_GE(plan.parameters[at(p)].bucket, next) << plan.parameters[at(p)].path;
    };
    if (item.kind == BackwardItem::Kind::kAccumulateParameter) untouched(item.destination);
    if (item.kind == BackwardItem::Kind::kStep)
      for (std::size_t k = 0; k < plan.steps[at(item.step)].parameters.size(); ++k)
        if (plan.steps[at(item.step)].parameter_gradients[k]) untouched(plan.steps[at(item.step)].parameters[k]);
    for (const int bucket : item.buckets_ready) EXPECT_EQ(bucket, next++);
  }
  EXPECT_EQ(next, static_cast<int>(plan.buckets.size()));
}

/// The size of the largest bucket with several parameters.
std::int64_t most_bytes(const Plan& plan) {
  std::vector<int> parameters(plan.buckets.size(), 0);
  for (const Parameter& p : plan.parameters)
    if (p.kind != ParameterKind::kFrozen) ++parameters[at(p.bucket)];
  std::int64_t most = 0;
  for (std::size_t k = 0; k < parameters.size(); ++k)
    if (parameters[k] > 1)
      most = std::max(most, (plan.buckets[k].end - plan.buckets[k].begin) * static_cast<std::int64_t>(sizeof(float)));
  return most;
}

/// Includes the first bucket, although it may exceed the size requested for the others.
TEST(BucketLimit, AppliesToBucketsOfSeveralParameters) {
  PlanOptions options = options_for("categorical_crossentropy");
  options.bucket_bytes = 40'000;
  const Plan plan = make_plan(model_of(test::kFashionMnist), options, PlainCapabilities());
  EXPECT_GT(plan.buckets.size(), 1U);
  EXPECT_GT(most_bytes(plan), 0);
  EXPECT_LE(most_bytes(plan), 40'000);
}

TEST(BucketLimit, FollowsTheNetworkByDefault) {
  PlanOptions options = options_for("categorical_crossentropy");
  options.bucket_bytes.reset();
  std::string wide = "layers:\n  - Input: {shape: [200]}\n";
  for (int i = 0; i < 12; ++i) wide += "  - Dense: 200\n";
  wide += "  - Dense: {units: 200, activation: softmax}\n";
  const Plan plan = make_plan(model_of(wide), options, PlainCapabilities());
  const std::int64_t eighth = plan.statistics_end * static_cast<std::int64_t>(sizeof(float)) / 8;
  EXPECT_LE(most_bytes(plan), eighth);
  EXPECT_GT(most_bytes(plan), eighth / 2);
  const Plan small =  // less than the smallest limit
      make_plan(
          model_of("layers:\n  - Input: {shape: [30]}\n  - Dense: 200\n  - Dense: {units: 20, activation: softmax}\n"),
          options, PlainCapabilities());
  EXPECT_EQ(small.buckets.size(), 1U);
}

INSTANTIATE_TEST_SUITE_P(Sizes, Buckets,
                         ::testing::Combine(::testing::Values(test::kFashionMnist, test::kResidual, test::kFrozen),
                                            ::testing::Values(1, 1000, 40'000, 25U << 20)));

}  // namespace
}  // namespace dptrain::plan
