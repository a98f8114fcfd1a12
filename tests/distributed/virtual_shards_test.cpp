// parallel.virtual_shards: any number of replicas gives the same bits for the same shards.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <optional>

#include "backend/emu/emu_runtime.h"
#include "distributed/connector.h"
#include "runtime/small_net.h"
#include "support/sanitizer.h"

namespace dptrain::distributed {
namespace {

using namespace dptrain::test;  // NOLINT(google-build-using-namespace)

/// Layers that draw numbers, normalize by their batch or keep statistics, and a regularizer.
constexpr const char* kShardedImages = R"(
layers:
  - Input: {name: image, shape: [7, 9, 2]}
  - Conv2D: {name: stem, filters: 5, kernel_size: 3, padding: same, kernel_regularizer: {L2: 0.01}}
  - BatchNormalization: {name: bn1, momentum: 0.9}
  - ReLU: {name: relu1}
  - GaussianNoise: 0.1
  - Conv2D: {name: conv, filters: 5, kernel_size: 3, padding: same}
  - BatchNormalization: {name: bn2, momentum: 0.9}
  - Add: {name: add, inputs: [bn2, relu1]}
  - ReLU: {name: relu2}
  - MaxPooling2D: {name: pool}
  - Flatten
  - Dropout: 0.25
  - Dense: {name: hidden, units: 17, activation: gelu}
  - Dense: {name: logits, units: 3, activation: softmax}
)";
/// The same input as a sequence.
constexpr const char* kShardedSteps = R"(
layers:
  - Input: {name: image, shape: [7, 9, 2]}
  - Reshape: {target_shape: [21, 6]}
  - LSTM: {name: first, units: 8, return_sequences: true, dropout: 0.2}
  - LayerNormalization: {name: norm}
  - GRU: {name: second, units: 5}
  - Dense: {name: logits, units: 3, activation: softmax}
)";
constexpr std::int64_t kShardedInput = 7 * 9 * 2;

struct ShardedRun {
  const char* model = kShardedImages;
  std::string device = "cpu";
  int replicas = 1;
  int threads = 1;
  int shards = 8;
  std::vector<std::int64_t> batches{37, 37, 5, 37};
  std::string optimizer = "Adam: {global_clipnorm: 0.5}";
  std::optional<int> other_replicas_after{};  ///< number of replicas with which the run is resumed after step 2
  DType compute = DType::kF32;
};

/// All results of a run, as bits.
struct ShardedOutcome {
  std::vector<std::vector<float>> weights, state;
  std::vector<std::vector<double>> sums;  ///< per step: loss, penalty, sums of the plan; then those of the evaluations
  std::vector<float> predicted;
  bool operator==(const ShardedOutcome&) const = default;
};

std::vector<double> numbers_of(const runtime::StepSums& sums) {
  std::vector<double> all{sums.loss, sums.penalty, static_cast<double>(sums.samples)};
  all.insert(all.end(), sums.outputs.begin(), sums.outputs.end());
  return all;
}

struct ShardedReplicas {
  ShardedReplicas(const ShardedRun& run, const graph::Model& model, int replicas) {
    std::vector<std::unique_ptr<backend::Device>> devices;
    for (int r = 0; r < replicas; ++r)
      devices.push_back(run.device == "cpu" ? backend::make_cpu_device(r, run.threads, {})
                                            : device_of(run.device, r, run.compute));
    plan::PlanOptions options = options_for("sparse_categorical_crossentropy", {"accuracy", "AUC"});
    options.bucket_bytes = options.first_bucket_bytes = 512;
    options.compute = run.compute;
    plan = plan::make_plan(model, options, *devices.front());
    connector = run.device == "cpu" ? make_local(replicas) : make_local_streams(replicas);
    set.emplace(plan, std::move(devices), *connector,
                runtime::SetOptions{.weights = std::vector<double>(static_cast<std::size_t>(replicas), 1.0),
                                    .virtual_shards = run.shards,
                                    .batch_sizes = run.batches,
                                    .optimizer = value_of(nn::optimizer_family(), run.optimizer),
                                    .seed = 5,
                                    .check_every = 1});
    set->push(model);
  }

  plan::Plan plan;
  std::unique_ptr<runtime::Connector> connector;
  std::optional<runtime::ReplicaSet> set;
};

ShardedOutcome train_sharded(const ShardedRun& run) {
  backend::emu::reseed(static_cast<std::uint64_t>(run.replicas));
  ShardedOutcome o;
  graph::Model model = model_of(run.model);
  auto replicas = std::make_unique<ShardedReplicas>(run, model, run.replicas);
  for (std::size_t step = 0; step < run.batches.size(); ++step) {
    if (step == 2 && run.other_replicas_after) {
      replicas->set->pull(model);
      const auto state = replicas->set->pull_state();
      replicas = std::make_unique<ShardedReplicas>(run, model, *run.other_replicas_after);
      replicas->set->push_state(state);
    }
    const std::int64_t rows = run.batches[step];
    const SampleBatch batch(rows, kShardedInput, 3, step);
    const auto number = static_cast<std::int64_t>(step);
    o.sums.push_back(numbers_of(
        replicas->set->step(batch.view(), {.number = number, .learning_rate = 0.01, .global_samples = rows})));
  }
  // Larger than any announced batch, and fewer rows than shards.
  for (const std::int64_t rows : {75, 19, 3}) {
    const SampleBatch other(rows, kShardedInput, 3, 99);
    o.sums.push_back(numbers_of(replicas->set->evaluate(other.view())));
    o.predicted.resize(static_cast<std::size_t>(rows * 3));
    replicas->set->predict(other.view(), o.predicted.data());
  }
  replicas->set->pull(model);
  for (const graph::Weight& weight : model.weights) o.weights.push_back(weight.values);
  o.state = replicas->set->pull_state();
  return o;
}

void expect_same_bits(const ShardedOutcome& a, const ShardedOutcome& b) {
  EXPECT_EQ(a.weights, b.weights);
  EXPECT_EQ(a.state, b.state);
  EXPECT_EQ(a.sums, b.sums);
  EXPECT_EQ(a.predicted, b.predicted);
}

/// "cpu" or "emu:0", and the network.
class VirtualShards : public ::testing::TestWithParam<std::tuple<const char*, const char*>> {
 protected:
  ShardedRun run() const { return {.model = std::get<1>(GetParam()), .device = std::get<0>(GetParam())}; }
};

TEST_P(VirtualShards, GiveTheSameBitsOnAnyNumberOfReplicas) {
  ShardedRun run = this->run();
  const ShardedOutcome one = train_sharded(run);
  for (const int replicas : {2, 4, 8}) {
    if (kThreadSanitizer && replicas != 4) continue;  // the same kinds of threads
    SCOPED_TRACE(replicas);
    run.replicas = replicas;
    expect_same_bits(train_sharded(run), one);
  }
  if (kThreadSanitizer) return;
  run.shards = 0;  // each of 8 replicas is a shard; one replica computes other values
  expect_same_bits(train_sharded(run), one);
  run.replicas = 1;
  EXPECT_NE(train_sharded(run).weights, one.weights);
}

TEST_P(VirtualShards, GoOnWithAnotherNumberOfReplicas) {
  ShardedRun run = this->run();
  const ShardedOutcome whole = train_sharded(run);
  run.replicas = 4;
  for (const int other : {1, 8}) {
    if (kThreadSanitizer && other == 1) continue;
    run.other_replicas_after = other;
    expect_same_bits(train_sharded(run), whole);
  }
}

INSTANTIATE_TEST_SUITE_P(Networks, VirtualShards,
                         ::testing::Combine(::testing::Values("cpu", "emu:0"),
                                            ::testing::Values(kShardedImages, kShardedSteps)),
                         [](const auto& which) {
                           return std::string(std::get<0>(which.param)).substr(0, 3) +
                                  (std::get<1>(which.param) == kShardedImages ? "Images" : "Steps");
                         });

TEST(VirtualShardsOnThreads, DoNotDependOnTheirNumber) {
  for (const char* model : {kShardedImages, kShardedSteps}) {
    const ShardedOutcome one = train_sharded({.model = model});
    expect_same_bits(train_sharded({.model = model, .threads = 2}), one);
    expect_same_bits(train_sharded({.model = model, .replicas = 2, .threads = 3}), one);
  }
}

}  // namespace
}  // namespace dptrain::distributed
