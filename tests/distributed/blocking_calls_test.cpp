// Calls that may wait for a GPU do not run while a collective is pending: allocations, releases and first launches of
// kernels. On several GPUs, each of them can hang a run.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "backend/emu/emu_runtime.h"
#include "backend/emu/emu_scheduler.h"
#include "data/fixtures.h"
#include "data/loader.h"
#include "data/transforms/normalization.h"
#include "distributed/nccl_connector.h"
#include "distributed/stream_nccl.h"
#include "kernels/cuda/simt.h"
#include "runtime/batch_queue.h"
#include "runtime/small_net.h"

namespace dptrain::distributed {
namespace {

using namespace dptrain::test;  // NOLINT(google-build-using-namespace)
using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr std::int64_t kBatchOfTwo = 12;

/// Collects the kernels whose first launch on a device happens while a collective is pending. CUDA loads a kernel then.
class FirstLaunches {
 public:
  FirstLaunches() {
    simt::watch_launches([this](const simt::Shape& shape) {
      const std::lock_guard lock(mutex_);
      const bool first = launched_.emplace(backend::emu::entered_device(), shape.kernel).second;
      if (first && backend::emu::is_collective_pending()) late_.emplace_back(shape.name);
    });
  }
  ~FirstLaunches() { simt::watch_launches({}); }
  FirstLaunches(const FirstLaunches&) = delete;
  FirstLaunches& operator=(const FirstLaunches&) = delete;

  std::vector<std::string> late() {
    const std::lock_guard lock(mutex_);
    return late_;
  }

 private:
  std::mutex mutex_;
  std::set<std::pair<int, const void*>> launched_;
  std::vector<std::string> late_;
};

/// A loader with page-locked memory. An allocation by a worker waits until a collective is pending, the worst moment.
std::unique_ptr<data::Loader> loader_of(std::int64_t samples, backend::Device& device) {
  const auto source = std::make_shared<data::VectorSource>(samples, Shape{5, 6, 2});
  for (std::int64_t i = 0; i < samples; ++i) source->classes.push_back(i % 3);
  const auto allocate = [trainer = std::this_thread::get_id(), real = device.host_allocator()](std::size_t bytes) {
    for (int tries = 0; std::this_thread::get_id() != trainer && tries < 200; ++tries) {
      if (backend::emu::is_collective_pending()) break;
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    return real(bytes);
  };
  const data::Pipeline rescale({data::transform_family().make(data::RescalingSpec{1e-4, 0})}, false);
  return std::make_unique<data::Loader>(
      source, rescale, data::model_of(Shape{5, 6, 2}, Shape{3}),
      std::vector<data::LabelForm>{{.kind = nn::LabelKind::kClass, .width = 3}},
      data::LoaderOptions{.batch_size = kBatchOfTwo,
                          .shuffle = {},
                          .seed = 11,
                          .workers = 2,
                          .prefetch = 3,
                          .allocate = allocate,
                          .held = static_cast<int>(runtime::BatchQueue::kMaxBatches)});
}

/// Two replicas with synchronized normalization, on an emulated GPU each.
struct TwoGpus {
  explicit TwoGpus(DType compute, std::int64_t last) : model(model_of(kSmallNet)) {
    std::vector<std::unique_ptr<backend::Device>> devices;
    for (int r = 0; r < 2; ++r) devices.push_back(device_of(fmt::format("emu:{}", r), r, compute));
    plan = small_plan(model, *devices.front(), compute);
    connector = make_nccl({0, 1},
                          {.deterministic = false,
                           .sums_in_bfloat16 = compute == DType::kBf16,
                           .watchdog_seconds = 300,
                           .first_step_seconds = 300},
                          nccl.api());
    set.emplace(
        plan, std::move(devices), *connector,
        runtime::SetOptions{
            .weights = {1, 1}, .batch_sizes = {kBatchOfTwo, last}, .optimizer = sgd(), .seed = 5, .check_every = 3});
    set->push(model);
  }

  /// An epoch with as many steps queued as possible.
  void train(data::Loader& loader) {
    runtime::BatchQueue ahead(*set);
    for (data::Batch batch = loader.next(); batch.rows() > 0; batch = loader.next()) {
      const runtime::StepInputs in{.number = step++, .learning_rate = 0.01, .global_samples = batch.rows()};
      ahead.step(std::make_shared<const data::Batch>(std::move(batch)), in);
      if (ahead.full()) ahead.collect();
    }
    while (!ahead.empty()) ahead.collect();
    loader.next_epoch();
  }
  void evaluate(data::Loader& loader) {
    runtime::BatchQueue ahead(*set);
    for (data::Batch batch = loader.next(); batch.rows() > 0; batch = loader.next()) {
      ahead.evaluate(std::make_shared<const data::Batch>(std::move(batch)));
      if (ahead.full()) ahead.collect();
    }
    while (!ahead.empty()) ahead.collect();
    loader.next_epoch();
  }

  StreamNccl nccl;
  graph::Model model;
  plan::Plan plan;
  std::unique_ptr<runtime::Connector> connector;
  std::optional<runtime::ReplicaSet> set;
  std::int64_t step = 0;
};

TEST(BlockingCalls, DoNotRunWhileACollectiveIsPending) {
  for (const DType compute : {DType::kF32, DType::kBf16}) {
    SCOPED_TRACE(name_of(compute));
    backend::emu::reseed(1);
    backend::emu::take_blocking_calls();
    FirstLaunches launches;
    {
      TwoGpus gpus(compute, 5);
      const auto train = loader_of(7 * kBatchOfTwo + 5, gpus.set->device(0));
      const auto validation = loader_of(4 * kBatchOfTwo + 5, gpus.set->device(0));
      train->seek(0, 0);
      gpus.train(*train);
      gpus.evaluate(*validation);
      {
        const data::Batch batch = train->next();
        const int gathers = gpus.nccl.eager;
        EXPECT_FALSE(gpus.set->find_not_finite(batch.view(), {.number = gpus.step, .global_samples = kBatchOfTwo}));
        EXPECT_GT(gpus.nccl.eager, gathers) << "a search has collectives";
      }
      train->seek(1, 0);
      gpus.train(*train);
      gpus.evaluate(*validation);
      EXPECT_GT(gpus.nccl.replayed, 0);
    }
    EXPECT_THAT(backend::emu::take_blocking_calls(), IsEmpty());
    EXPECT_THAT(launches.late(), IsEmpty());
  }
}

TEST(BlockingCalls, AreCountedWhileACollectiveIsPending) {
  const auto device = device_of("emu:0", 0);
  device->enter();
  const auto stream = device->make_stream();
  std::unique_ptr<backend::Buffer> before = device->allocate(4);
  backend::emu::take_blocking_calls();
  std::atomic<bool> arrived = false;
  backend::emu::push_and_wait(
      stream->native(), "all-reduce", [] {}, [&] { return arrived.load(); });
  EXPECT_TRUE(backend::emu::is_collective_pending());
  std::unique_ptr<backend::Buffer> during;
  std::thread([&] { during = device->allocate_host(4); }).join();
  arrived = true;
  before.reset();
  EXPECT_FALSE(backend::emu::is_collective_pending()) << "free waits for the device";
  device->allocate(4);
  EXPECT_THAT(backend::emu::take_blocking_calls(), ElementsAre("emu:0: allocate_host", "emu:0: free"));
}

}  // namespace
}  // namespace dptrain::distributed
