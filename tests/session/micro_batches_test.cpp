
#include <gtest/gtest.h>

#include <optional>

#include "core/format.h"
#include "experiment/experiment.h"
#include "session/dry_plan.h"
#include "session/session.h"

namespace dptrain::session {
namespace {

constexpr std::uint64_t kKiB = 1024, kMiB = 1024 * kKiB;

/// Two chips of 8 cores each.
const std::vector<machine::Cache> kTwoChips{{1, 32 * kKiB, 16}, {2, 1 * kMiB, 16}, {3, 32 * kMiB, 2}};

TEST(CacheOfReplica, IsAnEighthOfItsShareOfTheLastLevel) {
  EXPECT_EQ(cache_of_replica(kTwoChips, 1, 1).wanted, 4 * kMiB) << "of the one chip that a thread is on";
  EXPECT_EQ(cache_of_replica(kTwoChips, 1, 2).wanted, 8 * kMiB);
  EXPECT_EQ(cache_of_replica(kTwoChips, 2, 1).wanted, 4 * kMiB);
  EXPECT_EQ(cache_of_replica(kTwoChips, 4, 1).wanted, 2 * kMiB) << "two on each chip";
}

TEST(CacheOfReplica, IsAtLeastThePrivateCachesOfItsThreads) {
  EXPECT_EQ(cache_of_replica(kTwoChips, 1, 16).wanted, 16 * kMiB);
  EXPECT_EQ(cache_of_replica(kTwoChips, 16, 1).wanted, 1 * kMiB)
      << "an eighth of its part of the last level is a quarter of that";
}

TEST(CacheOfReplica, ReportsItsShareOfTheLastLevel) {
  EXPECT_EQ(cache_of_replica(kTwoChips, 1, 1).last, 32 * kMiB);
  EXPECT_EQ(cache_of_replica(kTwoChips, 1, 2).last, 64 * kMiB);
  EXPECT_EQ(cache_of_replica(kTwoChips, 4, 1).last, 16 * kMiB);
}

TEST(CacheOfReplica, IsUnknownWithoutASecondLevel) {
  EXPECT_EQ(cache_of_replica({}, 1, 1).wanted, 0);
  EXPECT_EQ(cache_of_replica({{1, 32 * kKiB, 2}}, 1, 1).wanted, 0);
}

constexpr const char* kLarge = R"(dptrain: 1
name: large
model:
  layers:
    - Input: {shape: [64, 64, 3]}
    - Conv2D: {filters: 32, kernel_size: 3, activation: relu}
    - GlobalAveragePooling2D
    - Dense: 2
data: {train: {Synthetic: {samples: 4096}}}
train: {epochs: 1, batch_size: 4096, loss: {SparseCategoricalCrossentropy: {from_logits: true}}, optimizer: SGD}
)";

class MicroBatchesOfARun : public ::testing::Test {
 protected:
  std::int64_t parts(const std::vector<std::string>& sets, const DeviceRequest& devices = {}) {
    const experiment::Experiment experiment = experiment::load_experiment_text(kLarge, "large.yaml", {sets, {}});
    dry_.emplace();
    make_dry_plan(experiment, devices, {}, *dry_);
    return dry_->micro_batches;
  }
  std::optional<DryPlan> dry_;
};

/// Whether a session warns that micro-batches change the update.
bool warns_of_parts(const std::string& layers, std::int64_t parts) {
  const experiment::Experiment experiment = experiment::load_experiment_text(
      fmt::format("dptrain: 1\nmodel: {{layers: [{{Input: {{shape: [4]}}}}, {{Dense: {{units: 3}}}}{}]}}\n"
                  "data: {{train: {{Synthetic: {{samples: 12}}}}}}\n"
                  "train: {{epochs: 1, batch_size: 6, loss: mse, accumulate_steps: {}}}\n",
                  layers, parts),
      "net.yaml", {});
  SessionOptions options;
  options.devices = {.replicas = 1, .threads = 1};
  testing::internal::CaptureStderr();
  const Session session(experiment, options);
  return testing::internal::GetCapturedStderr().find("train.accumulate_steps: ") != std::string::npos;
}

TEST(MicroBatches, WarnsIfTheyChangeTheUpdate) {
  EXPECT_TRUE(warns_of_parts(", BatchNormalization", 2));
  EXPECT_FALSE(warns_of_parts(", BatchNormalization", 1));
  EXPECT_FALSE(warns_of_parts("", 2));
}

TEST_F(MicroBatchesOfARun, FollowTheCacheByDefault) {
  if (machine::caches().size() < 2) GTEST_SKIP() << "the caches of this machine are unknown";
  const std::int64_t many = parts({});  // 2 GiB of activations
  EXPECT_GT(many, 1);
  EXPECT_EQ(dry_->memory.rows, (4096 + many - 1) / many);
  EXPECT_NE(dry_->text().find("micro-batches"), std::string::npos);
}

TEST_F(MicroBatchesOfARun, FollowTheConfig) {
  EXPECT_EQ(parts({"train.accumulate_steps=3"}), 3);
  EXPECT_EQ(parts({"train.accumulate_steps=1"}), 1);
  EXPECT_EQ(dry_->memory.rows, 4096);
  EXPECT_EQ(dry_->text().find("micro-batches"), std::string::npos);
}

TEST_F(MicroBatchesOfARun, AreNotUsedForShardsAndGpus) {
  EXPECT_EQ(parts({"parallel.virtual_shards=2"}), 1);
  EXPECT_EQ(dry_->memory.rows, 2048);
  EXPECT_EQ(parts({}, request_of({{backend::DeviceKind::kEmu, 0}})), 1);
}

}  // namespace
}  // namespace dptrain::session
