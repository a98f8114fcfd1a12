// Copies of weights between a model and a replica's arenas.

#include "runtime/arenas.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "plan/prefix.h"
#include "runtime/small_net.h"
#include "runtime/weight_mirror.h"

namespace dptrain::runtime {
namespace {

using namespace dptrain::test;  // NOLINT(google-build-using-namespace)
using ::testing::Each;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAreArray;

graph::Model undrawn(const graph::Model& model) { return graph::undrawn_model(model.graph, model.seed); }

std::vector<std::vector<float>> values(const graph::Model& model) {
  std::vector<std::vector<float>> all;
  for (const graph::Weight& weight : model.weights) all.push_back(weight.values);
  return all;
}

std::vector<const void*> places(const graph::Model& model) {
  std::vector<const void*> all;
  for (const graph::Weight& weight : model.weights) all.push_back(weight.values.data());
  return all;
}

struct ArenasFixture {
  ArenasFixture(std::unique_ptr<backend::Device> device_, plan::Plan plan_)
      : device(std::move(device_)), plan(std::move(plan_)) {
    device->enter();
    stream = device->make_stream();
    arenas.emplace(plan, *device, *stream, ReplicaOptions{.optimizer = sgd()});
  }

  std::unique_ptr<backend::Device> device;
  plan::Plan plan;
  std::unique_ptr<backend::Stream> stream;
  std::optional<ParameterArenas> arenas;
};

class Arenas : public ::testing::TestWithParam<std::string> {};

TEST_P(Arenas, DrawWeightsWithoutValues) {
  const graph::Model drawn = model_of(kSmallNet);
  auto device = device_of(GetParam(), 0);
  plan::Plan plan = small_plan(drawn, *device);
  ArenasFixture f(std::move(device), std::move(plan));
  graph::Model model = undrawn(drawn), pulled = model;
  f.arenas->push(model);
  f.arenas->pull(pulled);
  EXPECT_EQ(values(pulled), values(drawn));

  // Weights with values are pushed and replace the contents of the arenas.
  model.weights.front().values.assign(drawn.weights.front().values.size(), 0.25F);
  f.arenas->push(model);
  f.arenas->pull(pulled);
  EXPECT_THAT(pulled.weights.front().values, Each(0.25F));
  for (std::size_t w = 1; w < drawn.weights.size(); ++w)
    EXPECT_EQ(pulled.weights[w].values, drawn.weights[w].values) << w;
}

TEST_P(Arenas, PullIncludesWeightsOutsideThePlan) {
  const graph::Model drawn = model_of(kFrozen);
  plan::PlanOptions options = options_for("sparse_categorical_crossentropy");
  options.part = plan::Part::kHead;
  options.border = plan::frozen_prefix(drawn).border;
  auto device = device_of(GetParam(), 0);
  plan::Plan plan = plan::make_plan(drawn, options, *device);
  ASSERT_LT(plan.parameters.size(), drawn.weights.size());
  ArenasFixture f(std::move(device), std::move(plan));
  graph::Model model = undrawn(drawn);
  f.arenas->push(model);
  f.arenas->pull(model);
  EXPECT_EQ(values(model), values(drawn));
}

INSTANTIATE_TEST_SUITE_P(Devices, Arenas, ::testing::Values("cpu", "emu:0"),
                         [](const auto& test) { return test.param.substr(0, 3); });

// A second copy of a large network's weights could exceed the memory.
TEST(ArenasOfHostMemory, HoldNoSecondCopyOfTheWeights) {
  const graph::Model drawn = model_of(kToyModel);
  auto owned = std::make_unique<ToyDevice>(0);
  ToyDevice& device = *owned;
  ArenasFixture f(std::move(owned), toy_plan(drawn));
  graph::Model model = undrawn(drawn);
  device.take_host_ends();
  f.arenas->push(model);
  EXPECT_THAT(device.take_host_ends(), IsEmpty()) << "initialized in place";
  EXPECT_THAT(values(model), Each(IsEmpty())) << "the template needs none";
  f.arenas->pull(model);
  std::vector<const void*> there = device.take_host_ends();
  EXPECT_THAT(there, UnorderedElementsAreArray(places(model))) << "copied directly to the model";
  f.arenas->push(model);
  EXPECT_EQ(device.take_host_ends(), there);
}

// --- Weights of secondary slots ---

constexpr const char* kMirrored = R"(
layers:
  - Input: {name: x, shape: [6]}
  - Dense: {name: first, units: 5, device: a}
  - Dense: {name: second, inputs: x, units: 5, device: b}
  - Dense: {name: third, units: 7, device: b}
  - Dense: {name: fixed, units: 5, device: b, trainable: false}
  - Add: {name: sum, inputs: [first, fixed], device: a}
  - Dense: {name: logits, units: 3, activation: softmax, device: a}
)";

struct EmptyRecording final : backend::Recording {
  void replay(backend::Stream&) override {}
};

void expect_mirrored(const plan::Plan& plan, const ParameterArenas& arenas, const WeightMirror& mirror) {
  int mirrored = 0;
  for (std::size_t i = 0; i < plan.parameters.size(); ++i) {
    const plan::Parameter& p = plan.parameters[i];
    if (mirror.offsets()[i] < 0) continue;
    ++mirrored;
    for (std::int64_t k = 0; k < p.elements(); ++k) {
      const float value = arenas.parameters()[p.offset + k];
      ASSERT_EQ(mirror.parameters()[mirror.offsets()[i] + k], value) << p.path;
      if (plan.compute != DType::kBf16) continue;
      ASSERT_EQ(static_cast<const std::uint16_t*>(mirror.compute())[mirror.offsets()[i] + k], bf16_of(value)) << p.path;
    }
  }
  EXPECT_EQ(mirrored, 6) << "kernel and bias of three layers";
}

TEST(WeightMirrors, CopyAdjacentParametersAtOnce) {
  for (const DType compute : {DType::kF32, DType::kBf16}) {
    auto owned = std::make_unique<ToyDevice>(0, ToyDevice::Switches{.reads_host_memory = false});
    ToyDevice& device = *owned;
    const graph::Model model = model_of(kMirrored);
    plan::PlanOptions options = options_for("sparse_categorical_crossentropy");
    options.slots = {{"a"}, {"b"}};
    options.compute = compute;
    plan::Plan plan = plan::make_plan(model, options, device);
    ArenasFixture f(std::move(owned), std::move(plan));
    f.arenas->push(model);
    WeightMirror mirror(f.plan, device, *f.arenas, 1);

    mirror.refresh(*f.stream);
    EXPECT_EQ(device.take_copies_between(), 2) << "trainable and frozen weights";
    expect_mirrored(f.plan, *f.arenas, mirror);
    mirror.refresh(*f.stream);
    EXPECT_EQ(device.take_copies_between(), 0) << "nothing has changed";
    EmptyRecording update;
    f.arenas->replay(update);
    mirror.refresh(*f.stream);
    EXPECT_EQ(device.take_copies_between(), 1) << "an update does not change frozen weights";
    graph::Model other = model;
    for (graph::Weight& weight : other.weights) std::ranges::reverse(weight.values);
    f.arenas->push(other);
    mirror.refresh(*f.stream);
    EXPECT_EQ(device.take_copies_between(), 2);
    expect_mirrored(f.plan, *f.arenas, mirror);
  }
}

}  // namespace
}  // namespace dptrain::runtime
