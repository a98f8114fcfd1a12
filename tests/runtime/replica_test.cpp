#include "runtime/replica.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "runtime/arenas.h"
#include "runtime/sample_batch.h"

namespace dptrain::runtime {
namespace {

using namespace dptrain::test;  // NOLINT(google-build-using-namespace)
using ::testing::ElementsAre;
using ::testing::HasSubstr;

/// Records the calls.
class RecordingSink final : public GradientSink {
 public:
  void begin(std::int64_t step, bool) override { events.push_back("begin " + std::to_string(step)); }
  void bucket_ready(int bucket, backend::Stream&) override { events.push_back("bucket " + std::to_string(bucket)); }
  void finish(backend::Stream&) override { events.emplace_back("finish"); }

  std::vector<std::string> events;
};

/// One replica on a toy device, ready to step.
struct Fixture {
  explicit Fixture(const char* text, std::int64_t rows = 9, ToyDevice::Switches switches = {}, bool accumulate = false,
                   config::Typed optimizer = sgd())
      : model(model_of(text)), plan(toy_plan(model, 64)), device(0, std::move(switches)) {
    device.enter();
    ReplicaOptions options{.rows = rows, .row_counts = {rows}, .seed = 5, .accumulate = accumulate};
    options.optimizer = std::move(optimizer);
    replica.emplace(plan, device, sink, nullptr, std::move(options));
    replica->arenas().push(model);
  }
  graph::Model pulled() {
    graph::Model now = model;
    replica->arenas().pull(now);
    return now;
  }

  graph::Model model;
  plan::Plan plan;
  ToyDevice device;
  RecordingSink sink;
  std::optional<Replica> replica;
};

TEST(Replica, TrainsAfterASearchThatFailed) {
  const SampleBatch batch(9, 6, 3);
  Fixture f(kToyModel, 9, {.fault = Fault{.layer = "t1", .step = 1, .backward = true}}), plain(kToyModel);
  f.replica->begin_search();
  EXPECT_THROW(f.replica->find_not_finite({batch.view()}, {.number = 1, .global_samples = 9}), Error);
  const StepInputs in{.number = 2, .learning_rate = 0.1, .global_samples = 9};
  EXPECT_EQ(f.replica->step({batch.view()}, in).loss, plain.replica->step({batch.view()}, in).loss);
  EXPECT_EQ(f.replica->arenas().hash(), plain.replica->arenas().hash());
}

TEST(Replica, GradientsAgreeWithCentralDifferences) {
  Fixture f(kToyModel, 7);
  const SampleBatch batch(7, 6, 3, 4);  // the step moves no pre-activation across its kink at 0
  f.replica->gradients({batch.view().sub(0, 7)}, 7, 4);
  const std::vector<float> gradients(f.replica->arenas().gradients(),
                                     f.replica->arenas().gradients() + f.plan.trainable_end);
  for (const plan::Parameter& p : f.plan.parameters) {
    if (p.kind != plan::ParameterKind::kTrainable) continue;
    for (std::int64_t i = 0; i < p.elements(); ++i) {
      const auto loss_at = [&](float delta) {
        graph::Model moved = f.model;
        moved.weights[static_cast<std::size_t>(p.weight)].values[static_cast<std::size_t>(i)] += delta;
        f.replica->arenas().push(moved);
        return f.replica->gradients({batch.view().sub(0, 7)}, 7, 4).loss / 7;
      };
      const double expected = (loss_at(1e-3F) - loss_at(-1e-3F)) / 2e-3;
      // Float activations have a noise of 1e-7 / 2e-3. The normalization of a mostly inactive unit has a large
      // curvature.
      EXPECT_NEAR(gradients[static_cast<std::size_t>(p.offset + i)], expected, 2e-3 * (1 + std::abs(expected)))
          << p.path << " " << i;
    }
  }
}

TEST(Replica, RecordedStepsCopyStateAndSums) {
  Fixture f(kToyPlainModel, 9, {.records = true});
  const SampleBatch batch(9, 6, 3);
  std::set<const void*> recorded;
  std::size_t copies = 0;
  for (std::int64_t number = 0; number < 12; ++number) {
    f.device.take_host_ends();
    f.replica->step({batch.view().sub(0, 9)},
                    {.number = number, .learning_rate = 0.1, .global_samples = 9, .is_full_batch = true});
    const std::vector<const void*> ends = f.device.take_recorded_ends();
    recorded.insert(ends.begin(), ends.end());
    copies += ends.size();
    EXPECT_EQ(f.replica->replayed(), number >= 3) << number;
    EXPECT_EQ(f.device.take_host_ends().empty(), number >= 3) << number;
  }
  EXPECT_EQ(copies, 3 * Replica::kHostBuffers) << "state, sums, loss scale";
  EXPECT_EQ(recorded.size(), copies) << "no two recordings share host buffers";
}

TEST(Replica, MicroBatchesAddUpToTheBatch) {
  const SampleBatch batch(9, 6, 3);
  Fixture whole(kToyPlainModel);
  Fixture pieces(kToyPlainModel, 5, {}, true);
  for (int number = 0; number < 3; ++number) {
    const StepInputs in{.number = number, .learning_rate = 0.1, .global_samples = 9};
    const StepSums a = whole.replica->step({batch.view().sub(0, 9)}, in);
    const StepSums b =
        pieces.replica->step({batch.view().sub(0, 5), batch.view().sub(5, 0), batch.view().sub(5, 4)}, in);
    EXPECT_NEAR(a.loss, b.loss, 1e-5 * a.loss);
    EXPECT_EQ(a.outputs.at(1), b.outputs.at(1));
    EXPECT_EQ(a.samples, 9);
    EXPECT_EQ(b.samples, 9);
    EXPECT_GT(a.penalty, 0);
    EXPECT_NEAR(a.penalty, b.penalty, 1e-6 * a.penalty);
  }
  EXPECT_GT(distance(whole.pulled(), whole.model), 1e-2);
  EXPECT_LT(distance(whole.pulled(), pieces.pulled()), 1e-6);  // sums in another order
}

TEST(Replica, PassesEveryBucketOnceInOrderInTheLastMicroBatch) {
  const SampleBatch batch(9, 6, 3);
  std::vector<std::string> expected{"begin 3"};
  Fixture f(kToyModel, 5, {}, true);
  ASSERT_GT(f.plan.buckets.size(), 3U);
  for (std::size_t k = 0; k < f.plan.buckets.size(); ++k) expected.push_back("bucket " + std::to_string(k));
  expected.emplace_back("finish");
  f.replica->step({batch.view().sub(0, 5), batch.view().sub(5, 4)},
                  {.number = 3, .learning_rate = 0.1, .global_samples = 9});
  EXPECT_EQ(f.sink.events, expected);
}

TEST(Replica, ASliceWithoutRowsGivesZeros) {
  Fixture f(kToyModel);
  const SampleBatch batch(9, 6, 3);
  f.replica->gradients({batch.view().sub(0, 9)}, 9, 0);
  f.replica->gradients({batch.view().sub(0, 0)}, 9, 0);
  for (std::int64_t i = 0; i < f.plan.statistics_end; ++i) ASSERT_EQ(f.replica->arenas().gradients()[i], 0) << i;
}

TEST(Replica, StagesBatchesWhereTheDeviceCannotReadThem) {
  Fixture direct(kToyModel);
  Fixture staged(kToyModel, 9, {.reads_host_memory = false});
  const SampleBatch batch(9, 6, 3);
  const StepInputs in{.number = 0, .learning_rate = 0.1, .global_samples = 9};
  EXPECT_EQ(direct.replica->step({batch.view().sub(0, 9)}, in).loss,
            staged.replica->step({batch.view().sub(0, 9)}, in).loss);
  EXPECT_EQ(distance(direct.pulled(), staged.pulled()), 0);
  EXPECT_EQ(direct.replica->arenas().hash(), staged.replica->arenas().hash());
}

TEST(Replica, UpdatesSharedStatisticsAsTwoCallsInARow) {
  Fixture f(R"(
shared:
  norm: {BatchNormalization: {scale: false, center: false, momentum: 0.7, epsilon: 0.5}}
layers:
  - Input: {shape: [1]}
  - norm: {name: n1}
  - norm: {name: n2}
  - Dense: {units: 2, activation: softmax}
)",
            2);
  const std::vector<float> x{1, 5};  // mean 3, variance 4; then 0 and 4 / 4.5
  const std::vector<std::int32_t> labels{0, 1};
  f.replica->step({{.rows = 2, .inputs = {column(x.data())}, .labels = {column(labels.data())}}},
                  {.number = 0, .learning_rate = 0, .global_samples = 2});
  const graph::Model after = f.pulled();
  const double mean = 0.7 * (0.7 * 0 + 0.3 * 3) + 0.3 * 0;
  const double variance = 0.7 * (0.7 * 1 + 0.3 * 4) + 0.3 * 4 / 4.5;
  EXPECT_NEAR(after.weights[0].values[0], mean, 1e-6);
  EXPECT_NEAR(after.weights[1].values[0], variance, 1e-6);
}

TEST(Replica, EvaluatesAndPredictsInInferenceMode) {
  Fixture f(kToyModel);
  const SampleBatch batch(9, 6, 3);
  const std::uint64_t before = f.replica->arenas().hash();
  const StepSums sums = f.replica->evaluate(batch.view().sub(0, 9));
  std::vector<float> rows(9 * 3);
  f.replica->predict(batch.view().sub(0, 9), {rows.data()});
  double loss = 0, hits = 0;
  for (std::size_t r = 0; r < 9; ++r) {
    const float* p = rows.data() + 3 * r;
    EXPECT_NEAR(p[0] + p[1] + p[2], 1, 1e-6);
    loss -= std::log(double(p[batch.labels[r]]));
    hits += std::max_element(p, p + 3) == p + batch.labels[r] ? 1 : 0;
  }
  EXPECT_NEAR(sums.loss, loss, 1e-5);
  EXPECT_EQ(sums.outputs.at(1), hits);
  EXPECT_GT(sums.penalty, 0);
  EXPECT_EQ(f.replica->arenas().hash(), before);
}

TEST(Replica, WithoutAnOptimizerHasNoGradientsButThePenalty) {
  Fixture f(kToyModel, 9, {}, false, config::Typed());
  const SampleBatch batch(9, 6, 3);
  EXPECT_EQ(f.replica->arenas().gradients(), nullptr);
  EXPECT_GT(f.replica->evaluate(batch.view().sub(0, 9)).penalty, 0);
  EXPECT_THROW(f.replica->gradients({batch.view().sub(0, 9)}, 9, 0), Error);
}

TEST(Replica, ContinuesFromPulledState) {
  const SampleBatch batch(9, 6, 3);
  Fixture once(kToyModel), twice(kToyModel);
  const auto step = [&](Fixture& f, std::int64_t number) {
    f.replica->step({batch.view().sub(0, 9)}, {.number = number, .learning_rate = 0.1, .global_samples = 9});
  };
  step(once, 0);
  twice.replica->arenas().push(once.pulled());
  twice.replica->arenas().push_state(once.replica->arenas().pull_state());
  step(once, 1);
  step(twice, 1);
  EXPECT_EQ(distance(once.pulled(), twice.pulled()), 0);
  EXPECT_THROW(once.replica->arenas().push_state({}), Error);
}

TEST(Replica, AcceptsUnannouncedRowCountsUpToItsLargest) {
  Fixture f(kToyModel);
  const SampleBatch batch(10, 6, 3);
  EXPECT_GT(f.replica->evaluate(batch.view().sub(0, 4)).loss, 0);
  try {
    f.replica->evaluate(batch.view().sub(0, 10));
    FAIL() << "expected an error";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kInternal);
    EXPECT_STREQ(error.what(), "a slice of 10 rows, but the replica was made for at most 9");
  }
}

TEST(Replica, NamesTheLayerThatFailed) {
  const SampleBatch batch(9, 6, 3);
  for (const bool backward : {false, true}) {
    Fixture f(kToyModel, 9, {.fault = Fault{.layer = "t2", .step = 1, .backward = backward}});
    const auto step = [&](std::int64_t number) {
      f.replica->step({batch.view().sub(0, 9)}, {.number = number, .learning_rate = 0.1, .global_samples = 9});
    };
    step(0);
    try {
      step(1);
      FAIL() << "expected an error";
    } catch (const Error& error) {
      EXPECT_STREQ(error.what(), "layer t2: injected");
    }
  }
}

TEST(Replica, ProfilesEveryStepWhenAsked) {
  Fixture f(kToyModel);
  const SampleBatch batch(9, 6, 3);
  const auto step = [&] {
    f.replica->step({batch.view().sub(0, 9)}, {.number = 0, .learning_rate = 0.1, .global_samples = 9});
  };
  step();
  f.replica->set_profiling(true);
  step();
  step();
  const auto profile = f.replica->profile();
  ASSERT_EQ(profile.steps.size(), f.plan.steps.size());
  for (std::size_t s = 0; s < profile.steps.size(); ++s) {
    const auto& [forward, backward] = profile.steps[s];
    const plan::Step& planned = f.plan.steps[s];
    EXPECT_EQ(forward.seconds > 0, !planned.fused_into_loss) << planned.name;
    EXPECT_EQ(forward.bytes, 2 * forward.set) << planned.name << ": two calls that work on each byte once";
    EXPECT_EQ(backward.seconds > 0, planned.has_backward) << planned.name;
    EXPECT_EQ(backward.bytes, 2 * backward.set) << planned.name;
  }
  EXPECT_GT(profile.losses.seconds, 0);
  EXPECT_GT(profile.losses.bytes, 0);
  EXPECT_GT(f.replica->times().forward_backward, 0);
  EXPECT_GT(f.replica->times().optimizer, 0);
}

}  // namespace
}  // namespace dptrain::runtime
