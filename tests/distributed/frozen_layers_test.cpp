// Frozen layers on real devices and the emulated one. Training does not change them. Running the frozen prefix once and
// training the rest on its features matches training of the whole network.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "distributed/connector.h"
#include "plan/prefix.h"
#include "runtime/small_net.h"

namespace dptrain::distributed {
namespace {

using namespace dptrain::test;  // NOLINT(google-build-using-namespace)

constexpr std::int64_t kRows = 11;
constexpr int kSteps = 4;

/// Frozen layers below and above trainable ones, two tensors at the border, dropout in the head.
constexpr const char* kNet = R"(
layers:
  - Input: {name: image, shape: [5, 6, 2]}
  - Conv2D: {name: low1, filters: 5, kernel_size: 3, padding: same, activation: relu, kernel_regularizer: {L2: 0.1}}
  - BatchNormalization: {name: low2, momentum: 0.5}
  - ReLU: {name: low3}
  - Conv2D: {name: middle, filters: 5, kernel_size: 3, padding: same, kernel_regularizer: {L2: 0.01}}
  - BatchNormalization: {name: high1, momentum: 0.5}
  - Conv2D: {name: high2, filters: 5, kernel_size: 1, activation: relu}
  - Add: {name: skip, inputs: [high2, low1]}
  - Flatten
  - Dropout: 0.25
  - Dense: {name: logits, units: 3, activation: softmax}
freeze: [low*, high*]
)";

graph::Model frozen_model() {
  graph::Model model = model_of(kNet);
  // Statistics other than the identity.
  for (graph::Weight& weight : model.weights)
    if (weight.def.name == "moving_mean" || weight.def.name == "moving_variance")
      for (std::size_t i = 0; i < weight.values.size(); ++i) weight.values[i] = 0.4F + 0.1F * static_cast<float>(i);
  return model;
}

std::vector<SampleBatch> batches() {
  std::vector<SampleBatch> all;
  for (int i = 0; i < kSteps; ++i)
    all.emplace_back(i + 1 == kSteps ? 4 : kRows, kSmallNetInput, 3, static_cast<std::uint64_t>(i % 2));
  return all;
}

plan::Plan plan_of(const graph::Model& model, const backend::Device& device, plan::Part part,
                   const std::vector<graph::Port>& border, DType compute) {
  plan::PlanOptions options;
  if (part != plan::Part::kPrefix) options = options_for("sparse_categorical_crossentropy", {"accuracy"});
  options.part = part;
  options.border = border;
  options.compute = compute;
  return plan::make_plan(model, options, device);
}

struct Machine {
  Machine(const graph::Model& model, const std::string& device, int replicas, plan::Part part,
          const std::vector<graph::Port>& border, DType compute) {
    std::vector<std::unique_ptr<backend::Device>> devices;
    for (int r = 0; r < replicas; ++r) devices.push_back(device_of(device, r, compute));
    plan = std::make_unique<plan::Plan>(plan_of(model, *devices.front(), part, border, compute));
    connector = device == "cpu" ? make_local(replicas) : make_local_streams(replicas);
    runtime::SetOptions options{
        .weights = std::vector<double>(static_cast<std::size_t>(replicas), 1.0), .batch_sizes = {kRows, 4}, .seed = 5};
    if (part != plan::Part::kPrefix) options.optimizer = sgd();
    set = std::make_unique<runtime::ReplicaSet>(*plan, std::move(devices), *connector, std::move(options));
    set->push(model);
  }
  std::unique_ptr<plan::Plan> plan;
  std::unique_ptr<runtime::Connector> connector;
  std::unique_ptr<runtime::ReplicaSet> set;
};

struct FrozenOutcome {
  graph::Model model;
  std::vector<double> losses, penalties;
  std::size_t state = 0;
};

FrozenOutcome train(Machine& machine, graph::Model model, const std::vector<BatchView>& inputs) {
  FrozenOutcome outcome;
  for (int number = 0; number < kSteps; ++number) {
    const BatchView& batch = inputs[static_cast<std::size_t>(number)];
    const runtime::StepSums sums =
        machine.set->step(batch, {.number = number, .learning_rate = 0.05, .global_samples = batch.rows});
    outcome.losses.push_back(sums.loss);
    outcome.penalties.push_back(sums.penalty);
  }
  machine.set->pull(model);
  for (const std::vector<float>& array : machine.set->pull_state()) outcome.state += array.size();
  outcome.model = std::move(model);
  return outcome;
}

FrozenOutcome train_whole(const std::string& device, int replicas, DType compute = DType::kF32) {
  const graph::Model model = frozen_model();
  Machine machine(model, device, replicas, plan::Part::kWhole, {}, compute);
  const std::vector<SampleBatch> data = batches();
  std::vector<BatchView> inputs;
  for (const SampleBatch& batch : data) inputs.push_back(batch.view());
  return train(machine, model, inputs);
}

FrozenOutcome train_on_features(const std::string& device, int replicas, DType compute = DType::kF32) {
  const graph::Model model = frozen_model();
  const std::vector<graph::Port> border = plan::frozen_prefix(model).border;
  EXPECT_EQ(border.size(), 2U);
  const std::vector<SampleBatch> data = batches();
  std::vector<std::vector<std::vector<float>>> features;
  {
    Machine prefix(model, device, replicas, plan::Part::kPrefix, border, compute);
    for (const SampleBatch& batch : data) {
      auto& rows = features.emplace_back();
      std::vector<float*> places;
      for (const int output : prefix.plan->outputs)
        rows.emplace_back(
            static_cast<std::size_t>(prefix.plan->tensors[static_cast<std::size_t>(output)].elements(batch.rows)), NAN);
      for (std::vector<float>& row : rows) places.push_back(row.data());
      prefix.set->predict(batch.view(), {places.begin(), places.end()});
    }
  }
  std::vector<BatchView> inputs;
  for (std::size_t b = 0; b < data.size(); ++b) {
    inputs.push_back({.rows = data[b].rows, .labels = {column(data[b].labels.data())}});
    for (const std::vector<float>& rows : features[b])
      inputs.back().inputs.push_back(column(rows.data(), static_cast<std::int64_t>(rows.size()) / data[b].rows));
  }
  Machine head(model, device, replicas, plan::Part::kHead, border, compute);
  return train(head, model, inputs);
}

bool is_frozen(const graph::Model& model, const graph::Weight& weight) {
  return !model.graph.layers[static_cast<std::size_t>(weight.layer)].trainable;
}

class Frozen : public ::testing::TestWithParam<std::tuple<const char*, int>> {};

TEST_P(Frozen, LayersKeepTheirBitsWhileOthersTrain) {
  const auto [device, replicas] = GetParam();
  const graph::Model before = frozen_model();
  const FrozenOutcome outcome = train_whole(device, replicas);
  std::int64_t trainable = 0;
  for (std::size_t w = 0; w < before.weights.size(); ++w) {
    const bool frozen = is_frozen(before, before.weights[w]);
    EXPECT_EQ(outcome.model.weights[w].values == before.weights[w].values, frozen)
        << before.weights[w].path(before.graph);
    if (!frozen) trainable += (before.weights[w].def.shape.elements() + 63) / 64 * 64;
  }
  EXPECT_EQ(outcome.state, static_cast<std::size_t>(trainable)) << "momentum, of trainable weights alone";
  double squares = 0;
  for (std::size_t w = 0; w < before.weights.size(); ++w)
    if (before.weights[w].path(before.graph) == "middle/kernel")
      for (const float x : before.weights[w].values) squares += double(x) * double(x);
  EXPECT_NEAR(outcome.penalties.front(), 0.01 * squares, 1e-6 * squares)
      << "as in Keras, low1's regularizer does not count";
}

TEST_P(Frozen, APrefixRunOnceMatchesTheWholeNetwork) {
  const auto [device, replicas] = GetParam();
  const FrozenOutcome whole = train_whole(device, replicas), cached = train_on_features(device, replicas);
  EXPECT_EQ(cached.losses, whole.losses);  // the same operations on the same bits
  EXPECT_EQ(cached.penalties, whole.penalties);
  EXPECT_EQ(distance(cached.model, whole.model), 0);
  EXPECT_EQ(cached.state, whole.state);
}

INSTANTIATE_TEST_SUITE_P(Devices, Frozen,
                         ::testing::Combine(::testing::Values("cpu", "emu:0"), ::testing::Values(1, 2)),
                         [](const auto& p) {
                           return std::string(std::get<0>(p.param)).substr(0, 3) + std::to_string(std::get<1>(p.param));
                         });

TEST(FrozenPrefixRuns, InSixteenBitsToo) {
  for (const DType compute : {DType::kBf16, DType::kF16}) {
    const FrozenOutcome whole = train_whole("emu:0", 1, compute), cached = train_on_features("emu:0", 1, compute);
    EXPECT_EQ(cached.losses, whole.losses);  // 16-bit features are preserved by the conversion to floats
    EXPECT_EQ(distance(cached.model, whole.model), 0);
  }
}

}  // namespace
}  // namespace dptrain::distributed
