#include "session/link_speed.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "core/clock.h"
#include "core/error.h"
#include "core/format.h"
#include "replica/crew.h"

namespace dptrain::session {
namespace {

/// One bucket of so many floats and nothing else.
plan::Plan plan_of(std::int64_t floats) {
  plan::Plan plan;
  plan.trainable_end = plan.statistics_end = plan.total = floats;
  plan.buckets = {{0, floats}};
  return plan;
}

/// What one replica has; made, used and destroyed on its thread.
struct Rank {
  std::unique_ptr<device::Device> device;
  std::unique_ptr<device::Stream> stream;
  std::unique_ptr<device::Buffer> arena;
  std::vector<double> seconds{};

  /// Rank r gives r + 1 everywhere.
  void fill(int rank, std::int64_t floats) {
    device->fill(arena->as<float>(), floats, static_cast<float>(rank + 1), *stream);
  }

  void sum(replica::GradientSink& sink, std::int64_t step) {
    const Stopwatch watch;
    sink.begin(step, step == 0);
    sink.bucket_ready(0, *stream);
    sink.finish(*stream);
    stream->synchronize();
    sink.end(true);
    seconds.push_back(watch.seconds());
  }

  void check(std::int64_t floats, int replicas) {
    const auto expected = static_cast<float>(replicas * (replicas + 1) / 2);
    for (const std::int64_t place : {std::int64_t{0}, floats / 2, floats - 1}) {
      float value = 0;
      device->copy_to_host(&value, arena->as<float>() + place, sizeof(value), *stream);
      if (value != expected)
        throw Error(ErrorKind::kDevice, fmt::format("{}: a sum over {} replicas is {}, expected {}", device->name(),
                                                    replicas, value, expected));
    }
  }
};

}  // namespace

LinkSpeed measure_all_reduce(const DeviceRequest& request, std::uint64_t bytes, int repeats) {
  const auto floats = static_cast<std::int64_t>(bytes / sizeof(float));
  const plan::Plan plan = plan_of(floats);
  const auto connector = make_connector(request, experiment::ParallelSection{}, true);
  std::vector<Rank> ranks(static_cast<std::size_t>(request.replicas));
  auto devices = make_devices(request, {});
  const auto at = [&](int rank) -> Rank& { return ranks[static_cast<std::size_t>(rank)]; };
  replica::Crew crew(request.replicas, [&](int rank, const std::exception_ptr&) {
    connector->abort(Error(ErrorKind::kDevice, fmt::format("replica {} has failed", rank)));
  });
  const auto give_back = [&] {
    crew.run([&](int rank) {
      connector->drain(rank);
      if (at(rank).stream) at(rank).stream->synchronize();
    });
    crew.run([&](int rank) {
      connector->detach(rank);
      at(rank) = {};
    });
  };
  try {
    crew.run([&](int rank) {
      Rank& r = at(rank);
      r.device = std::move(devices[static_cast<std::size_t>(rank)]);
      r.device->enter();
      r.stream = r.device->make_stream();
      r.arena = r.device->allocate(static_cast<std::size_t>(floats) * sizeof(float));
      connector->attach(rank, *r.device, *r.stream, r.arena->as<float>(), plan);
    });
    for (int step = 0; step <= repeats; ++step)  // the first one connects the ranks, and is not counted
      crew.run([&](int rank) {
        at(rank).fill(rank, floats);
        at(rank).stream->synchronize();
        at(rank).sum(connector->sink(rank), step);
      });
    crew.run([&](int rank) { at(rank).check(floats, request.replicas); });
  } catch (...) {
    give_back();
    throw;
  }
  std::vector<double> slowest;
  for (int step = 1; step <= repeats; ++step) {
    double most = 0;
    for (const Rank& rank : ranks) most = std::max(most, rank.seconds[static_cast<std::size_t>(step)]);
    slowest.push_back(most);
  }
  give_back();
  std::ranges::nth_element(slowest, slowest.begin() + static_cast<std::ptrdiff_t>(slowest.size() / 2));
  return {.bytes = static_cast<std::uint64_t>(floats) * sizeof(float), .seconds = slowest[slowest.size() / 2]};
}

}  // namespace dptrain::session
