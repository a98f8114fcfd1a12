// train.dtype_policy: mixed_bfloat16 on CPU replicas: plans, several replicas compared with one, training, bench.

#include <gmock/gmock.h>

#include "bench/bench.h"
#include "bench/prediction.h"
#include "bench/verify.h"
#include "session/devices.h"
#include "session/dry_plan.h"
#include "session/session.h"

namespace dptrain::bench {
namespace {

const char* kBfloat16Config =
    "dptrain: 1\n"
    "name: tiny\n"
    "model:\n"
    "  layers:\n"
    "    - Input: {shape: [16, 14, 3]}\n"
    "    - Conv2D: {filters: 24, kernel_size: 3, activation: relu, padding: same}\n"
    "    - Conv2D: {filters: 24, kernel_size: 3, activation: relu, padding: same}\n"
    "    - MaxPooling2D\n"
    "    - Conv2D: {filters: 32, kernel_size: 3, strides: 2, padding: same, use_bias: false}\n"
    "    - BatchNormalization\n"
    "    - ReLU\n"
    "    - Conv2D: {filters: 16, kernel_size: 1}\n"
    "    - MaxPooling2D\n"
    "    - Flatten\n"
    "    - Dense: {units: 32, activation: relu}\n"
    "    - Dense: {units: 3, activation: softmax}\n"
    "data: {train: {Synthetic: {samples: 48}}}\n"
    "train: {epochs: 1, batch_size: 12, loss: categorical_crossentropy, optimizer: {SGD: {learning_rate: 0.05, "
    "momentum: 0.9}}}\n";

experiment::Experiment with_policy(const std::string& policy) {
  return experiment::load_experiment_text(kBfloat16Config, "tiny.yaml", {{"train.dtype_policy=" + policy}, {}});
}

session::SessionOptions on_cpus(int replicas) {
  session::SessionOptions options;
  options.devices = {.replicas = replicas, .threads = 1};
  options.wants_validation = false;
  return options;
}

class Bfloat16OnCpus : public testing::Test {
 protected:
  void SetUp() override {
    if (backend::list_cpu().front().bfloat16.empty()) GTEST_SKIP() << "this processor has neither AMX nor AVX-512 BF16";
  }
};

TEST(Bfloat16Policy, LeavesTheCpusPlanInFloat32) {
  const session::DeviceRequest cpu{.replicas = 1, .threads = 1},
      emu = session::request_of({{backend::DeviceKind::kEmu, 0}});
  EXPECT_EQ(session::compute_type(experiment::DtypePolicy::kMixedBfloat16, cpu), DType::kF32);
  EXPECT_EQ(session::compute_type(experiment::DtypePolicy::kMixedBfloat16, emu), DType::kBf16);
  EXPECT_TRUE(session::tables_from(with_policy("mixed_bfloat16").config.train, cpu));
  EXPECT_FALSE(session::tables_from(with_policy("mixed_bfloat16").config.train, emu));
}

TEST_F(Bfloat16OnCpus, ADryPlanPredictsTheMemoryOfAReplica) {
  session::DryPlan dry, exact;
  session::make_dry_plan(with_policy("mixed_bfloat16"), on_cpus(2).devices, {}, dry);
  session::make_dry_plan(with_policy("float32"), on_cpus(2).devices, {}, exact);
  EXPECT_EQ(dry.plan.compute, DType::kF32);
  EXPECT_THAT(dry.text(), testing::AnyOf(testing::HasSubstr("_bf16"), testing::HasSubstr("of bfloat16")));
  EXPECT_THAT(exact.text(), testing::Not(testing::HasSubstr("bf")));
  session::Session session(with_policy("mixed_bfloat16"), on_cpus(2));
  session.replicas().on_each([&](int rank, runtime::Replica& replica) {
    if (rank != 0) return;
    EXPECT_GE(replica.bytes(), dry.replica_bytes);
    EXPECT_LE(replica.bytes(), dry.replica_bytes + 1024);
  });
}

TEST_F(Bfloat16OnCpus, ReplicasEqualOneReplica) {
  VerifyOptions options;
  options.devices = {.replicas = 3, .threads = 1};
  options.steps = 3;
  const VerifyResult result = verify(with_policy("mixed_bfloat16"), options);
  EXPECT_TRUE(result.passed) << result.rows.front().gradient << " in " << result.rows.front().layer;
  options.tolerance = 1e-12;
  EXPECT_FALSE(verify(with_policy("mixed_bfloat16"), options).passed);
}

TEST_F(Bfloat16OnCpus, TheEmulatorAgreesWithTheCpu) {
  VerifyOptions options;
  options.devices = {.replicas = 1, .threads = 1};
  options.against = session::request_of({{backend::DeviceKind::kEmu, 0}});
  options.steps = 2;
  const VerifyResult result = verify(with_policy("mixed_bfloat16"), options);
  EXPECT_TRUE(result.passed) << result.rows.front().gradient << " in " << result.rows.front().layer;
}

/// The mean loss of each epoch.
std::vector<double> losses(const std::string& policy, std::int64_t epochs) {
  session::Session session(with_policy(policy), on_cpus(1));
  std::vector<double> all;
  std::int64_t number = 0;
  for (std::int64_t epoch = 0; epoch < epochs; ++epoch) {
    double sum = 0;
    std::int64_t samples = 0;
    session.train_loader().seek(epoch, 0);
    for (std::int64_t step = 0; step < session.steps_per_epoch(); ++step, ++number) {
      const data::Batch batch = session.train_loader().next();
      sum += session.replicas().step(batch.view(), {number, 0.02, batch.rows()}).loss;
      samples += batch.rows();
    }
    all.push_back(sum / static_cast<double>(samples));
  }
  return all;
}

TEST_F(Bfloat16OnCpus, TrainingReachesTheLossOfFloat32) {
  const std::vector<double> exact = losses("float32", 12), rounded = losses("mixed_bfloat16", 12);
  EXPECT_NE(exact, rounded);
  EXPECT_LT(exact.back(), 0.5 * exact.front());
  EXPECT_NEAR(rounded.front(), exact.front(), 0.01 * exact.front());
  EXPECT_NEAR(rounded.back(), exact.back(), 0.05 * exact.front());
}

/// Its plan may fuse other layers than that of float32: a pooling after a convolution.
TEST_F(Bfloat16OnCpus, APredictionMeasuresThePlanThatItPredicts) {
  const experiment::Experiment pooled = with_policy("mixed_bfloat16");
  const StepParts parts = measured_parts(pooled, on_cpus(1).devices, 6, 1,
                                         {.devices = on_cpus(1).devices, .steps = 2, .warmup = 2, .repeats = 2});
  EXPECT_GT(parts.forward, 0);
  EXPECT_GT(parts.backward, 0);
}

TEST_F(Bfloat16OnCpus, BenchHasNoPeakForThem) {
  const BenchRow row = bench(with_policy("mixed_bfloat16"),
                             {.devices = on_cpus(1).devices, .steps = 2, .warmup = 2, .repeats = 2, .layers = true});
  EXPECT_FALSE(row.of_peak);
  EXPECT_EQ(row.peak_gflops, 0);
  EXPECT_EQ(row.limits.peak_gflops, 0);
}

}  // namespace
}  // namespace dptrain::bench
