// Steps queued ahead of the host: their sums equal those of synchronous steps, and the host waits for no stream.

#include <gtest/gtest.h>

#include <deque>

#include "backend/emu/emu_runtime.h"
#include "core/error.h"
#include "distributed/connector.h"
#include "runtime/arenas.h"
#include "runtime/small_net.h"
#include "support/sanitizer.h"

namespace dptrain::runtime {
namespace {

using namespace dptrain::test;  // NOLINT(google-build-using-namespace)

constexpr std::int64_t kQueuedRows = 6;
constexpr int kQueuedSteps = 12;

struct QueuedStepsOutcome {
  std::vector<double> sums;  ///< loss, penalty, samples, and the output's loss and metrics of every step
  graph::Model model;
  backend::emu::HostWaits waits;
};

void append(const StepSums& sums, std::vector<double>& all) {
  all.insert(all.end(), {sums.loss, sums.penalty, static_cast<double>(sums.samples)});
  all.insert(all.end(), sums.outputs.begin(), sums.outputs.end());
}

/// Trains `replicas` on the device with up to `ahead` steps queued; one batch is short.
QueuedStepsOutcome train(const std::string& device_name, int replicas, std::size_t ahead, backend::Graphs graphs,
                         std::int64_t accumulate_steps = 1) {
  std::vector<std::unique_ptr<backend::Device>> devices;
  for (int rank = 0; rank < replicas; ++rank) devices.push_back(device_of(device_name, rank));
  QueuedStepsOutcome o{.sums = {}, .model = model_of(kSmallNet), .waits = {}};
  const plan::Plan plan = small_plan(o.model, *devices.front());
  NoReduction none;
  const auto connector =
      device_name == "cpu" ? distributed::make_local(replicas) : distributed::make_local_streams(replicas);
  SetOptions options{.weights = std::vector<double>(static_cast<std::size_t>(replicas), 1.0),
                     .accumulate_steps = accumulate_steps,
                     .batch_sizes = {kQueuedRows, 4},
                     .optimizer = value_of(nn::optimizer_family(), "Adam"),
                     .seed = 5,
                     .graphs = graphs};
  ReplicaSet set(plan, std::move(devices), *connector, std::move(options));
  set.push(o.model);
  const backend::emu::HostWaits before = backend::emu::host_waits();
  std::deque<SampleBatch> batches;  // kept while they are in use
  for (int number = 0; number < kQueuedSteps; ++number) {
    const std::int64_t rows = number == 5 ? 4 : kQueuedRows;
    batches.emplace_back(rows, kSmallNetInput, 3, static_cast<std::uint64_t>(number));
    set.queue_step(batches.back().view(),
                   {.number = number, .learning_rate = 0.02 / (1 + number), .global_samples = rows});
    while (set.queued() >= ahead) {
      append(set.collect(), o.sums);
      batches.pop_front();
    }
  }
  const backend::emu::HostWaits after = backend::emu::host_waits();
  o.waits = {.streams = after.streams - before.streams, .events = after.events - before.events};
  while (set.queued() > 0) append(set.collect(), o.sums);
  set.pull(o.model);
  return o;
}

TEST(QueuedSteps, GiveTheSumsAndWeightsOfStepsOneByOne) {
  for (const auto& [device, replicas] : {std::pair{"cpu", 1}, {"cpu", 2}, {"emu:0", 1}, {"emu:0", 2}})
    for (const std::int64_t accumulate : {1, 2})
      for (std::uint64_t seed = 1; seed <= test::seeds(3); ++seed) {
        if (test::kThreadSanitizer && replicas == 1) continue;  // two replicas include its threads
        SCOPED_TRACE(fmt::format("{} on {}, {} micro-batches, seed {}", replicas, device, accumulate, seed));
        backend::emu::reseed(seed);
        const QueuedStepsOutcome one_by_one = train(device, replicas, 1, backend::Graphs::kOff, accumulate);
        const QueuedStepsOutcome queued =
            train(device, replicas, Replica::kMaxQueued, backend::Graphs::kAuto, accumulate);
        EXPECT_EQ(one_by_one.sums, queued.sums);
        EXPECT_EQ(distance(one_by_one.model, queued.model), 0);
        EXPECT_EQ(queued.sums.size(), kQueuedSteps * 5U);
        EXPECT_GT(queued.sums[1], 0) << "the penalty";
      }
}

TEST(QueuedSteps, DoNotSynchronizeStreams) {
  // Eager or recorded, the host waits only for the event of the oldest step when kMaxQueued are queued, so the device
  // still has the newer ones to do.
  for (const backend::Graphs graphs : {backend::Graphs::kOff, backend::Graphs::kOn}) {
    const QueuedStepsOutcome queued = train("emu:0", 1, Replica::kMaxQueued, graphs);
    EXPECT_EQ(queued.waits.streams, 0U);
    EXPECT_LE(queued.waits.events, kQueuedSteps - Replica::kMaxQueued + 1);
  }
  EXPECT_EQ(train("emu:0", 2, Replica::kMaxQueued, backend::Graphs::kOff).waits.streams, 0U);
}

TEST(QueuedSteps, AreBounded) {
  auto device = device_of("emu:0", 0);
  device->enter();
  graph::Model model = model_of(kSmallNet);
  const plan::Plan plan = small_plan(model, *device);
  NoReduction sink;
  ReplicaOptions options{.rows = kQueuedRows, .row_counts = {kQueuedRows}};
  options.optimizer = value_of(nn::optimizer_family(), "SGD");
  Replica replica(plan, *device, sink, nullptr, std::move(options));
  replica.arenas().push(model);
  const SampleBatch batch(kQueuedRows, kSmallNetInput, 3, 1);
  const std::vector<BatchView> slices{batch.view().sub(0, kQueuedRows)};
  for (std::size_t i = 0; i < Replica::kMaxQueued; ++i)
    replica.queue_step(slices,
                       {.number = static_cast<std::int64_t>(i), .learning_rate = 0.1, .global_samples = kQueuedRows});
  EXPECT_THROW(replica.queue_step(slices, {.number = 9, .learning_rate = 0.1, .global_samples = kQueuedRows}), Error);
  EXPECT_THROW(replica.evaluate(slices.front()), Error) << "its sums would mix with theirs";
  while (replica.queued() > 0) replica.collect();
  EXPECT_THROW(replica.collect(), Error);
  EXPECT_GT(replica.evaluate(slices.front()).loss, 0);
}

}  // namespace
}  // namespace dptrain::runtime
