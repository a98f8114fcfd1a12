// Replicas of several slots against the same replica on one device. All assignments of slots and all orders of threads
// and streams give the same bits, because their sums have the same order.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "backend/emu/emu_runtime.h"
#include "core/error.h"
#include "core/index.h"
#include "distributed/connector.h"
#include "runtime/small_net.h"
#include "support/sanitizer.h"

namespace dptrain::distributed {
namespace {

using namespace dptrain::test;  // NOLINT(google-build-using-namespace)
using ::testing::HasSubstr;

using Slots = std::vector<std::vector<std::string>>;

const Slots kOneSlot{{"a", "b", "c"}}, kTwoSlots{{"a", "c"}, {"b"}}, kThreeSlots{{"a"}, {"b"}, {"c"}};

/// A shared layer called three times in two slots. Statistics and random numbers in secondary slots. A view that
/// another slot reads, and a tensor read in all slots. A merge, frozen weights and a penalty.
constexpr const char* kCrossing = R"(
shared:
  encoder: {Dense: {units: 6, activation: tanh, kernel_regularizer: {L2: 0.01}}}
layers:
  - Input: {name: image, shape: [5, 6, 2]}
  - Conv2D: {name: stem, filters: 3, kernel_size: 3, device: a}
  - ReLU: {name: relu, device: b}
  - BatchNormalization: {name: bn, momentum: 0.9, device: b}
  - Conv2D: {name: fixed, inputs: stem, filters: 3, kernel_size: 1, device: c, trainable: false}
  - Add: {name: both, inputs: [bn, fixed, stem], device: c}
  - Flatten: {name: flat}
  - Dense: {name: small, units: 6, device: b}
  - Dropout: {name: dropped, rate: 0.25, device: b}
  - encoder: {name: once, inputs: dropped, device: b}
  - encoder: {name: twice, inputs: once, device: c}
  - Dense: {name: direct, inputs: flat, units: 6, device: a}
  - encoder: {name: third, inputs: direct, device: a}
  - Concatenate: {name: merged, inputs: [twice, third, dropped], device: c}
  - Dense: {name: kind, units: 3, activation: softmax, device: c}
)";
/// Two outputs in two slots, one without a loss in a third.
constexpr const char* kOutputs = R"(
layers:
  - Input: {name: image, shape: [5, 6, 2]}
  - Flatten: {name: flat}
  - Dense: {name: trunk, units: 7, activation: relu, device: a}
  - Dense: {name: kind, units: 3, activation: softmax, device: b}
  - Dense: {name: side, inputs: trunk, units: 2, device: c}
  - Dense: {name: other, inputs: trunk, units: 3, activation: softmax, device: a}
outputs: [kind, side, other]
)";
/// Ids, a mask that another slot reads, masked losses.
constexpr const char* kTags = R"(
layers:
  - Input: {name: words, shape: [5], dtype: int32}
  - Embedding: {name: vectors, input_dim: 9, output_dim: 4, mask_zero: true, device: b}
  - LSTM: {name: read, units: 3, return_sequences: true, device: c}
  - Dense: {name: hidden, units: 6, activation: tanh, device: b}
  - Dense: {name: tag, units: 3, activation: softmax, device: b}
)";

struct SlotRun {
  const char* net = kCrossing;
  std::string device = "cpu";
  Slots slots = kOneSlot;
  int replicas = 1;
  std::int64_t accumulate = 1;
  std::string optimizer = "SGD: {momentum: 0.9}";
  DType compute = DType::kF32;
  std::uint64_t seed = 1;  ///< seed of the emulator
};

struct SlotOutcome {
  std::vector<std::vector<float>> weights, state, predicted;
  std::vector<double> sums;
  bool operator==(const SlotOutcome&) const = default;
};

constexpr std::int64_t kSlotBatch = 12, kTagSteps = 5;

plan::PlanOptions slot_options(const SlotRun& run) {
  plan::PlanOptions options = options_for("sparse_categorical_crossentropy", {"accuracy"});
  if (run.net == kOutputs) {
    options.objectives.push_back(options.objectives.front());
    options.objectives.back().output = 2;
    options.objectives.back().weight = 0.5;
  }
  options.slots = run.slots;
  options.compute = run.compute;
  options.bucket_bytes = options.first_bucket_bytes = 512;
  return options;
}

/// The rows of a batch, in the form of the net.
struct SlotBatch {
  SlotBatch(const SlotRun& run, std::uint64_t seed) : images(kSlotBatch, kSmallNetInput, 3, seed) {
    RandomStream random(seed, 5);
    for (std::int64_t i = 0; i < kSlotBatch * kTagSteps; ++i) {
      ids.push_back(static_cast<std::int32_t>(random.below(9)));
      tags.push_back(static_cast<std::int32_t>(random.below(3)));
    }
    rows = images.view();
    if (run.net == kOutputs) rows.labels.push_back(rows.labels.front());
    if (run.net == kTags) rows.inputs = {column(ids.data(), kTagSteps)}, rows.labels = {column(tags.data(), kTagSteps)};
  }

  SampleBatch images;
  std::vector<std::int32_t> ids, tags;
  BatchView rows;
};

std::vector<std::unique_ptr<backend::Device>> slot_devices(const SlotRun& run) {
  std::vector<std::unique_ptr<backend::Device>> devices;
  const int count = run.replicas * static_cast<int>(run.slots.size());
  for (int i = 0; i < count; ++i)
    devices.push_back(device_of(run.device == "cpu" ? "cpu" : "emu:" + std::to_string(i), i, run.compute));
  return devices;
}

/// A set whose replicas have several slots, and its parts.
struct SlotFixture {
  explicit SlotFixture(const SlotRun& run, std::vector<std::unique_ptr<backend::Device>> devices)
      : model(model_of(run.net)),
        plan(plan::make_plan(model, slot_options(run), *devices.front())),
        connector(run.device == "cpu" ? make_local(run.replicas) : make_local_streams(run.replicas)),
        set(plan, std::move(devices), *connector,
            {.weights = std::vector<double>(static_cast<std::size_t>(run.replicas), 1.0),
             .accumulate_steps = run.accumulate,
             .batch_sizes = {kSlotBatch, 7, 1},
             .optimizer = value_of(nn::optimizer_family(), run.optimizer),
             .seed = 3}) {
    set.push(model);
  }
  explicit SlotFixture(const SlotRun& run) : SlotFixture(run, slot_devices(run)) {}

  graph::Model model;
  plan::Plan plan;
  std::unique_ptr<runtime::Connector> connector;
  runtime::ReplicaSet set;
};

SlotOutcome train_slots(const SlotRun& run, int steps = 4) {
  backend::emu::reseed(run.seed);
  SlotFixture f(run);
  EXPECT_EQ(f.plan.slot_count(), static_cast<int>(run.slots.size()));
  SlotOutcome outcome;
  const auto note = [&](const runtime::StepSums& sums) {
    outcome.sums.push_back(sums.loss);
    outcome.sums.push_back(sums.penalty);
    outcome.sums.insert(outcome.sums.end(), sums.outputs.begin(), sums.outputs.end());
  };
  for (int step = 0; step < steps; ++step) {
    const SlotBatch batch(run, 10 + static_cast<std::uint64_t>(step));
    // A short batch, and one that leaves replicas without rows.
    const BatchView rows = batch.rows.sub(0, step == 1 ? 7 : step == 2 ? 1 : kSlotBatch);
    note(f.set.step(rows, {.number = step, .learning_rate = 0.1, .global_samples = rows.rows}));
    note(f.set.evaluate(rows));
  }
  f.set.check_equal(steps);
  for (const int tensor : plan::predicted_tensors(f.plan))
    outcome.predicted.emplace_back(
        static_cast<std::size_t>(kSlotBatch) * plan::host_row_bytes(f.plan.tensors[at(tensor)]) / sizeof(float) + 1);
  std::vector<void*> places;
  for (auto& values : outcome.predicted) places.push_back(values.data());
  f.set.predict(SlotBatch(run, 99).rows, places);
  f.set.pull(f.model);
  for (const graph::Weight& weight : f.model.weights) outcome.weights.push_back(weight.values);
  // By weight, because the order of parameters in the arenas depends on the slots.
  for (const std::vector<float>& array : f.set.pull_state())
    for (std::size_t w = 0; w < f.model.weights.size(); ++w)
      for (const plan::Parameter& p : f.plan.parameters)
        if (p.weight == static_cast<int>(w) && plan::is_trained(p.kind)) {
          const auto first = array.begin() + f.plan.slot_offset(p);
          outcome.state.emplace_back(first, first + p.elements());
        }
  return outcome;
}

void expect_same(SlotRun run, const std::vector<Slots>& placements, const std::string& what) {
  run.slots = kOneSlot;
  const SlotOutcome one = train_slots(run);
  for (const double sum : one.sums) ASSERT_TRUE(std::isfinite(sum)) << what;
  for (const Slots& slots : placements) {
    run.slots = slots;
    const SlotOutcome many = train_slots(run);
    SCOPED_TRACE(what + ", " + std::to_string(slots.size()) + " slots");
    EXPECT_EQ(many.sums, one.sums);
    EXPECT_TRUE(many.predicted == one.predicted);
    EXPECT_TRUE(many.weights == one.weights);
    EXPECT_TRUE(many.state == one.state);
  }
}

TEST(SlotsOfCpu, GiveTheBitsOfOne) {
  for (const char* net : {kCrossing, kOutputs, kTags}) expect_same({.net = net}, {kTwoSlots, kThreeSlots}, net);
}

TEST(SlotsOfCpu, InReplicasAndMicroBatches) {
  for (const char* net : {kCrossing, kOutputs, kTags}) {
    expect_same({.net = net, .replicas = 2}, {kTwoSlots, kThreeSlots}, net);
    expect_same({.net = net, .accumulate = 3}, {kTwoSlots, kThreeSlots}, net);
    expect_same({.net = net, .replicas = 2, .accumulate = 2}, {kThreeSlots}, net);
  }
}

TEST(SlotsOfCpu, GiveTheBitsOfOneWithEveryUpdate) {
  for (const char* optimizer : {"SGD: {momentum: 0.9, clipnorm: 0.5}", "Adam: {global_clipnorm: 0.1, use_ema: true}",
                                "AdamW: {weight_decay: 0.1}"})
    expect_same({.optimizer = optimizer}, {kTwoSlots, kThreeSlots}, optimizer);
}

TEST(SlotsOfCpu, TrainAllButFrozenWeights) {
  const SlotOutcome before = train_slots({.slots = kThreeSlots}, 1), after = train_slots({.slots = kThreeSlots}, 4);
  const graph::Model model = model_of(kCrossing);
  for (std::size_t w = 0; w < model.weights.size(); ++w) {
    const bool frozen = model.weights[w].path(model.graph).starts_with("fixed");
    EXPECT_EQ(before.weights[w] == after.weights[w], frozen) << model.weights[w].path(model.graph);
  }
}

TEST(SlotsOfTheEmulator, GiveTheBitsOfOneWhateverTheOrder) {
  for (const char* net : {kCrossing, kOutputs, kTags}) {
    const SlotOutcome one = train_slots({.net = net, .device = "emu"}, 3);
    for (std::uint64_t seed = 1; seed <= seeds(6); ++seed)
      for (const Slots& slots : {kTwoSlots, kThreeSlots}) {
        const SlotOutcome many = train_slots({.net = net, .device = "emu", .slots = slots, .seed = seed}, 3);
        EXPECT_TRUE(many == one) << net << slots.size() << " slots, seed " << seed;
      }
  }
}

TEST(SlotsOfTheEmulator, InReplicasMicroBatchesAndSixteenBits) {
  for (const char* net : {kCrossing, kTags}) {
    expect_same({.net = net, .device = "emu", .replicas = 2, .accumulate = 2}, {kTwoSlots}, net);
    expect_same({.net = net, .device = "emu", .compute = DType::kBf16}, {kThreeSlots}, net);
    expect_same({.net = net, .device = "emu", .compute = DType::kF16}, {kThreeSlots}, net);
  }
}

TEST(SlotsOfTheEmulator, StepsAreQueuedAndCollectedLater) {
  const SlotRun run{.device = "emu", .slots = kThreeSlots};
  std::vector<double> losses, queued;
  for (const bool ahead : {false, true}) {
    SlotFixture f(run);
    std::vector<std::unique_ptr<SlotBatch>> batches;
    for (int step = 0; step < 6; ++step) {
      batches.push_back(std::make_unique<SlotBatch>(run, 40 + static_cast<std::uint64_t>(step)));
      f.set.queue_step(batches.back()->rows, {.number = step, .learning_rate = 0.1, .global_samples = kSlotBatch});
      while (f.set.queued() > (ahead ? runtime::Replica::kMaxQueued - 1 : 0))
        (ahead ? queued : losses).push_back(f.set.collect().loss);
    }
    while (f.set.queued() > 0) queued.push_back(f.set.collect().loss);
  }
  EXPECT_EQ(queued, losses);
}

/// Ids of the devices whose memory emulated GPU 0, 1, ... may access.
std::vector<std::set<int>> peers_of_first(int count) {
  std::vector<std::set<int>> all;
  for (int id = 0; id < count; ++id) all.push_back(backend::emu::peers_of(*backend::emu::make_emu_runtime(id)));
  return all;
}

TEST(SlotsOfTheEmulator, AccessTheMemoryOfTheirReplicaOnly) {
  using Peers = std::vector<std::set<int>>;
  {
    const SlotFixture f({.device = "emu", .slots = kThreeSlots});
    EXPECT_EQ(peers_of_first(4), (Peers{{1, 2}, {0, 2}, {0, 1}, {}}));
  }
  {
    const SlotFixture f({.device = "emu", .slots = kTwoSlots, .replicas = 2});
    EXPECT_EQ(peers_of_first(4), (Peers{{1}, {0}, {3}, {2}}));
  }
  const SlotFixture f({.device = "emu", .replicas = 4});
  EXPECT_EQ(peers_of_first(4), Peers(4)) << "replicas of one slot";
}

TEST(SlotsOfTheEmulator, CopyThroughHostMemoryWithoutPeerAccess) {
  SlotRun run{.device = "emu", .slots = kThreeSlots};
  backend::emu::allow_peer_access(false);
  testing::internal::CaptureStdout();
  const SlotOutcome three = train_slots(run, 2);
  const std::string said = testing::internal::GetCapturedStdout();
  backend::emu::allow_peer_access(true);
  EXPECT_THAT(said, HasSubstr("replica 0: no peer access between emu:0 and emu:1; emu:0 and emu:2; emu:1 and emu:2; "
                              "their copies pass through host memory"));
  run.slots = kOneSlot;
  EXPECT_TRUE(three == train_slots(run, 2));
}

TEST(SlotsOfCpu, NameTheFirstValueThatIsNotFinite) {
  for (const char* device : {"cpu", "emu"})
    for (const auto& [layer, placed] : {std::pair("small", "output"), std::pair("direct", "output")}) {
      const SlotRun run{.device = device, .slots = kThreeSlots};
      SlotFixture f(run);
      graph::Model model = f.model;
      graph::draw(model);
      for (graph::Weight& weight : model.weights)
        if (weight.path(model.graph) == std::string(layer) + "/kernel") weight.values[3] = NAN;
      f.set.push(model);
      const SlotBatch batch(run, 1);
      const auto found =
          f.set.find_not_finite(batch.rows, {.number = 0, .learning_rate = 0.1, .global_samples = kSlotBatch});
      ASSERT_TRUE(found) << device;
      EXPECT_EQ(found->layer, layer);
      EXPECT_EQ(found->what, placed);
      const runtime::StepSums sums =
          f.set.step(batch.rows, {.number = 0, .learning_rate = 0.1, .global_samples = kSlotBatch});
      EXPECT_TRUE(sums.update_skipped) << device;
    }
}

/// A network of the toy device with two slots, with faults.
struct ToySlots {
  explicit ToySlots(int replicas, const std::function<ToyDevice::Switches(int index)>& switches)
      : model(model_of(kNet)), connector(make_local(replicas)) {
    plan::PlanOptions options = options_for("sparse_categorical_crossentropy", {"accuracy"});
    options.slots = {{"a"}, {"b"}};
    std::vector<std::unique_ptr<backend::Device>> devices;
    for (int i = 0; i < 2 * replicas; ++i) devices.push_back(std::make_unique<ToyDevice>(i, switches(i)));
    plan = plan::make_plan(model, options, *devices.front());
    set = std::make_unique<runtime::ReplicaSet>(
        plan, std::move(devices), *connector,
        runtime::SetOptions{.weights = std::vector<double>(static_cast<std::size_t>(replicas), 1.0),
                            .batch_sizes = {8},
                            .optimizer = sgd()});
    set->push(model);
  }

  std::string failure_of_step(std::int64_t number) const {
    const SampleBatch batch(8, 6, 3);
    try {
      set->step(batch.view(), {.number = number, .learning_rate = 0.1, .global_samples = 8});
    } catch (const Error& error) {
      return error.what();
    }
    return "";
  }

  static constexpr const char* kNet = R"(
layers:
  - Input: {name: x, shape: [6]}
  - Dense: {name: first, units: 5, device: a}
  - Dense: {name: second, units: 5, device: b}
  - Add: {name: sum, inputs: [first, second], device: a}
  - Dense: {name: logits, units: 3, activation: softmax}
)";
  graph::Model model;
  plan::Plan plan;
  std::unique_ptr<runtime::Connector> connector;
  std::unique_ptr<runtime::ReplicaSet> set;
};

TEST(SlotFailures, NameReplicaStepSlotAndLayerWithoutHanging) {
  struct Case {
    Fault fault;
    const char* where;
  };
  for (const Case& c :
       {Case{{.layer = "second", .step = 2}, "replica 1 (toy:2), step 2: slot b (toy:3): layer second: injected"},
        Case{{.layer = "second", .step = 2, .backward = true},
             "replica 1 (toy:2), step 2: slot b (toy:3): layer second: injected"},
        Case{{.layer = "first", .step = 2}, "replica 1 (toy:2), step 2: layer first: injected"},
        Case{{.layer = "sum", .step = 2, .backward = true}, "replica 1 (toy:2), step 2: layer sum: injected"}}) {
    const ToySlots toys(2, [&](int index) {
      ToyDevice::Switches switches;
      if (index >= 2) switches.fault = c.fault;
      return switches;
    });
    EXPECT_EQ(toys.failure_of_step(0), "");
    EXPECT_EQ(toys.failure_of_step(1), "");
    EXPECT_EQ(toys.failure_of_step(2), c.where);
  }
}

TEST(SlotFailures, OfAnotherReplicaWakeAWaitingSlot) {
  const ToySlots toys(2, [](int index) {
    ToyDevice::Switches switches;
    if (index == 0) switches.fault = Fault{.layer = "first", .step = 0, .backward = true};
    return switches;
  });
  EXPECT_EQ(toys.failure_of_step(0), "replica 0 (toy:0), step 0: layer first: injected");
}

TEST(SlotFailures, DevicesMustFitThePlan) {
  graph::Model model = model_of(ToySlots::kNet);
  plan::PlanOptions options = options_for("sparse_categorical_crossentropy");
  options.slots = {{"a"}, {"b"}};
  const plan::Plan plan = plan::make_plan(model, options, ToyDevice(0));
  const auto connector = make_local(1);
  EXPECT_THROW(runtime::ReplicaSet(plan, toy_devices(3), *connector, {.weights = {1}, .batch_sizes = {8}}), Error);
}

}  // namespace
}  // namespace dptrain::distributed
