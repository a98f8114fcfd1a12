// Queued evaluations have the same sums as synchronous ones, between steps and concurrent with them.

#include <gtest/gtest.h>

#include <deque>

#include "backend/emu/emu_runtime.h"
#include "core/error.h"
#include "runtime/small_net.h"

namespace dptrain::runtime {
namespace {

using namespace dptrain::test;  // NOLINT(google-build-using-namespace)

constexpr std::int64_t kQueuedRows = 6;

/// Replicas that exchange nothing.
class QueuedApart final : public Connector {
 public:
  GradientSink& sink(int) override { return none_; }
  backend::Collective* collective(int) override { return nullptr; }
  void attach(int, backend::Device&, backend::Stream&, float*, const plan::Plan&) override {}
  void abort(const Error&) noexcept override {}

 private:
  NoReduction none_;
};

struct QueuedFixture {
  QueuedFixture(const std::vector<std::string>& names, bool trains)
      : model(model_of(kSmallPlainNet)), plan(small_plan(model, *device_of(names.front(), 0))) {
    std::vector<std::unique_ptr<backend::Device>> devices;
    for (const std::string& name : names) devices.push_back(device_of(name, static_cast<int>(devices.size())));
    SetOptions options{.weights = std::vector<double>(names.size(), 1.0), .batch_sizes = {kQueuedRows}, .seed = 5};
    if (trains) options.optimizer = sgd();
    set.emplace(plan, std::move(devices), connector, std::move(options));
    set->push(model);
  }

  graph::Model model;
  plan::Plan plan;
  QueuedApart connector;
  std::optional<ReplicaSet> set;
};

/// Batches of different sizes; some exceed the capacity of a replica and are processed in pieces.
std::vector<SampleBatch> batches(std::size_t count) {
  std::vector<SampleBatch> all;
  for (std::size_t i = 0; i < count; ++i)
    all.emplace_back(i % 3 == 1 ? 17 : i % 3 == 2 ? 1 : kQueuedRows, kSmallNetInput, 3, 40 + i);
  return all;
}

class QueuedEvaluation : public ::testing::TestWithParam<std::vector<std::string>> {};

// Like the loader, overwrites a batch's memory as soon as its sums are available.
TEST_P(QueuedEvaluation, HasTheSumsOfASynchronousOne) {
  for (const bool trains : {false, true}) {
    QueuedFixture f(GetParam(), trains);
    const std::vector<SampleBatch> data = batches(12);
    std::vector<StepSums> waited, queued;
    for (const SampleBatch& batch : data) waited.push_back(f.set->evaluate(batch.view()));
    std::deque<SampleBatch> ahead;
    const auto collect = [&] {
      queued.push_back(f.set->collect());
      std::ranges::fill(ahead.front().inputs, 1e30F);
      std::ranges::fill(ahead.front().labels, 0);
      ahead.pop_front();
    };
    for (const SampleBatch& batch : data) {
      ahead.push_back(batch);
      f.set->queue_evaluation(ahead.back().view());
      if (ahead.size() == Replica::kMaxQueued) collect();
    }
    EXPECT_EQ(f.set->queued(), Replica::kMaxQueued - 1);
    while (!ahead.empty()) collect();
    ASSERT_EQ(queued.size(), waited.size());
    for (std::size_t i = 0; i < waited.size(); ++i) {
      EXPECT_EQ(queued[i].samples, data[i].rows);
      EXPECT_EQ(queued[i].loss, waited[i].loss) << i;
      EXPECT_EQ(queued[i].outputs, waited[i].outputs) << i;
      EXPECT_GT(waited[i].loss, 0);
    }
  }
}

// A queued evaluation uses the weights at its position in the queue and does not change the steps around it.
TEST(QueuedEvaluations, ShareTheQueueOfTheSteps) {
  const SampleBatch first(kQueuedRows, kSmallNetInput, 3, 1), second(kQueuedRows, kSmallNetInput, 3, 2),
      held(9, kSmallNetInput, 3, 3);
  const StepInputs a{.number = 0, .learning_rate = 0.1, .global_samples = kQueuedRows},
      b{.number = 1, .learning_rate = 0.1, .global_samples = kQueuedRows};
  for (const char* name : {"cpu", "emu:0"}) {
    QueuedFixture in_turn({name}, true), queued({name}, true);
    const double loss_a = in_turn.set->step(first.view(), a).loss, loss_held = in_turn.set->evaluate(held.view()).loss,
                 loss_b = in_turn.set->step(second.view(), b).loss;
    queued.set->queue_step(first.view(), a);
    queued.set->queue_evaluation(held.view());
    queued.set->queue_step(second.view(), b);
    EXPECT_EQ(queued.set->collect().loss, loss_a) << name;
    EXPECT_EQ(queued.set->collect().loss, loss_held) << name;
    EXPECT_EQ(queued.set->collect().loss, loss_b) << name;
    EXPECT_NE(loss_a, loss_b);
  }
}

INSTANTIATE_TEST_SUITE_P(Devices, QueuedEvaluation,
                         ::testing::Values(std::vector<std::string>{"cpu"}, std::vector<std::string>{"emu:0"},
                                           std::vector<std::string>{"cpu", "cpu"},
                                           std::vector<std::string>{"emu:0", "emu:1"}));

TEST(QueuedEvaluations, TheHostWaitsForNoStream) {
  QueuedFixture f({"emu:0"}, true);
  const std::vector<SampleBatch> data = batches(3);
  f.set->evaluate(data[0].view());
  const backend::emu::HostWaits before = backend::emu::host_waits();
  for (const SampleBatch& batch : data) f.set->queue_evaluation(batch.view());
  const backend::emu::HostWaits queued = backend::emu::host_waits();
  EXPECT_EQ(queued.streams, before.streams);
  EXPECT_EQ(queued.events, before.events);
  for (std::size_t i = 0; i < data.size(); ++i) f.set->collect();
  EXPECT_EQ(backend::emu::host_waits().streams, before.streams) << "the host waits only for the sums";
}

TEST(QueuedEvaluations, AreBounded) {
  QueuedFixture f({"cpu"}, false);
  const SampleBatch batch(2, kSmallNetInput, 3);
  for (std::size_t i = 0; i < Replica::kMaxQueued; ++i) f.set->queue_evaluation(batch.view());
  EXPECT_THROW(f.set->queue_evaluation(batch.view()), Error);
}

}  // namespace
}  // namespace dptrain::runtime
