// Plans of replicas with several slots: copies, order of gradients, memory by slot.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/error.h"
#include "core/index.h"
#include "graph/slots.h"
#include "plan/memory.h"
#include "plan/plan.h"
#include "plan/plan_simulator.h"
#include "plan/plan_steps.h"
#include "plan/sample_models.h"

namespace dptrain::plan {
namespace {

using test::items;
using test::model_of;
using test::options_for;
using test::step_named;
using test::step_names;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

using Placement = std::vector<std::vector<std::string>>;

const Placement kTwo{{"a"}, {"b"}};

Plan placed(const graph::Model& model, const Placement& slots, PlanOptions options,
            const Capabilities& device = PlainCapabilities()) {
  options.slots = slots;
  return make_plan(model, options, device);
}

PlanOptions binary() { return options_for("binary_crossentropy", {}, nn::LabelKind::kDense); }

/// Two branches of a shared layer, three calls of it.
const char* const kBranches = R"(
shared:
  encoder: {Dense: {units: 6, activation: tanh}}
layers:
  - Input: {name: left, shape: [6]}
  - Input: {name: right, shape: [6]}
  - encoder: {name: once, inputs: left, device: a}
  - encoder: {name: twice, inputs: once, device: a}
  - encoder: {name: other, inputs: right, device: b}
  - Concatenate: {name: merged, inputs: [twice, other], device: a}
  - Dense: {name: same, units: 1, activation: sigmoid}
)";

TEST(SlotPlan, OfOneDeviceEqualsThePlanWithoutSlots) {
  const graph::Model model = model_of(kBranches);
  const Plan plan = placed(model, {{"a", "b"}}, binary(), test::FusingCapabilities());
  const std::vector<Need> needs(plan.steps.size());
  const Plan without = placed(model, {}, binary(), test::FusingCapabilities());
  EXPECT_EQ(print(plan, plan_memory(plan, needs, {}, 8, Mode::kTraining), {}, 1),
            print(without, plan_memory(without, needs, {}, 8, Mode::kTraining), {}, 1));
  EXPECT_EQ(plan.slot_count(), 1);
}

TEST(SlotPlan, CopiesTensorsAndFetchesGradients) {
  const Plan plan = placed(model_of(kBranches), kTwo, binary(), test::FusingCapabilities());
  EXPECT_THAT(step_names(plan), ElementsAre("once", "twice", "other", "other to a", "merged", "same", "same/sigmoid"));
  EXPECT_EQ(step_named(plan, "other").slot, 1);
  EXPECT_EQ(step_named(plan, "other to a").slot, 0);
  EXPECT_TRUE(step_named(plan, "other to a").copies);
  EXPECT_EQ(step_named(plan, "same").slot, 0) << "without a device it is on the first slot";
  // Slot a computes its own branch before it waits for b's gradients, whose order in the sums is that of one slot.
  EXPECT_THAT(items(plan), ElementsAre("same", "merged", "d other <-", "other", "twice", "once", "encoder/kernel <-",
                                       "encoder/bias <-",
                                       "encoder/kernel +=", "encoder/bias +=", "encoder/kernel +=", "encoder/bias +="));
  const auto at_b =
      std::ranges::count_if(plan.backward, [&](const BackwardItem& item) { return slot_of(plan, item) == 1; });
  EXPECT_EQ(at_b, 2);
  EXPECT_EQ(plan.backward.back().buckets_ready.size(), 1U);
}

TEST(SlotPlan, IsPrinted) {
  const graph::Model model = model_of(kBranches);  // referenced by the plan
  const Plan plan = placed(model, {{"a", "cpu"}, {"b"}}, binary(), test::FusingCapabilities());
  const std::vector<Need> needs(plan.steps.size());
  const std::string text = print(plan, plan_memory(plan, needs, {}, 8, Mode::kTraining), {}, 1,
                                 {plan_memory(plan, needs, {}, 8, Mode::kTraining, 1)});
  EXPECT_THAT(text, HasSubstr("slot 0: a, cpu\nslot 1: b\n"));
  EXPECT_THAT(text, HasSubstr("3  a     other to a    copy from b"));
  EXPECT_THAT(text, HasSubstr("2   b  copy of d other (part) from a"));
  EXPECT_THAT(text, HasSubstr("d encoder/kernel = copy of d encoder/kernel (other) from b"));
  EXPECT_THAT(text, HasSubstr("metrics: none, on a\n"));
  EXPECT_THAT(text, HasSubstr("memory of its other slots\n  b  "));
}

TEST(SlotPlan, CopiesATensorOnceWithItsViews) {
  const Plan plan = placed(model_of(R"(
layers:
  - Input: {name: image, shape: [3, 2]}
  - Dense: {name: stem, units: 4, device: a}
  - Flatten: {name: flat}
  - Dense: {name: x, units: 5, device: b}
  - Dense: {name: y, units: 5, inputs: flat, device: b}
  - Dense: {name: z, units: 5, inputs: flat, device: a}
  - GlobalAveragePooling1D: {name: mean, inputs: stem, device: b}
  - Concatenate: {name: merged, inputs: [x, y, z, mean], device: b}
  - Dense: {name: same, units: 1, activation: sigmoid}
)"),
                           kTwo, binary());
  EXPECT_THAT(step_names(plan), ElementsAre("stem", "stem to b", "x", "y", "z", "mean", "z to b", "merged",
                                            "merged to a", "same", "same/sigmoid"));
  const int copy = step_named(plan, "stem to b").output();
  EXPECT_EQ(plan.tensors[at(step_named(plan, "x").inputs[0])].alias_of, copy);
  EXPECT_EQ(plan.tensors[at(step_named(plan, "x").inputs[0])].shape, Shape({12}));
  EXPECT_EQ(step_named(plan, "mean").inputs[0], copy);
  EXPECT_EQ(step_named(plan, "y").inputs[0], step_named(plan, "x").inputs[0]);
  // Four readers' parts in the order of one slot (mean, z, y, x), fetched when their sum is needed.
  EXPECT_THAT(items(plan), ElementsAre("same", "d merged <-", "merged", "mean", "d z <-", "z", "y", "x",  //
                                       "d stem <-", "d stem +=", "d stem (part) <-", "d stem +=",         //
                                       "d stem (part) <-", "d stem +=", "stem",                           //
                                       "y/kernel <-", "y/bias <-", "x/kernel <-", "x/bias <-"));
}

TEST(SlotPlan, FusesNothingAcrossSlots) {
  const char* text = R"(
layers:
  - Input: {name: image, shape: [6, 6, 3]}
  - Conv2D: {name: conv, filters: 4, kernel_size: 3, device: a}
  - ReLU: {name: relu, device: b}
  - MaxPooling2D: {name: pool, device: a}
  - Flatten
  - Dense: {name: same, units: 1, activation: sigmoid, device: a}
)";
  const Plan one = placed(model_of(text), {}, binary(), test::FusingCapabilities());
  EXPECT_EQ(step_named(one, "conv").tail.size(), 1U);
  EXPECT_TRUE(step_named(one, "pool").undoes);
  const Plan two = placed(model_of(text), kTwo, binary(), test::FusingCapabilities());
  EXPECT_TRUE(step_named(two, "conv").tail.empty());
  EXPECT_FALSE(step_named(two, "pool").undoes);
}

TEST(SlotPlan, PlacesLossesWithTheirPrediction) {
  PlanOptions options = binary();
  options.objectives.push_back(options.objectives.front());
  options.objectives.back().output = 1;
  const Plan plan = placed(model_of(R"(
layers:
  - Input: {name: x, shape: [5]}
  - Dense: {name: p, units: 1, activation: sigmoid, device: a}
  - Dense: {name: q, units: 1, activation: sigmoid, inputs: x, device: b}
outputs: [p, q]
)"),
                           kTwo, options);
  EXPECT_EQ(plan.losses[0].slot, 0);
  EXPECT_EQ(plan.losses[1].slot, 1);
  EXPECT_EQ(plan.tensors[at(plan.losses[1].prediction_gradient)].slot, 1);

  const Plan masked = placed(model_of(R"(
layers:
  - Input: {name: x, shape: [5], dtype: int32}
  - Embedding: {name: words, input_dim: 9, output_dim: 4, mask_zero: true, device: a}
  - LSTM: {name: read, units: 3, return_sequences: true, device: b}
  - Dense: {name: tag, units: 3, activation: softmax}
)"),
                             kTwo, options_for("sparse_categorical_crossentropy"));
  EXPECT_THAT(step_names(masked),
              ElementsAre("words", "words to b", "words.mask to b", "read", "read to a", "tag", "tag/softmax"));
  const Step& copy = masked.steps[2];
  EXPECT_EQ(masked.tensors[at(copy.output())].type, DType::kU8);
  EXPECT_EQ(masked.losses[0].slot, 0);
  EXPECT_EQ(masked.tensors[at(root(masked, masked.losses[0].mask))].slot, 0);
}

TEST(SlotPlan, RequiresSynchronizedNormalizationOnTheFirstSlot) {
  const char* text =
      R"(layers: [{Input: {name: x, shape: [4, 4, 2]}}, {Conv2D: {name: c, filters: 3, kernel_size: 1, device: a}},
  {BatchNormalization: {name: bn, device: b}}, Flatten, {Dense: {name: p, units: 1, activation: sigmoid}}])";
  PlanOptions options = binary();
  EXPECT_NO_THROW(placed(model_of(text), kTwo, options));
  options.sync_batchnorm = true;
  EXPECT_NO_THROW(placed(model_of(text), {{"a", "b"}}, options));
  try {
    placed(model_of(text), kTwo, options);
    FAIL() << "accepted";
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(),
                 "model.yaml:2:4: error: BatchNormalization 'bn': synchronized requires the first slot, a, "
                 "found device b; set device: a, or remove synchronized");
  }
}

/// Assigns every step to a random slot.
std::vector<int> scatter(std::size_t steps, std::size_t slots, std::mt19937_64& random) {
  std::vector<int> all;
  for (std::size_t i = 0; i < steps; ++i) all.push_back(static_cast<int>(random() % slots));
  return all;
}

TEST(SlotPlan, MemoryIsSafeForAnyOrderOfSlots) {
  std::mt19937_64 random(5);
  const test::SummingCapabilities device;
  int copies = 0;
  for (const char* text : {test::kBottlenecks, test::kResidual, test::kShared, test::kFrozen})
    for (const std::size_t slots : {2U, 3U})
      for (int draw = 0; draw < 12; ++draw) {
        graph::Model model = model_of(text);
        const std::vector<int> where = scatter(model.graph.nodes.size(), slots, random);
        Placement placement;
        for (std::size_t s = 0; s < slots; ++s) placement.push_back({std::string(1, static_cast<char>('a' + s))});
        for (std::size_t n = 0; n < where.size(); ++n) model.graph.nodes[n].device = placement[at(where[n])].front();
        const bool shared = text == test::kShared;
        const Plan plan = placed(model, placement, shared ? binary() : options_for("categorical_crossentropy"), device);
        const std::vector<Need> needs(plan.steps.size(), {.saved = 700, .scratch = 300});
        for (const Mode mode : {Mode::kTraining, Mode::kInference}) {
          std::vector<MemoryPlan> memories;
          for (int s = 0; s < plan.slot_count(); ++s)
            memories.push_back(plan_memory(plan, needs, {.scratch = 999}, 3, mode, s));
          EXPECT_THAT(test::Simulation(plan, memories, needs, random()).run(mode), ElementsAre())
              << text << " draw " << draw;
        }
        copies += static_cast<int>(std::ranges::count_if(plan.steps, &Step::copies));
        // The sums equal those of one slot: every gradient has the same summands in the same order.
        const Plan one = placed(model, {}, shared ? binary() : options_for("categorical_crossentropy"), device);
        EXPECT_EQ(plan.trainable_end, one.trainable_end);
        EXPECT_EQ(plan.total, one.total);
      }
  EXPECT_GT(copies, 200);
}

}  // namespace
}  // namespace dptrain::plan
