// Lines before a run: shares of replicas, many devices, a learning-rate schedule much longer than the run.

#include "cli/run_header.h"

#include <gtest/gtest.h>

#include "nn/example.h"
#include "nn/schedule.h"

namespace dptrain::cli {
namespace {

constexpr nn::Epoch kEpoch{.steps = 20, .global_batch = 8};

nn::LearningRate rate_of(const std::string& yaml) { return {.schedule = nn::make(nn::schedule_family(), yaml)}; }

TEST(RunHeader, GroupsTheSharesOfManyReplicas) {
  EXPECT_EQ(sum_text({256, 256}), "2 x 256");
  EXPECT_EQ(sum_text({171, 171, 170}), "171 + 171 + 170");
  std::vector<std::int64_t> many(29, 2);
  many.resize(99, 1);
  EXPECT_EQ(sum_text(many), "29 x 2 + 70 x 1");
}

TEST(RunHeader, GroupsEqualDevices) {
  EXPECT_EQ(devices_text({"cpu:0 1 thread, AVX2"}), "cpu:0 1 thread, AVX2");
  EXPECT_EQ(devices_text({"cpu:0 1 thread", "cpu:1 1 thread"}), "2 replicas: cpu:0 1 thread; cpu:1 1 thread");
  std::vector<std::string> many;
  for (int i = 0; i < 9; ++i) many.push_back("cpu:" + std::to_string(i) + " 1 thread, AVX2");
  EXPECT_EQ(devices_text(many), "9 replicas: cpu:0 to cpu:8, each 1 thread, AVX2");
  many.back() = "gpu:0 another";
  EXPECT_TRUE(devices_text(many).ends_with("; cpu:7 1 thread, AVX2; and 1 more")) << devices_text(many);
}

TEST(SlowDecay, IsReportedIfTheRunEndsInTheFirstHalf) {
  const nn::LearningRate cosine = rate_of("CosineDecay: {initial_learning_rate: 1e-3, decay_steps: 60 epochs}");
  EXPECT_EQ(
      slow_decay_text(cosine, kEpoch, 5),
      "the learning-rate schedule CosineDecay ends after 60 epochs, the run after 5 epochs: the rate hardly falls; set "
      "decay_steps to 5 epochs");
  EXPECT_EQ(slow_decay_text(cosine, kEpoch, 30), "");
  EXPECT_EQ(slow_decay_text(cosine, kEpoch, 0.5), "") << "a trial";
  EXPECT_EQ(slow_decay_text(cosine, kEpoch, 60), "");
}

TEST(SlowDecay, CountsTheWarmup) {
  const std::string cosine = "CosineDecay: {initial_learning_rate: 1e-3, decay_steps: 400}";
  const nn::LearningRate warm = rate_of("Warmup: {warmup_steps: 2 epochs, then: {" + cosine + "}}");
  EXPECT_EQ(
      slow_decay_text(warm, kEpoch, 5),
      "the learning-rate schedule CosineDecay ends after 22 epochs, the run after 5 epochs: the rate hardly falls; set "
      "decay_steps to 3 epochs");
  EXPECT_EQ(slow_decay_text(warm, kEpoch, 12), "");
}

TEST(SlowDecay, IsReportedOnlyForDecaysWithAnEnd) {
  EXPECT_EQ(slow_decay_text({}, kEpoch, 1), "");
  EXPECT_NE(slow_decay_text(rate_of("PolynomialDecay: {initial_learning_rate: 1, decay_steps: 60 epochs}"), kEpoch, 5),
            "");
  EXPECT_EQ(slow_decay_text(rate_of("PolynomialDecay: {initial_learning_rate: 1, decay_steps: 60 epochs, cycle: true}"),
                            kEpoch, 5),
            "");
  EXPECT_EQ(
      slow_decay_text(rate_of("ExponentialDecay: {initial_learning_rate: 1, decay_steps: 60 epochs, decay_rate: 0.9}"),
                      kEpoch, 5),
      "");
}

}  // namespace
}  // namespace dptrain::cli
