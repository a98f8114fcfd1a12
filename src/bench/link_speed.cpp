#include "bench/link_speed.h"

#include <algorithm>
#include <vector>

#include "core/clock.h"
#include "core/error.h"
#include "core/format.h"
#include "core/text.h"
#include "runtime/replica_set.h"
#include "runtime/worker_group.h"
#include "session/agreement.h"

namespace dptrain::bench {
namespace {

/// A plan with nothing but one bucket of `floats` floats.
plan::Plan plan_of(std::int64_t floats) {
  plan::Plan plan;
  plan.trainable_end = plan.statistics_end = plan.total = floats;
  plan.buckets = {{0, floats}};
  return plan;
}

/// Resources of one replica; made, used and destroyed on its thread.
struct Rank {
  std::unique_ptr<backend::Device> device;
  std::unique_ptr<backend::Stream> stream;
  std::unique_ptr<backend::Buffer> arena;
  std::vector<double> seconds{};

  /// Fills rank r's arena with r + 1.
  void fill(int rank, std::int64_t floats) {
    device->fill(arena->as<float>(), floats, static_cast<float>(rank + 1), *stream);
  }

  void sum(runtime::GradientSink& sink, std::int64_t step) {
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

/// Seconds per repeat of the slowest replica of this process, whose ranks begin at `first_rank` of `all_ranks`.
std::vector<double> sum_seconds(const session::DeviceRequest& request, runtime::Connector& connector,
                                std::int64_t floats, int repeats, int first_rank, int all_ranks) {
  const plan::Plan plan = plan_of(floats);
  std::vector<Rank> ranks(static_cast<std::size_t>(request.replicas));
  auto devices = session::make_devices(request, {});
  const auto at = [&](int rank) -> Rank& { return ranks[static_cast<std::size_t>(rank)]; };
  // Same thread setup as in a ReplicaSet.
  runtime::WorkerGroup workers(request.replicas, runtime::WorkerGroup::First::kCaller,
                               [&](int rank, const std::exception_ptr&) {
                                 connector.abort(Error(ErrorKind::kDevice, fmt::format("replica {} has failed", rank)));
                               });
  const auto release = [&] {
    workers.run([&](int rank) {
      connector.drain(rank);
      if (at(rank).stream) at(rank).stream->synchronize();
    });
    workers.run([&](int rank) {
      connector.detach(rank);
      at(rank) = {};
    });
  };
  try {
    workers.run([&](int rank) {
      Rank& r = at(rank);
      r.device = std::move(devices[static_cast<std::size_t>(rank)]);
      r.device->enter();
      r.stream = r.device->make_stream();
      r.arena = connector.gradient_memory(rank, *r.device, static_cast<std::size_t>(floats) * sizeof(float));
      connector.attach(rank, *r.device, *r.stream, r.arena->as<float>(), plan);
    });
    for (int step = 0; step <= repeats; ++step)  // the first step connects the ranks and is not counted
      workers.run([&](int rank) {
        at(rank).fill(first_rank + rank, floats);
        at(rank).stream->synchronize();
        at(rank).sum(connector.sink(rank), step);
      });
    workers.run([&](int rank) { at(rank).check(floats, all_ranks); });
  } catch (...) {
    release();
    throw;
  }
  std::vector<double> slowest;
  for (int step = 1; step <= repeats; ++step) {
    double most = 0;
    for (const Rank& rank : ranks) most = std::max(most, rank.seconds[static_cast<std::size_t>(step)]);
    slowest.push_back(most);
  }
  release();
  return slowest;
}

double middle(std::vector<double> values) {
  std::ranges::nth_element(values, values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2));
  return values[values.size() / 2];
}

}  // namespace

LinkSpeed measure_all_reduce(const session::DeviceRequest& request, std::uint64_t bytes, int repeats) {
  const auto floats = static_cast<std::int64_t>(bytes / sizeof(float));
  const auto connector = session::make_connector(request, experiment::ParallelSection{}, true);
  return {.bytes = static_cast<std::uint64_t>(floats) * sizeof(float),
          .seconds = middle(sum_seconds(request, *connector, floats, repeats, 0, request.replicas))};
}

LinkSpeed measure_all_reduce(distributed::Processes& processes, std::uint64_t bytes, int repeats) {
  const auto floats = static_cast<std::int64_t>(bytes / sizeof(float));
  const session::DeviceRequest one{.replicas = 1, .threads = 1};
  const distributed::RankLayout rank_layout = session::make_rank_layout(&processes, one.replicas);
  const auto connector = session::make_connector(one, experiment::ParallelSection{}, true, rank_layout, processes);
  const double mine = middle(sum_seconds(one, *connector, floats, repeats, processes.process(), processes.count()));
  double slowest = 0;
  for (const std::string& of_process : processes.gather(shortest(mine)))
    slowest = std::max(slowest, std::stod(of_process));
  return {.bytes = static_cast<std::uint64_t>(floats) * sizeof(float), .seconds = slowest};
}

MessageLink message_link(const LinkSpeed& few, const LinkSpeed& many, int processes) {
  const double carried = 2.0 * (processes - 1) / processes;  // share of the bytes that each process sends
  const double more = carried * static_cast<double>(many.bytes - few.bytes);
  MessageLink link;
  link.bytes_per_second = more / std::max(many.seconds - few.seconds, 1e-9);
  link.latency = std::max(0.0, few.seconds - carried * static_cast<double>(few.bytes) / link.bytes_per_second) / 2;
  return link;
}

}  // namespace dptrain::bench
