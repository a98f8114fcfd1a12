// A recorded step is bit-identical to the eager one.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "backend/emu/emu_runtime.h"
#include "core/error.h"
#include "runtime/arenas.h"
#include "runtime/replica.h"
#include "runtime/small_net.h"
#include "support/sanitizer.h"

namespace dptrain::runtime {
namespace {

using namespace dptrain::test;  // NOLINT(google-build-using-namespace)
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr std::int64_t kRows = 6;

struct Outcome {
  graph::Model model;
  std::vector<std::vector<float>> state;
  std::vector<double> losses;
  std::vector<bool> replayed;
};

/// One replica on a device; steps with changing rates and one short batch.
struct Runner {
  Runner(const std::string& device_name, backend::Graphs graphs, const std::string& optimizer, bool accumulate = false,
         DType compute = DType::kF32)
      : model(model_of(kSmallNet)),
        device(device_of(device_name, 0, compute)),
        plan(small_plan(model, *device, compute)) {
    device->enter();
    ReplicaOptions options{
        .rows = kRows, .row_counts = {kRows, 4}, .seed = 5, .accumulate = accumulate, .graphs = graphs};
    options.optimizer = value_of(nn::optimizer_family(), optimizer);
    replica.emplace(plan, *device, sink, nullptr, std::move(options));
    replica->arenas().push(model);
  }

  Outcome train(int steps) {
    Outcome o{.model = model, .state = {}, .losses = {}, .replayed = {}};
    for (int number = 0; number < steps; ++number) {
      const std::int64_t rows = number == 5 ? 4 : kRows;
      const SampleBatch batch(rows, kSmallNetInput, 3, static_cast<std::uint64_t>(number));
      const StepInputs in{.number = number,
                          .learning_rate = 0.02 / (1 + number),
                          .global_samples = rows,
                          .is_full_batch = rows == kRows};
      const StepSums sums = replica->step({batch.view().sub(0, rows)}, in);
      o.losses.push_back(sums.loss + sums.penalty);
      o.replayed.push_back(replica->replayed());
      if (number == 6) o.losses.push_back(replica->evaluate(batch.view().sub(0, rows)).loss);
    }
    replica->arenas().pull(o.model);
    o.state = replica->arenas().pull_state();
    return o;
  }

  graph::Model model;
  std::unique_ptr<backend::Device> device;
  plan::Plan plan;
  NoReduction sink;
  std::optional<Replica> replica;
};

TEST(Recording, GivesTheBitsOfEagerSteps) {
  for (const char* optimizer : {"SGD: {momentum: 0.9, nesterov: true, clipnorm: 0.5}", "Adam: {use_ema: true}",
                                "RMSprop: {global_clipnorm: 0.7}", "Nadam", "Lamb: {weight_decay: 0.01}"})
    for (const DType compute : {DType::kF32, DType::kBf16}) {
      if (test::kThreadSanitizer && compute != DType::kF32) continue;  // the same threads
      for (std::uint64_t seed = 1; seed <= test::seeds(2); ++seed) {
        SCOPED_TRACE(fmt::format("{} in {}, seed {}", optimizer, name_of(compute), seed));
        backend::emu::reseed(seed);
        const Outcome eager = Runner("emu:0", backend::Graphs::kOff, optimizer, false, compute).train(9);
        const Outcome recorded = Runner("emu:0", backend::Graphs::kAuto, optimizer, false, compute).train(9);
        EXPECT_THAT(eager.replayed, ::testing::Each(false));
        EXPECT_THAT(recorded.replayed, ElementsAre(false, false, false, true, true, false, true, true, true));
        EXPECT_EQ(eager.losses, recorded.losses);
        EXPECT_EQ(distance(eager.model, recorded.model), 0);
        EXPECT_EQ(eager.state, recorded.state);
        EXPECT_GT(distance(recorded.model, model_of(kSmallNet)), 1e-3);
      }
    }
}

TEST(Recording, SurvivesNewWeightsAndState) {
  Runner a("emu:0", backend::Graphs::kOn, "Adam"), b("emu:0", backend::Graphs::kOff, "Adam");
  a.train(5);
  const Outcome start = b.train(7);
  b.replica->arenas().push(start.model);
  b.replica->arenas().push_state(start.state);
  a.replica->arenas().push(start.model);
  a.replica->arenas().push_state(start.state);
  const Outcome x = a.train(4), y = b.train(4);
  EXPECT_THAT(x.replayed, ::testing::Each(true));
  EXPECT_EQ(distance(x.model, y.model), 0);
  EXPECT_EQ(x.state, y.state);
}

TEST(Recording, IsOffWhileProfilingAndWithMicroBatches) {
  Runner profiled("emu:0", backend::Graphs::kAuto, "SGD");
  profiled.replica->set_profiling(true);
  EXPECT_THAT(profiled.train(5).replayed, ::testing::Each(false));
  EXPECT_THAT(Runner("emu:0", backend::Graphs::kAuto, "SGD", true).train(5).replayed, ::testing::Each(false));
  EXPECT_THAT(Runner("cpu", backend::Graphs::kAuto, "SGD").train(5).replayed, ::testing::Each(false));
}

TEST(Recording, RejectsOtherRows) {
  Runner r("emu:0", backend::Graphs::kAuto, "SGD");
  r.train(5);
  const SampleBatch batch(4, kSmallNetInput, 3);
  try {
    r.replica->step({batch.view().sub(0, 4)},
                    {.number = 9, .learning_rate = 0.1, .global_samples = 4, .is_full_batch = true});
    FAIL() << "expected an error";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kInternal);
    EXPECT_THAT(error.what(), HasSubstr("a step of 4 of 4 rows from row 0 cannot replay 6 of 6 rows from row 0"));
  }
}

TEST(Recording, ThrowsIfStepsCannotBeRecorded) {
  Runner cpu("cpu", backend::Graphs::kOn, "SGD");
  try {
    cpu.train(5);
    FAIL() << "expected an error";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kDevice);
    EXPECT_THAT(error.what(), HasSubstr("cpu:0 cannot record steps; use runtime.cuda_graphs: auto"));
  }
  try {
    Runner accumulating("emu:0", backend::Graphs::kOn, "SGD", true);
    FAIL() << "expected an error";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kUsage);
    EXPECT_THAT(error.what(), HasSubstr("cuda_graphs: on needs one replica"));
  }
}

TEST(GpuArenas, KeepTheirBitsThroughPushAndPull) {
  Runner r("emu:0", backend::Graphs::kOff, "Adam: {use_ema: true}");
  graph::Model pushed = r.model;
  RandomStream random(4, 2);
  for (graph::Weight& weight : pushed.weights)
    for (float& v : weight.values) v = static_cast<float>(random.normal());
  r.replica->arenas().push(pushed);
  graph::Model pulled = r.model;
  r.replica->arenas().pull(pulled);
  for (std::size_t w = 0; w < pushed.weights.size(); ++w) EXPECT_EQ(pushed.weights[w].values, pulled.weights[w].values);

  std::vector<std::vector<float>> state = r.replica->arenas().pull_state();
  ASSERT_EQ(state.size(), 3U);
  for (const plan::Parameter& p : r.plan.parameters)  // gaps between parameters stay zero
    if (p.kind == plan::ParameterKind::kTrainable)
      for (auto& array : state)
        for (std::int64_t i = 0; i < p.elements(); ++i)
          array[static_cast<std::size_t>(p.offset + i)] = static_cast<float>(random.normal());
  r.replica->arenas().push_state(state);
  EXPECT_EQ(r.replica->arenas().pull_state(), state);

  // On the device the kernel is in KRSC order: element (h, w, c, k) of Keras is at (k, h, w, c).
  const auto found = std::ranges::find_if(r.plan.parameters, [](const auto& p) { return p.shape.rank() == 4; });
  ASSERT_NE(found, r.plan.parameters.end());
  std::vector<float> device(static_cast<std::size_t>(found->elements()));
  r.device->copy_to_host(device.data(), r.replica->arenas().parameters() + found->offset, device.size() * sizeof(float),
                         r.replica->stream());
  const std::vector<float>& keras = pushed.weights[static_cast<std::size_t>(found->weight)].values;
  const std::size_t in = 9 * 2, out = 5;
  for (std::size_t i = 0; i < in; ++i)
    for (std::size_t k = 0; k < out; ++k) EXPECT_EQ(device[k * in + i], keras[i * out + k]);
}

/// NCCL in graphs has not been run on several GPUs.
TEST(Recording, SeveralReplicasRecordOnlyOnRequest) {
  EXPECT_EQ(graphs_for(backend::Graphs::kAuto, 1), backend::Graphs::kAuto);
  EXPECT_EQ(graphs_for(backend::Graphs::kAuto, 2), backend::Graphs::kOff);
  EXPECT_EQ(graphs_for(backend::Graphs::kOn, 2), backend::Graphs::kOn);
  EXPECT_EQ(graphs_for(backend::Graphs::kOff, 1), backend::Graphs::kOff);
}

}  // namespace
}  // namespace dptrain::runtime
