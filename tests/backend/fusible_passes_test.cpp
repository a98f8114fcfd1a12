#include "backend/fusible_passes.h"

#include <gtest/gtest.h>

#include "core/index.h"
#include "plan/sample_models.h"

namespace dptrain::plan {
namespace {

using backend::feeds_next_step;

using namespace dptrain::test;  // NOLINT(google-build-using-namespace)

Plan plan_for(const char* text) {
  static graph::Model model;
  model = model_of(text);
  return make_plan(model, options_for("sparse_categorical_crossentropy", {}), PlainCapabilities());
}

std::vector<std::string> feeding_steps(const Plan& plan) {
  std::vector<std::string> names;
  for (std::size_t s = 0; s < plan.steps.size(); ++s)
    if (feeds_next_step(plan, s)) names.push_back(plan.steps[s].name);
  return names;
}

TEST(Neighbours, AreConsecutiveStepsThatShareATensor) {
  const Plan plan = plan_for(R"(
layers:
  - Input: {name: image, shape: [4, 4, 3]}
  - Conv2D: {name: a, filters: 4, kernel_size: 1}
  - BatchNormalization: {name: b}
  - Conv2D: {name: c, filters: 4, kernel_size: 1}
  - Conv2D: {name: d, filters: 4, kernel_size: 1, inputs: a}
  - Add: {name: e, inputs: [c, d]}
  - Flatten
  - Dense: {name: logits, units: 3, activation: softmax}
)");
  EXPECT_EQ(feeding_steps(plan), (std::vector<std::string>{"a", "b"}))
      << "c runs before d, which reads a; the first input of e is c, which runs before d";
}

TEST(Neighbours, AViewHasOtherPositions) {
  const Plan plan = plan_for(R"(
layers:
  - Input: {name: image, shape: [4, 4, 16]}
  - Conv2D: {name: a, filters: 4, kernel_size: 1}
  - Reshape: {target_shape: [8, 8]}
  - BatchNormalization: {name: b}
  - Flatten
  - Dense: {name: logits, units: 3, activation: softmax}
)");
  EXPECT_TRUE(feeding_steps(plan).empty());
}

TEST(Neighbours, ExcludeStepsOfTheLoss) {
  const Plan plan = plan_for(R"(
layers:
  - Input: {name: x, shape: [5]}
  - Dense: {name: logits, units: 3}
  - Softmax: {name: p}
)");
  ASSERT_TRUE(plan.steps.back().fused_into_loss);
  EXPECT_TRUE(feeding_steps(plan).empty());
}

TEST(Neighbours, ExtendInputsOfADeferredLastPass) {
  const Plan plan = plan_for(R"(
layers:
  - Input: {name: x, shape: [5]}
  - Dense: {name: a, units: 6}
  - Dense: {name: b, units: 7}
  - Dense: {name: c, units: 8}
  - Dense: {name: d, units: 3, activation: softmax}
)");
  const auto last = [&](const DeferredPasses& deferred) {
    return tensor_lifetimes(plan, Mode::kInference, deferred)[at(plan.steps[1].inputs[0])].last;
  };
  EXPECT_EQ(last({}), 1);
  EXPECT_EQ(last({false, true, false, false}), 2);
  EXPECT_EQ(last({true, false, true, false}), 1);
}

TEST(Neighbours, FirstPassScratchFollowsTheScratch) {
  const Plan plan = plan_for(R"(
layers:
  - Input: {name: x, shape: [5]}
  - Dense: {name: a, units: 6}
  - Dense: {name: b, units: 3, activation: softmax}
)");
  const std::vector<Need> needs{{.scratch = 300}, {.scratch = 70, .first_pass_scratch = 50}};
  const MemoryPlan memory = plan_memory(plan, needs, {}, 2, Mode::kTraining);
  EXPECT_GE(memory.first_pass_scratch_offset, 300U);
  EXPECT_EQ(memory.scratch_bytes, memory.first_pass_scratch_offset + 50);
  EXPECT_GE(memory.arena_bytes, memory.scratch_offset + memory.scratch_bytes);
  EXPECT_EQ(plan_memory(plan, {{.scratch = 300}, {}}, {}, 2, Mode::kTraining).scratch_bytes, 300U);
}

}  // namespace
}  // namespace dptrain::plan
