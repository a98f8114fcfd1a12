// The arena of gradients in buckets.

#include <gtest/gtest.h>

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

INSTANTIATE_TEST_SUITE_P(Sizes, Buckets,
                         ::testing::Combine(::testing::Values(test::kFashionMnist, test::kResidual, test::kFrozen),
                                            ::testing::Values(1, 1000, 40'000, 25U << 20)));

}  // namespace
}  // namespace dptrain::plan
