#include "plan/prefix.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/index.h"
#include "plan/memory.h"
#include "plan/sample_models.h"

namespace dptrain::plan {
namespace {

using test::FusingCapabilities;
using test::model_of;
using test::options_for;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

std::vector<std::string> names(const graph::Model& model, const std::vector<graph::Port>& ports) {
  std::vector<std::string> all;
  for (const graph::Port& port : ports) all.push_back(graph::name_of(model.graph, port));
  return all;
}

std::vector<std::string> border_of(const char* text) {
  const graph::Model model = model_of(text);
  return names(model, frozen_prefix(model).border);
}

constexpr const char* kChain = R"(
layers:
  - Input: {shape: [8, 8, 3]}
  - Conv2D: {name: low1, filters: 4, kernel_size: 3}
  - BatchNormalization: {name: low2}
  - MaxPooling2D: {name: pool}
  - Flatten: {name: flat}
  - Dropout: {name: drop, rate: 0.5}
  - Dense: {name: hidden, units: 6, activation: relu}
  - Dense: {name: out, units: 3, activation: softmax}
freeze: [low*]
)";

/// A skip connection across the border, and a shared frozen layer on both sides.
constexpr const char* kSkip = R"(
shared:
  scale: {Dense: {units: 4, trainable: false}}
layers:
  - Input: {name: image, shape: [4, 4, 2]}
  - Conv2D: {name: low1, filters: 4, kernel_size: 3, padding: same, trainable: false}
  - scale: {name: low2}
  - Conv2D: {name: high1, filters: 4, kernel_size: 3, padding: same}
  - scale: {name: high2}
  - Add: {name: skip, inputs: [high2, low1]}
  - Flatten
  - Dense: {name: out, units: 3, activation: softmax}
)";

TEST(FrozenPrefix, EndsAtTheFirstTrainableOrRandomLayer) {
  const graph::Model model = model_of(kChain);
  const FrozenPrefix prefix = frozen_prefix(model);
  EXPECT_THAT(names(model, prefix.border), ElementsAre("flat"));
  EXPECT_EQ(prefix.layers, 4);
  EXPECT_EQ(prefix.weights, 3 * 3 * 3 * 4 + 4 + 4 * 4);
  EXPECT_EQ(prefix.elements, 3 * 3 * 4);
  EXPECT_EQ(prefix.ends, "'drop', which is random");
}

TEST(FrozenPrefix, HasABorderPerCrossingTensor) { EXPECT_THAT(border_of(kSkip), ElementsAre("low1", "low2")); }

TEST(FrozenPrefix, EndsAtUpdatedStatistics) {
  EXPECT_THAT(border_of(R"(
layers:
  - Input: {shape: [8]}
  - Dense: {name: a, units: 4, trainable: false}
  - BatchNormalization: {name: moves, scale: false, center: false}
  - Dense: {name: b, units: 4, trainable: false}
  - Dense: {name: c, units: 4}
)"),
              ElementsAre("a"));
}

TEST(FrozenPrefix, ExcludesLayersThatOnlyEnlargeTensors) {
  EXPECT_THAT(border_of(R"(
layers:
  - Input: {shape: [6, 6, 2]}
  - Conv2D: {name: low, filters: 4, kernel_size: 3, trainable: false}
  - ReLU: {name: relu}
  - ZeroPadding2D: {name: pad1, padding: 2}
  - ZeroPadding2D: {name: pad2, padding: 1}
  - Conv2D: {name: high, filters: 4, kernel_size: 3}
)"),
              ElementsAre("relu"));
}

TEST(FrozenPrefix, KeepsAnInputThatTheHeadReads) {
  EXPECT_THAT(border_of(R"(
layers:
  - Input: {name: a, shape: [6]}
  - Input: {name: b, shape: [2]}
  - Dense: {name: low, inputs: a, units: 4, trainable: false}
  - Dense: {name: high, units: 4}
  - Concatenate: {name: both, inputs: [high, b]}
  - Dense: {name: out, units: 4}
)"),
              ElementsAre("b", "low"));
}

TEST(FrozenPrefix, ReportsWhyThereIsNone) {
  const auto why = [](const char* text) {
    const FrozenPrefix prefix = frozen_prefix(model_of(text));
    EXPECT_THAT(prefix.border, IsEmpty());
    return prefix.none;
  };
  EXPECT_EQ(why("layers:\n  - Input: {shape: [4]}\n  - Dense: {name: first, units: 2}\n"),
            "no frozen layer comes before 'first', which trains");
  EXPECT_EQ(why("layers:\n  - Input: {shape: [4]}\n  - Dropout: {name: noise, rate: 0.1}\n"
                "  - Dense: {units: 2, trainable: false}\n  - Dense: {units: 2}\n"),
            "no frozen layer comes before 'noise', which is random");
  EXPECT_EQ(why("layers:\n  - Input: {shape: [4]}\n  - Dense: {units: 2, trainable: false}\n"), "nothing trains");
}

class Parts : public ::testing::TestWithParam<const char*> {};

TEST_P(Parts, RunEveryStepOnceWithTheNumbersOfTheWhole) {
  const graph::Model model = model_of(GetParam());
  const FrozenPrefix cut = frozen_prefix(model);
  PlanOptions head_options = options_for("categorical_crossentropy", {"accuracy"}), prefix_options;
  const Plan whole = make_plan(model, head_options, PlainCapabilities());
  head_options.part = Part::kHead;
  prefix_options.part = Part::kPrefix;
  head_options.border = prefix_options.border = cut.border;
  const Plan prefix = make_plan(model, prefix_options, PlainCapabilities());
  const Plan head = make_plan(model, head_options, PlainCapabilities());

  std::vector<std::pair<std::string, int>> steps, both;
  for (const Step& step : whole.steps) steps.emplace_back(step.name, step.node);
  for (const Plan* part : {&prefix, &head})
    for (const Step& step : part->steps) both.emplace_back(step.name, step.node);
  std::ranges::sort(both, {}, &std::pair<std::string, int>::second);  // in the order of the graph
  std::ranges::stable_sort(steps, {}, &std::pair<std::string, int>::second);
  EXPECT_EQ(both, steps);

  ASSERT_EQ(prefix.outputs.size(), cut.border.size());
  ASSERT_EQ(head.inputs.size(), cut.border.size());
  for (std::size_t i = 0; i < cut.border.size(); ++i) {
    const Shape& shape = graph::tensor_of(model.graph, cut.border[i]).shape;
    EXPECT_EQ(prefix.tensors[at(prefix.outputs[i])].shape, shape);
    EXPECT_EQ(head.tensors[at(head.inputs[i])].shape, shape);
    EXPECT_TRUE(head.tensors[at(head.inputs[i])].external);
  }
  EXPECT_EQ(prefix.inputs.size(), model.graph.inputs.size());
  EXPECT_TRUE(prefix.backward.empty());

  // The head has only the tensors that it reads; it trains the same weights as the whole.
  const auto paths = [](const Plan& plan, auto kind) {
    std::vector<std::string> all;
    for (const Parameter& p : plan.parameters)
      if (kind(p.kind)) all.push_back(p.path);
    return all;
  };
  const auto trainable = [](ParameterKind kind) { return kind != ParameterKind::kFrozen; };
  EXPECT_EQ(paths(head, trainable), paths(whole, trainable));
  EXPECT_EQ(head.statistics_end, whole.statistics_end);
  EXPECT_THAT(paths(head, [](ParameterKind) { return true; }), Not(::testing::Contains(HasSubstr("low1"))));
  EXPECT_LT(head.total, whole.total);
  for (const Plan* plan : {&prefix, &head})
    for (const Step& step : plan->steps)
      for (const int p : step.parameters) {
        ASSERT_GE(p, 0);
        ASSERT_LT(at(p), plan->parameters.size());
      }
}

INSTANTIATE_TEST_SUITE_P(Models, Parts, ::testing::Values(kChain, kSkip, test::kFrozen));

}  // namespace
}  // namespace dptrain::plan
