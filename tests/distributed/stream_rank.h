#pragma once

// Replicas of a connector's test, on the emulator's streams in random order.

#include <cstdint>
#include <memory>
#include <optional>
#include <thread>
#include <vector>

#include "backend/emu/emu_runtime.h"
#include "core/index.h"
#include "distributed/forgetful_device.h"
#include "runtime/replica_set.h"

namespace dptrain::test {

/// Gradients of a rank's backward.
using GradientOf = float (*)(int rank, std::int64_t step, std::int64_t i);

/// One replica, on its own thread.
struct StreamRank {
  StreamRank(int rank_, int device_id, Forget forget, runtime::Connector& connector_, const plan::Plan& plan_,
             GradientOf gradient_)
      : rank(rank_),
        connector(connector_),
        plan(plan_),
        gradient(gradient_),
        device(backend::make_emu_device(device_id, {}), forget) {
    device.enter();
    stream = device.make_stream(false);
    arena = device.allocate(bytes());
    connector.attach(rank, device, *stream, arena->as<float>(), plan);
  }

  std::size_t bytes() const { return static_cast<std::size_t>(plan.statistics_end) * sizeof(float); }

  /// Queues a step whose buckets are ready only when the stream reaches them.
  void queue_step(std::int64_t step, bool may_load_kernels = false) {
    runtime::GradientSink& sink = connector.sink(rank);
    sink.begin(step, may_load_kernels);
    for (int k = 0; k < static_cast<int>(plan.buckets.size()); ++k) {
      const auto [begin, end] = plan.buckets[at(k)];
      std::vector<float> values;
      for (std::int64_t i = begin; i < end; ++i) values.push_back(gradient(rank, step, i));
      device.copy_to_device(arena->as<float>() + begin, values.data(), values.size() * sizeof(float), *stream);
      sink.bucket_ready(k, *stream);
    }
    sink.finish(*stream);
  }
  std::vector<float> pull() {
    std::vector<float> values(static_cast<std::size_t>(plan.statistics_end));
    device.copy_to_host(values.data(), arena->data(), bytes(), *stream);
    return values;
  }

  const int rank;
  runtime::Connector& connector;
  const plan::Plan& plan;
  const GradientOf gradient;
  ForgetfulDevice device;
  std::unique_ptr<backend::Stream> stream;
  std::unique_ptr<backend::Buffer> arena;
};

/// Runs `work(StreamRank&)` on a thread per device, and ends the ranks as ReplicaSet does.
template <class Work>
void on_stream_ranks(const std::vector<int>& devices, Forget forget, runtime::Connector& connector,
                     const plan::Plan& plan, GradientOf gradient, const Work& work) {
  std::vector<std::optional<StreamRank>> all(devices.size());
  const auto each = [&](const auto& f) {
    std::vector<std::thread> threads;
    for (int rank = 0; rank < static_cast<int>(devices.size()); ++rank) threads.emplace_back([&f, rank] { f(rank); });
    for (std::thread& thread : threads) thread.join();
  };
  each([&](int rank) {
    StreamRank& mine = all[at(rank)].emplace(rank, devices[at(rank)], forget, connector, plan, gradient);
    work(mine);
    connector.drain(rank);
    mine.stream->synchronize();
  });
  each([&](int rank) {
    all[at(rank)]->device.enter();
    connector.detach(rank);
    all[at(rank)].reset();
  });
}

}  // namespace dptrain::test
