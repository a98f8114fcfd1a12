#include "plan/memory.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "plan/plan_simulator.h"
#include "plan/sample_models.h"

namespace dptrain::plan {
namespace {

using test::model_of;
using test::options_for;

struct Case {
  const char* name;
  const char* model;
  const char* loss;
  nn::LabelKind labels = nn::LabelKind::kClass;
};

constexpr const char* kStatisticsShared = R"(
shared:
  norm: {BatchNormalization: {momentum: 0.9}}
layers:
  - Input: {name: x, shape: [4]}
  - Dense: {name: d1, units: 4}
  - norm: {name: n1}
  - Dense: {name: d2, units: 4}
  - norm: {name: n2}
  - Dense: {name: d3, units: 4}
  - norm: {name: n3}
)";

const Case kCases[] = {
    {"FashionMnist", test::kFashionMnist, "sparse_categorical_crossentropy"},
    {"Residual", test::kResidual, "categorical_crossentropy"},
    {"Bottlenecks", test::kBottlenecks, "categorical_crossentropy"},
    {"Shared", test::kShared, "binary_crossentropy", nn::LabelKind::kDense},
    {"Frozen", test::kFrozen, "categorical_crossentropy"},
    {"StatisticsShared", kStatisticsShared, "mse", nn::LabelKind::kDense},
    {"PredictionOnly", test::kResidual, ""},
};

class Memory : public ::testing::TestWithParam<Case> {};

/// Every op needs saved and scratch memory of its own odd size.
std::vector<Need> odd_needs(const Plan& plan) {
  std::vector<Need> needs;
  for (std::size_t s = 0; s < plan.steps.size(); ++s) needs.push_back({.saved = 100 + 77 * s, .scratch = 333 - 11 * s});
  return needs;
}

TEST_P(Memory, OverwritesNoTensorBeforeItsLastReader) {
  const graph::Model model = model_of(GetParam().model);
  const PlainCapabilities plain;
  const test::FusingCapabilities fusing;
  const test::SummingCapabilities summing;
  for (const Capabilities* device :
       {static_cast<const Capabilities*>(&plain), static_cast<const Capabilities*>(&fusing),
        static_cast<const Capabilities*>(&summing)})
    for (const std::int64_t rows : {1, 3, 64}) {
      const Plan plan = make_plan(model, options_for(GetParam().loss, {}, GetParam().labels), *device);
      const std::vector<Need> needs = odd_needs(plan);
      for (const Mode mode : {Mode::kTraining, Mode::kInference}) {
        if (mode == Mode::kTraining && !plan.has_loss()) continue;
        const MemoryPlan memory = plan_memory(plan, needs, {.scratch = 999}, rows, mode);
        EXPECT_GE(memory.scratch_bytes, 999U);
        EXPECT_THAT(test::Simulation(plan, memory, needs).run(mode), ::testing::ElementsAre())
            << GetParam().name << " rows " << rows;
      }
    }
}

TEST_P(Memory, SharingSavesMemory) {
  const graph::Model model = model_of(GetParam().model);
  const Plan plan = make_plan(model, options_for(GetParam().loss, {}, GetParam().labels), PlainCapabilities());
  const std::vector<Need> needs(plan.steps.size());
  const MemoryPlan memory = plan_memory(plan, needs, {}, 64, Mode::kInference);
  EXPECT_LT(memory.arena_bytes, memory.activation_bytes);
}

TEST_P(Memory, PackedWeightsHaveASeparateArena) {
  const graph::Model model = model_of(GetParam().model);
  const Plan plan = make_plan(model, options_for(GetParam().loss, {}, GetParam().labels), PlainCapabilities());
  std::vector<Need> needs = odd_needs(plan);
  const MemoryPlan without = plan_memory(plan, needs, {}, 3, Mode::kInference);
  EXPECT_EQ(without.packed_bytes, 0U);
  EXPECT_THAT(print(plan, without, {}, 0), ::testing::Not(::testing::HasSubstr("packed weights")));
  for (std::size_t s = 0; s < needs.size(); s += 2) needs[s].packed = 1000 + s;
  const MemoryPlan memory = plan_memory(plan, needs, {}, 3, Mode::kInference);
  EXPECT_EQ(memory.arena_bytes, without.arena_bytes);
  std::uint64_t used = 0;
  for (std::size_t s = 0; s < needs.size(); ++s) {
    EXPECT_GE(memory.packed_offset[s], used) << "step " << s;
    EXPECT_EQ(memory.packed_offset[s] % 256, 0U);
    used = memory.packed_offset[s] + needs[s].packed;
  }
  EXPECT_LE(used, memory.packed_bytes);
  EXPECT_THAT(print(plan, memory, {}, 0), ::testing::HasSubstr("packed weights"));
  if (!plan.has_loss()) return;
  EXPECT_EQ(plan_memory(plan, needs, {}, 3, Mode::kTraining).packed_offset, memory.packed_offset) << "one serves both";
}

INSTANTIATE_TEST_SUITE_P(Models, Memory, ::testing::ValuesIn(kCases), [](const auto& c) { return c.param.name; });

TEST(Lifetimes, AFrozenPrefixSavesNothing) {
  const graph::Model model = model_of(test::kFrozen);
  const Plan plan = make_plan(model, options_for("categorical_crossentropy"), test::FusingCapabilities());
  const std::vector<Lifetime> lives = tensor_lifetimes(plan, Mode::kTraining);
  for (std::size_t s = 0; s < plan.steps.size(); ++s) {
    const Step& step = plan.steps[s];
    if (!step.name.starts_with("block1")) continue;
    EXPECT_EQ(step.name == "block1_pool", lives[static_cast<std::size_t>(step.output())].last > static_cast<int>(s) + 1)
        << step.name << ": only the input of the first trainable layer is kept";
  }
}

TEST(Lifetimes, AReluMaskedByItsPoolingIsNotSaved) {
  class NoMasks final : public test::FusingCapabilities {
    bool undoes(const Step&, const TailEntry&) const override { return false; }
  };
  const graph::Model model = model_of(test::kFashionMnist);
  const auto last_of_first_conv = [&](const Capabilities& device) {
    const Plan plan = make_plan(model, options_for("categorical_crossentropy"), device);
    return tensor_lifetimes(plan, Mode::kTraining)[static_cast<std::size_t>(plan.steps[0].output())].last;
  };
  EXPECT_EQ(last_of_first_conv(test::FusingCapabilities()), 1);  // last read by the pooling, step 1
  EXPECT_GT(last_of_first_conv(NoMasks()), 2);
}

TEST(Lifetimes, AnAddendIsNotSavedForBackward) {
  const graph::Model model = model_of(test::kBottlenecks);
  const Plan plan = make_plan(model, options_for("categorical_crossentropy"), test::SummingCapabilities());
  const std::vector<Lifetime> lives = tensor_lifetimes(plan, Mode::kTraining);
  EXPECT_EQ(plan.steps[1].name, "wide_bn");
  EXPECT_EQ(lives[static_cast<std::size_t>(plan.steps[1].output())].last, 3);  // short_bn adds it
}

TEST(Lifetimes, OutputsLiveToTheEndOfForward) {
  const graph::Model model = model_of(R"(
layers:
  - Input: {name: x, shape: [4]}
  - Dense: {name: early, units: 4}
  - Dense: {name: late, units: 4}
  - Dense: {name: last, units: 4}
outputs: [early, last]
)");
  const Plan plan = make_plan(model, {}, PlainCapabilities());
  const std::vector<Lifetime> lives = tensor_lifetimes(plan, Mode::kInference);
  for (const int output : plan.outputs) EXPECT_EQ(lives[static_cast<std::size_t>(output)].last, 3);
  EXPECT_EQ(lives[static_cast<std::size_t>(plan.steps[1].output())].last, 2);
}

}  // namespace
}  // namespace dptrain::plan
