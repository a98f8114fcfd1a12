// Replicas on emulated GPUs: the complete GPU code except for the hardware, with streams in random order.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "backend/emu/emu_runtime.h"
#include "distributed/connector.h"
#include "runtime/arenas.h"
#include "runtime/small_net.h"
#include "support/sanitizer.h"

namespace dptrain::distributed {
namespace {

using namespace dptrain::test;  // NOLINT(google-build-using-namespace)
using ::testing::Each;

struct EmuTraining {
  const char* model = kSmallNet;
  std::vector<std::string> devices{"emu:0"};
  std::vector<double> weights{};  ///< empty: even
  std::int64_t batch = 12;
  std::int64_t accumulate = 1;
  int steps = 3;
  std::string optimizer = "SGD: {momentum: 0.9}";
  std::uint64_t seed = 1;  ///< seed for the order of streams
  DType compute = DType::kF32;
};

struct EmuReplicasOutcome {
  graph::Model model;
  std::vector<runtime::StepSums> sums;
  std::vector<std::vector<float>> state;
  std::vector<std::uint64_t> hashes;
  runtime::StepSums evaluated;
  std::vector<float> predicted;
};

/// A batch in page-locked memory, as from a loader for GPUs. Asynchronous copies read it; its memory is overwritten
/// when the step is over.
class Locked {
 public:
  Locked(const SampleBatch& batch, backend::Device& device)
      : rows_(batch.rows),
        count_(batch.inputs.size()),
        inputs_(device.allocate_host(batch.inputs.size() * sizeof(float))),
        labels_(device.allocate_host(batch.labels.size() * sizeof(std::int32_t))) {
    std::ranges::copy(batch.inputs, inputs_->as<float>());
    std::ranges::copy(batch.labels, labels_->as<std::int32_t>());
  }
  ~Locked() {
    std::fill_n(inputs_->as<float>(), count_, NAN);
    std::fill_n(labels_->as<std::int32_t>(), rows_, -1);
  }
  Locked(const Locked&) = delete;
  Locked& operator=(const Locked&) = delete;
  BatchView view() const {
    return {.rows = rows_,
            .inputs = {column(inputs_->as<float>(), static_cast<std::int64_t>(count_) / rows_)},
            .labels = {column(labels_->as<std::int32_t>())}};
  }

 private:
  const std::int64_t rows_;
  const std::size_t count_;
  const std::unique_ptr<backend::Buffer> inputs_, labels_;
};

/// Trains, with fewer rows in the last step; then evaluates and predicts another batch.
EmuReplicasOutcome train_emu(const EmuTraining& run) {
  backend::emu::reseed(run.seed);
  EmuReplicasOutcome o{
      .model = model_of(run.model), .sums = {}, .state = {}, .hashes = {}, .evaluated = {}, .predicted = {}};
  const int replicas = static_cast<int>(run.devices.size());
  std::vector<std::unique_ptr<backend::Device>> devices;
  for (int r = 0; r < replicas; ++r)
    devices.push_back(device_of(run.devices[static_cast<std::size_t>(r)], r, run.compute));
  const plan::Plan plan = small_plan(o.model, *devices.front(), run.compute);
  const std::int64_t last = (run.batch + 1) / 2;
  const auto connector = run.devices.front() == "cpu" ? make_local(replicas) : make_local_streams(replicas);
  runtime::ReplicaSet set(plan, std::move(devices), *connector,
                          {.weights = run.weights.empty() ? std::vector<double>(run.devices.size(), 1.0) : run.weights,
                           .accumulate_steps = run.accumulate,
                           .batch_sizes = {run.batch, last},
                           .optimizer = value_of(nn::optimizer_family(), run.optimizer),
                           .seed = 5,
                           .check_every = 1});
  set.push(o.model);
  for (int number = 0; number < run.steps; ++number) {
    const std::int64_t rows = number + 1 == run.steps ? last : run.batch;
    const Locked batch({rows, kSmallNetInput, 3, static_cast<std::uint64_t>(number)}, set.device(0));
    o.sums.push_back(set.step(batch.view(), {.number = number, .learning_rate = 0.05, .global_samples = rows}));
  }
  set.pull(o.model);
  o.state = set.pull_state();
  o.hashes.resize(run.devices.size());
  set.on_each([&](int rank, runtime::Replica& r) { o.hashes[static_cast<std::size_t>(rank)] = r.arenas().hash(); });
  const SampleBatch other(7, kSmallNetInput, 3, 99);
  o.evaluated = set.evaluate(other.view());
  o.predicted.resize(7 * 3);
  set.predict(other.view(), o.predicted.data());
  return o;
}

void expect_close(const EmuReplicasOutcome& a, const EmuReplicasOutcome& b, double tolerance) {
  EXPECT_LT(relative_distance(a.model, b.model), tolerance);
  for (std::size_t i = 0; i < a.sums.size(); ++i) {
    EXPECT_NEAR(a.sums[i].loss, b.sums[i].loss, tolerance * a.sums[i].loss);
    EXPECT_EQ(a.sums[i].outputs.at(1), b.sums[i].outputs.at(1));
    EXPECT_EQ(a.sums[i].samples, b.sums[i].samples);
    EXPECT_NEAR(a.sums[i].penalty, b.sums[i].penalty, tolerance * a.sums[i].penalty);
  }
  EXPECT_NEAR(a.evaluated.loss, b.evaluated.loss, tolerance * a.evaluated.loss);
  EXPECT_EQ(a.evaluated.outputs.at(1), b.evaluated.outputs.at(1));
  for (std::size_t i = 0; i < a.predicted.size(); ++i) EXPECT_NEAR(a.predicted[i], b.predicted[i], tolerance);
}

std::vector<std::string> same(int replicas) {
  return std::vector<std::string>(static_cast<std::size_t>(replicas), "emu:0");
}

TEST(EmuReplicas, OneIsTheCpu) {
  for (const std::int64_t batch : {5, 12})
    expect_close(train_emu({.devices = {"cpu"}, .batch = batch}), train_emu({.batch = batch}), 1e-4);
}

TEST(EmuReplicas, SeveralOnOneGpuAreOneBigBatch) {
  const EmuReplicasOutcome one = train_emu({});
  EXPECT_GT(relative_distance(one.model, model_of(kSmallNet)), 1e-2);
  for (const int replicas : {2, 4}) {
    const EmuReplicasOutcome many = train_emu({.devices = same(replicas)});
    // Partial sums in another order, for three steps.
    expect_close(one, many, 1e-6);
    EXPECT_THAT(many.hashes, Each(many.hashes.front()));
    expect_close(train_emu({.devices = std::vector<std::string>(static_cast<std::size_t>(replicas), "cpu")}), many,
                 1e-4);
  }
}

TEST(EmuReplicas, SharesMayBeUnevenOrEmpty) {
  const EmuReplicasOutcome one = train_emu({.batch = 5});
  for (const std::vector<double>& weights : std::vector<std::vector<double>>{{1, 1, 1}, {2, 1}, {1, 0, 3}}) {
    const EmuReplicasOutcome many =
        train_emu({.devices = same(static_cast<int>(weights.size())), .weights = weights, .batch = 5});
    expect_close(one, many, 1e-5);  // statistics of three rows divide by a small variance
    EXPECT_THAT(many.hashes, Each(many.hashes.front()));
  }
}

TEST(EmuReplicas, MicroBatchesAddUp) {
  const EmuReplicasOutcome one = train_emu({.model = kSmallPlainNet});
  for (const int replicas : {1, 2})
    for (const std::int64_t accumulate : {2, 5}) {
      if (test::kThreadSanitizer && replicas == 1) continue;
      expect_close(one, train_emu({.model = kSmallPlainNet, .devices = same(replicas), .accumulate = accumulate}),
                   1e-6);
      expect_close(train_emu({.devices = std::vector<std::string>(static_cast<std::size_t>(replicas), "cpu"),
                              .accumulate = accumulate}),
                   train_emu({.devices = same(replicas), .accumulate = accumulate}), 1e-4);
    }
}

TEST(EmuReplicas, GiveTheSameBitsInAnyOrderOfStreams) {
  for (const std::int64_t accumulate : {1, 3}) {
    const EmuTraining run{.devices = {"emu:0", "emu:1", "emu:0"}, .accumulate = accumulate, .optimizer = "Adam"};
    const EmuReplicasOutcome first = train_emu(run);
    for (std::uint64_t seed = 2; seed < 2 + test::seeds(3); ++seed) {
      EmuTraining again = run;
      again.seed = seed;
      const EmuReplicasOutcome other = train_emu(again);
      EXPECT_EQ(first.hashes, other.hashes) << "seed " << seed;
      EXPECT_EQ(first.state, other.state);
      EXPECT_EQ(first.predicted, other.predicted);
      for (std::size_t i = 0; i < first.sums.size(); ++i) EXPECT_EQ(first.sums[i].loss, other.sums[i].loss);
    }
  }
}

TEST(EmuReplicas, TrainInBfloat16) {
  const EmuReplicasOutcome full = train_emu({.devices = same(2)});
  const EmuReplicasOutcome half = train_emu({.devices = same(2), .compute = DType::kBf16});
  EXPECT_THAT(half.hashes, Each(half.hashes.front()));
  // Activations have eight bits of mantissa.
  for (std::size_t i = 0; i < full.sums.size(); ++i)
    EXPECT_NEAR(full.sums[i].loss, half.sums[i].loss, 0.05 * full.sums[i].loss);
  for (std::size_t i = 0; i < full.predicted.size(); ++i) EXPECT_NEAR(full.predicted[i], half.predicted[i], 0.05);
}

TEST(EmuReplicas, AFailureOfOneWakesAllOthers) {
  const graph::Model model = model_of(kSmallNet);
  std::vector<std::unique_ptr<backend::Device>> devices;
  for (int r = 0; r < 3; ++r) devices.push_back(device_of("emu:0", r));
  const plan::Plan plan = small_plan(model, *devices.front());
  const auto connector = make_local_streams(3);
  runtime::ReplicaSet set(plan, std::move(devices), *connector,
                          {.weights = {1, 1, 1}, .batch_sizes = {6}, .optimizer = sgd()});
  set.push(model);
  const SampleBatch good(6, kSmallNetInput, 3), large(60, kSmallNetInput, 3);
  set.step(good.view(), {.number = 0, .learning_rate = 0.1, .global_samples = 6});
  const auto fails = [&](const SampleBatch& batch, std::int64_t number, const char* words) {
    try {
      set.step(batch.view(), {.number = number, .learning_rate = 0.1, .global_samples = batch.rows});
      ADD_FAILURE() << "expected an error";
    } catch (const Error& error) {
      EXPECT_THAT(error.what(), ::testing::HasSubstr(words));
    }
  };
  fails(large, 1, "the replica was made for at most 2");
  fails(good, 2, "stopped, because of replica ");
}

}  // namespace
}  // namespace dptrain::distributed
