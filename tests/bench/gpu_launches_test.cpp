// Kernel launches of a step on a plan-only GPU, counted by hand.

#include "bench/gpu_launches.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/format.h"
#include "plan/plan_steps.h"
#include "plan/sample_models.h"

namespace dptrain::bench {
namespace {

using test::step_named;
using ::testing::HasSubstr;

constexpr const char* kModel = R"(
layers:
  - Input: {shape: [6, 6, 3]}
  - Conv2D: {name: conv, filters: 5, kernel_size: 3, activation: relu}
  - BatchNormalization: {name: norm}
  - Conv2D: {name: plain, filters: 4, kernel_size: 1, use_bias: false}
  - Flatten
  - Dense: {name: out, units: 2}
)";
constexpr const char* kEngines =
    "forward cudnn eng1 (A0, 0 B); data cudnn eng2 (A0, 0 B); weights cudnn eng3 (A0, 0 B)";
constexpr const char* kFirstEngines = "forward cudnn eng1 (A0, 0 B) + relu; weights cudnn eng3 (A0, 0 B)";

class Launches : public ::testing::Test {
 protected:
  explicit Launches(DType compute = DType::kF32) : model_(test::model_of(kModel)) {
    plan::PlanOptions options = test::options_for("SparseCategoricalCrossentropy: {from_logits: true}");
    options.compute = compute;
    plan_ = plan::make_plan(model_, options, device_);
  }
  int forward(const char* name, const char* choice) const {
    return forward_launches(plan_, step_named(plan_, name), choice);
  }
  int backward(const char* name, const char* choice) const {
    return backward_launches(plan_, step_named(plan_, name), choice);
  }

  const graph::Model model_;
  const test::FusingCapabilities device_;
  plan::Plan plan_;
};

class LaunchesOf16Bits : public Launches {
 protected:
  LaunchesOf16Bits() : Launches(DType::kBf16) {}
};

TEST_F(Launches, OfAConvolution) {
  EXPECT_EQ(forward("plain", kEngines), 1);
  EXPECT_EQ(backward("plain", kEngines), 2);
  EXPECT_EQ(forward("conv", kFirstEngines), 2) << "the ReLU, in place";
  EXPECT_EQ(backward("conv", kFirstEngines), 3) << "one engine, and the bias in two stages, which undo the ReLU";
}

TEST_F(LaunchesOf16Bits, GradientsOfWeightsBecomeFloat) { EXPECT_EQ(backward("plain", kEngines), 3); }

TEST_F(Launches, OfANormalization) {
  EXPECT_EQ(forward("norm", ""), 3);
  EXPECT_EQ(backward("norm", ""), 3);
}

TEST_F(Launches, OfOtherKernels) {
  EXPECT_EQ(forward("out", ""), 1);
  EXPECT_EQ(backward("out", ""), 1);
}

TEST(LaunchesOfAttention, ProjectionsAndTheAttentionItself) {
  const graph::Model model = test::model_of(R"(
layers:
  - Input: {name: x, shape: [6, 8]}
  - Input: {name: memory, shape: [7, 8]}
  - MultiHeadAttention: {name: heads, inputs: [x, memory], num_heads: 2, key_dim: 3, value_dim: 5}
)");
  const plan::Plan plan = plan::make_plan(model, {}, test::FusingCapabilities());
  const plan::Step& step = step_named(plan, "heads");
  EXPECT_EQ(forward_launches(plan, step, kEngines), 4 + 1);
  EXPECT_EQ(backward_launches(plan, step, kEngines), 4 * (2 + 2) + 2) << "two engines and the bias of each projection";
}

TEST(LaunchesOfARecurrentLayer, GrowWithItsSteps) {
  const graph::Model model = test::model_of("layers: [{Input: [6, 8]}, {LSTM: {name: lstm, units: 4}}]");
  const plan::Plan plan = plan::make_plan(model, {}, test::FusingCapabilities());
  const std::string choice = "inputs forward cudnn eng1; state forward cudnn eng2";
  EXPECT_EQ(forward_launches(plan, step_named(plan, "lstm"), choice), 2 + (2 * 6 - 1));
}

TEST(LaunchesOfAnEmbedding, GrowWithTheDigitsOfItsIds) {
  for (const auto& [words, launches] :
       {std::pair{255, 5}, std::pair{256, 8}, std::pair{65535, 8}, std::pair{65536, 11}}) {
    const graph::Model model =
        test::model_of(fmt::format("layers: [{{Input: {{shape: [6], dtype: int32}}}}, {{Embedding: {{name: words, "
                                   "input_dim: {}, output_dim: 3}}}}]",
                                   words));
    const plan::Plan plan = plan::make_plan(model, {}, test::FusingCapabilities());
    EXPECT_EQ(backward_launches(plan, step_named(plan, "words"), ""), launches) << words;
  }
}

std::vector<LaunchItem> items_of(const plan::Plan& plan, std::int64_t micro_batches) {
  std::vector<std::string> choices;
  for (const plan::Step& step : plan.steps)
    choices.emplace_back(step.name == "norm" ? "" : step.name == "conv" ? kFirstEngines : kEngines);
  return launch_items(plan, choices, micro_batches);
}

TEST_F(Launches, OfAStep) {
  const std::vector<LaunchItem> items = items_of(plan_, 3);
  EXPECT_EQ(items.back().name, "update");
  EXPECT_EQ(items.back().times, 1);
  EXPECT_EQ(items.back().forward, 4) << "and the moving statistics";
  // Per micro-batch: input 1, conv 2 + 3, norm 3 + 3, plain 1 + 2, out 1 + 4 (two for its bias), loss 4, sum 1.
  EXPECT_EQ(launches(items), 3 * (1 + 5 + 6 + 3 + 5 + 4 + 1) + 4);
  const std::string text = launches_text(items);
  EXPECT_THAT(text, HasSubstr("  conv                        2         3  times 3\n"));
  EXPECT_THAT(text, HasSubstr("  in all: 79 launches\n"));
}

TEST(LaunchesWithoutLoss, AreForward) {
  const graph::Model model = test::model_of(kModel);
  const plan::Plan plan = plan::make_plan(model, {}, test::FusingCapabilities());
  const std::vector<LaunchItem> items = items_of(plan, 1);
  EXPECT_EQ(items.size(), 1 + plan.steps.size());
  for (const LaunchItem& item : items) EXPECT_EQ(item.backward, 0) << item.name;
}

}  // namespace
}  // namespace dptrain::bench
