// A step on a GPU on paper, by hand: tensors of float32 and bfloat16, two rows.

#include "bench/paper_step.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "plan/plan_steps.h"
#include "plan/sample_models.h"
#include "session/dry_plan.h"

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
constexpr std::int64_t kRows = 2;
constexpr double kFloat = 4, kHalf = 2;

class Rules : public ::testing::Test {
 protected:
  explicit Rules(DType compute = DType::kF32) : model_(test::model_of(kModel)) {
    plan::PlanOptions options = test::options_for("SparseCategoricalCrossentropy: {from_logits: true}");
    options.compute = compute;
    plan_ = plan::make_plan(model_, options, device_);
  }
  PassRule forward(const char* name, const char* choice) const {
    return forward_rule(plan_, step_named(plan_, name), choice, kRows);
  }
  PassRule backward(const char* name, const char* choice) const {
    return backward_rule(plan_, step_named(plan_, name), choice, kRows);
  }

  const graph::Model model_;
  const test::FusingCapabilities device_;
  plan::Plan plan_;
};

class RulesOf16Bits : public Rules {
 protected:
  RulesOf16Bits() : Rules(DType::kBf16) {}
};

void expect(const PassRule& rule, int launches, double again) {
  EXPECT_EQ(rule.launches, launches);
  EXPECT_EQ(rule.again, again);
}

TEST_F(Rules, OfAConvolution) {
  const double wide = kFloat * kRows * 4 * 4 * 5, narrow = kFloat * kRows * 4 * 4 * 4;
  expect(forward("plain", kEngines), 1, 0);
  expect(backward("plain", kEngines), 2, narrow);       // both engines read the gradient
  expect(forward("conv", kFirstEngines), 2, 2 * wide);  // the ReLU, in place
  // One engine; the bias in two stages, which undo the ReLU in place: read once more for the sum, read and written.
  expect(backward("conv", kFirstEngines), 3, 3 * wide);
}

TEST_F(RulesOf16Bits, GradientsOfWeightsBecomeFloat) {
  expect(backward("plain", kEngines), 3, kHalf * kRows * 4 * 4 * 4);
}

TEST_F(Rules, OfANormalisation) {
  const double bytes = kFloat * kRows * 4 * 4 * 5;
  expect(forward("norm", ""), 3, bytes);
  expect(backward("norm", ""), 3, 2 * bytes);
}

TEST(RulesOfASum, TheAddendsGradientIsWrittenAsTheReluLetsItPass) {
  const graph::Model model = test::model_of(test::kBottlenecks);
  plan::PlanOptions options = test::options_for("sparse_categorical_crossentropy");
  const plan::Plan plan = plan::make_plan(model, options, test::SummingCapabilities());
  const plan::Step& step = step_named(plan, "bn");
  ASSERT_EQ(step.tail.size(), 2);
  expect(backward_rule(plan, step, "", kRows), 3, 3 * kFloat * kRows * 9 * 7 * 5);
}

TEST_F(Rules, OfWhateverElse) {
  expect(forward("out", ""), 1, 0);
  expect(backward("out", ""), 1, 0);
}

TEST(RulesOfAttention, CountScoresAsVectors) {
  const graph::Model model = test::model_of(R"(
layers:
  - Input: {name: x, shape: [6, 8]}
  - Input: {name: memory, shape: [7, 8]}
  - MultiHeadAttention: {name: heads, inputs: [x, memory], num_heads: 2, key_dim: 3, value_dim: 5}
)");
  const plan::Plan plan = plan::make_plan(model, {}, test::FusingCapabilities());
  const plan::Step& step = step_named(plan, "heads");
  const double score = 2 * kRows * 2 * 6 * 7;
  const PassRule forward = forward_rule(plan, step, kEngines, kRows);
  EXPECT_EQ(forward.launches, 5) << "four projections and the attention";
  EXPECT_EQ(forward.of_vectors, score * (3 + 5));
}

/// What make_dry_plan would fill in: 10 and 30 operations a sample, 100 and 300 bytes for every step.
void fill(session::DryPlan& dry, const plan::Plan& plan) {
  dry.plan = plan;
  dry.memory.rows = kRows;
  dry.slots = 1;
  for (const plan::Step& step : plan.steps) {
    dry.choices.emplace_back(step.name == "norm" ? "" : step.name == "conv" ? kFirstEngines : kEngines);
    dry.flops.emplace_back(10, 30);
    dry.traffic.emplace_back(plan::Traffic{.bytes = 100, .set = 100}, plan::Traffic{.bytes = 300, .set = 300});
  }
}

const PaperItem& item_named(const PaperStep& step, const std::string& name) {
  return *std::ranges::find_if(step.items, [&](const PaperItem& item) { return item.name == name; });
}

TEST_F(Rules, MakeAStep) {
  session::DryPlan dry;
  fill(dry, plan_);
  const PaperStep step = paper_step(dry, "h200", 3, true);
  EXPECT_EQ(step.samples, 3 * kRows);
  const PaperItem& plain = item_named(step, "plain");
  EXPECT_EQ(plain.forward.work.operations, 10 * kRows);
  EXPECT_EQ(plain.backward.work.operations, 30 * kRows);
  EXPECT_EQ(plain.backward.work.bytes, 300 + kFloat * kRows * 4 * 4 * 4);
  EXPECT_EQ(plain.times, 3);
  const PaperItem& update = item_named(step, "update");
  EXPECT_EQ(update.times, 1);
  EXPECT_EQ(update.forward.launches, 4) << "and the moving statistics";
  EXPECT_EQ(update.forward.work.bytes, kFloat * 5 * static_cast<double>(plan_.trainable_end));
  EXPECT_EQ(step.operations(), 3 * 4 * 40 * kRows);
  // Of a micro-batch: input 1, conv 2 + 3, norm 3 + 3, plain 1 + 2, out 1 + 4 (two for its bias), loss 4, sum 1.
  EXPECT_EQ(step.launches(), 3 * (1 + 5 + 6 + 3 + 5 + 4 + 1) + 4);
  EXPECT_DOUBLE_EQ(step.seconds(false) - step.seconds(true), step.launches() * gpu_shares().eager_launch_seconds);
  EXPECT_GT(step.seconds(true), step.launches() * gpu_shares().launch_seconds);
  const std::string text = paper_step_text(step, 1ULL << 30, 4ULL << 30);
  EXPECT_THAT(text, HasSubstr("prediction, not measured: a step on an NVIDIA H200"));
  EXPECT_THAT(text, HasSubstr("memory of a replica: 1.0 GiB of 4.0 GiB"));
}

TEST(PaperStep, OfPredictionOnlyIsForward) {
  const graph::Model model = test::model_of(kModel);
  session::DryPlan dry;
  fill(dry, plan::make_plan(model, {}, test::FusingCapabilities()));
  const PaperStep step = paper_step(dry, "h100", 1, true);
  EXPECT_EQ(step.items.size(), 1 + dry.plan.steps.size());
  EXPECT_EQ(step.operations(), 4 * 10 * kRows);
  EXPECT_THAT(paper_step_text(step, 1, 1), HasSubstr("not measured: a batch forward on an NVIDIA H100"));
}

TEST(PaperStep, StrictProductsTakeLongerThanRounded) {
  const graph::Model model = test::model_of(kModel);
  session::DryPlan dry;
  fill(dry, plan::make_plan(model, {}, test::FusingCapabilities()));
  dry.flops.front() = {1e12, 0};
  EXPECT_GT(paper_step(dry, "h100", 1, false).seconds(true), 10 * paper_step(dry, "h100", 1, true).seconds(true));
}

}  // namespace
}  // namespace dptrain::bench
