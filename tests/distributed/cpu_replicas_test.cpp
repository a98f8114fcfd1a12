// The ops of the CPU device under many replicas: a small CNN whose layers expose differences between replicas.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "distributed/connector.h"
#include "runtime/sample_batch.h"

namespace dptrain::distributed {
namespace {

using namespace dptrain::test;  // NOLINT(google-build-using-namespace)

constexpr const char* kSmallResNet = R"(
layers:
  - Input: {name: image, shape: [7, 9, 2]}
  - Conv2D: {name: stem, filters: 5, kernel_size: 3, padding: same, kernel_regularizer: {L2: 0.01}}
  - BatchNormalization: {name: bn1, momentum: 0.9}
  - ReLU: {name: relu1}
  - Conv2D: {name: conv, filters: 5, kernel_size: 3, padding: same, activation: gelu}
  - Add: {name: add, inputs: [conv, relu1]}
  - ReLU: {name: relu2}
  - MaxPooling2D: {name: pool}
  - Conv2D: {name: last, filters: 4, kernel_size: 3, activation: relu}
  - Flatten
  - Dropout: 0.25
  - Dense: {name: logits, units: 3, activation: softmax}
)";

struct CpuReplicasOutcome {
  graph::Model model;
  std::vector<double> losses;
};

CpuReplicasOutcome train(std::int64_t batch_size, const std::vector<double>& weights, const std::string& optimizer) {
  CpuReplicasOutcome outcome{.model = model_of(kSmallResNet), .losses = {}};
  const int replicas = static_cast<int>(weights.size());
  std::vector<std::unique_ptr<backend::Device>> devices;
  for (int r = 0; r < replicas; ++r) devices.push_back(backend::make_cpu_device(r, 1, {}));
  plan::PlanOptions options = options_for("sparse_categorical_crossentropy", {"accuracy"});
  options.sync_batchnorm = true;
  options.bucket_bytes = options.first_bucket_bytes = 512;
  const plan::Plan plan = plan::make_plan(outcome.model, options, *devices.front());
  const std::unique_ptr<runtime::Connector> connector = make_local(replicas);
  runtime::ReplicaSet set(plan, std::move(devices), *connector,
                          {.weights = weights,
                           .batch_sizes = {batch_size},
                           .optimizer = value_of(nn::optimizer_family(), optimizer),
                           .seed = 5,
                           .check_every = 1});
  set.push(outcome.model);
  for (std::int64_t number = 0; number < 4; ++number) {
    const SampleBatch batch(batch_size, 7 * 9 * 2, 3, static_cast<std::uint64_t>(number));
    const runtime::StepSums sums =
        set.step(batch.view(), {.number = number, .learning_rate = 0.01, .global_samples = batch_size});
    outcome.losses.push_back(sums.loss / static_cast<double>(batch_size) + sums.penalty);
  }
  set.pull(outcome.model);
  return outcome;
}

TEST(CpuReplicas, AreOneBigBatch) {
  for (const std::int64_t batch : {5, 17}) {
    const CpuReplicasOutcome one = train(batch, {1}, "SGD: {momentum: 0.9}");
    EXPECT_GT(distance(one.model, model_of(kSmallResNet)), 1e-2);
    for (const std::vector<double>& weights :
         std::vector<std::vector<double>>{{1, 1}, {1, 1, 1}, {2, 1}, std::vector<double>(7, 1.0)}) {
      const CpuReplicasOutcome many = train(batch, weights, "SGD: {momentum: 0.9}");
      for (std::size_t i = 0; i < one.losses.size(); ++i)
        EXPECT_NEAR(one.losses[i], many.losses[i], 1e-5 * one.losses[i]);
      EXPECT_LT(distance(one.model, many.model), 1e-5);
    }
  }
}

TEST(CpuReplicas, StayCloseWithAdamWhichAmplifiesRounding) {
  const CpuReplicasOutcome one = train(17, {1}, "Adam");
  const CpuReplicasOutcome many = train(17, {1, 1, 1}, "Adam");
  for (std::size_t i = 0; i < one.losses.size(); ++i) EXPECT_NEAR(one.losses[i], many.losses[i], 1e-4 * one.losses[i]);
}

/// All replicas apply the same update to the same bits (check_every compares them after each step). They differ from
/// one replica by the rounding of their sums. Optimizers that divide by a gradient's size, or use its sign, amplify
/// that to at most the rate (times Lamb's norms) for the few weights without gradient.
TEST(CpuReplicas, AgreeWithEveryOptimizer) {
  for (const std::string& optimizer : nn::optimizer_family().names()) {
    SCOPED_TRACE(optimizer);
    const CpuReplicasOutcome one = train(17, {1}, optimizer), many = train(17, {1, 1, 1}, optimizer);
    EXPECT_GT(distance(one.model, model_of(kSmallResNet)), 1e-5);
    for (std::size_t i = 0; i < one.losses.size(); ++i)
      EXPECT_NEAR(one.losses[i], many.losses[i], 1e-3 * one.losses[i]);
  }
}

}  // namespace
}  // namespace dptrain::distributed
