// CPU replicas in several processes, here threads, against the same replicas in one.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <thread>

#include "core/error.h"
#include "core/index.h"
#include "distributed/bucket_sum.h"
#include "distributed/connector.h"
#include "distributed/fake_transport.h"
#include "runtime/sample_batch.h"
#include "runtime/toy_device.h"
#include "support/sanitizer.h"

namespace dptrain::distributed {
namespace {

using namespace dptrain::test;  // NOLINT(google-build-using-namespace)

RankLayout make_rank_layout(const std::vector<int>& local_ranks, int process) {
  RankLayout rank_layout{.process = process, .first_ranks = {0}};
  for (const int count : local_ranks) rank_layout.first_ranks.push_back(rank_layout.first_ranks.back() + count);
  return rank_layout;
}

int sum_of(const std::vector<int>& local_ranks) { return make_rank_layout(local_ranks, 0).ranks(); }

/// The last bucket is smaller than the number of processes; one bucket is empty.
plan::Plan small_buckets() {
  plan::Plan plan;
  plan.buckets = {{0, 64 * 40}, {64 * 40, 64 * 40}, {64 * 40, 64 * 41 + 7}};
  plan.statistics_end = plan.buckets.back().end;
  return plan;
}

float spread_gradient(int rank, std::int64_t step, std::int64_t i) {
  return std::ldexp(static_cast<float>((i * 7919 + step * 104729 + rank * 31) % 1009 - 500), rank % 5 - 2) / 3.0F;
}

/// Runs some steps of a local rank's sink. Returns its arena after each step, concatenated.
std::vector<float> local_rank_steps(runtime::Connector& connector, int local_rank, int rank, const plan::Plan& plan,
                                    float* arena) {
  std::vector<float> seen;
  runtime::GradientSink& sink = connector.sink(local_rank);
  backend::Stream stream;
  for (std::int64_t step = 0; step < 5; ++step) {
    sink.begin(step, false);
    for (int b = 0; b < static_cast<int>(plan.buckets.size()); ++b) {
      for (std::int64_t i = plan.buckets[at(b)].begin; i < plan.buckets[at(b)].end; ++i)
        arena[i] = spread_gradient(rank, step, i);
      sink.bucket_ready(b, stream);
    }
    sink.finish(stream);
    seen.insert(seen.end(), arena, arena + plan.statistics_end);
    for (const std::size_t floats : {std::size_t{1}, std::size_t{70001}}) {  // more than fits one round in memory
      const std::vector<float> mine(floats, static_cast<float>(rank));
      std::vector<float> all(floats * at(connector.collective(local_rank)->size()));
      connector.collective(local_rank)
          ->all_gather(mine.data(), static_cast<std::int64_t>(floats * sizeof(float)), all.data(), stream);
      for (std::size_t i = 0; i < all.size(); i += floats) {
        EXPECT_EQ(all[i], static_cast<float>(i / floats));
        EXPECT_EQ(std::count(all.data() + i, all.data() + i + floats, all[i]), static_cast<std::ptrdiff_t>(floats));
      }
    }
  }
  return seen;
}

/// Arenas of the local ranks of one process, in memory from the connector, all attached.
std::vector<std::unique_ptr<backend::Buffer>> attached(runtime::Connector& connector, int local_ranks,
                                                       backend::Device& device, backend::Stream& stream,
                                                       const plan::Plan& plan) {
  std::vector<std::unique_ptr<backend::Buffer>> arenas;
  for (int local_rank = 0; local_rank < local_ranks; ++local_rank) {
    arenas.push_back(
        connector.gradient_memory(local_rank, device, static_cast<std::size_t>(plan.statistics_end) * sizeof(float)));
    connector.attach(local_rank, device, stream, arenas.back()->as<float>(), plan);
  }
  return arenas;
}

/// Results of local_rank_steps() for every rank. `per_host`: as in FakeNetwork.
std::vector<std::vector<float>> steps_of_all(const std::vector<int>& local_ranks, std::uint64_t seed, int per_host) {
  const plan::Plan plan = small_buckets();
  std::vector<std::vector<float>> seen(at(sum_of(local_ranks)));
  FakeNetwork network(static_cast<int>(local_ranks.size()), seed, per_host);
  in_processes(network, [&](Processes& processes) {
    const RankLayout rank_layout = make_rank_layout(local_ranks, processes.process());
    const auto connector = make_processes(rank_layout, processes);
    const int count = local_ranks[at(processes.process())], first = rank_layout.first_ranks[at(processes.process())];
    ToyDevice device(0);
    device.enter();
    backend::Stream stream;
    const auto arenas = attached(*connector, count, device, stream, plan);
    std::vector<std::thread> threads;
    for (int local_rank = 0; local_rank < count; ++local_rank)
      threads.emplace_back([&, local_rank] {
        seen[at(first + local_rank)] =
            local_rank_steps(*connector, local_rank, first + local_rank, plan, arenas[at(local_rank)]->as<float>());
      });
    for (std::thread& thread : threads) thread.join();
  });
  return seen;
}

/// Through messages, through shared memory, and through both: 4 and 3 processes on hosts of two.
TEST(ProcessConnector, SumsHaveTheSameBitsHoweverReplicasAreSpread) {
  for (const std::vector<std::vector<int>>& layouts : {std::vector<std::vector<int>>{{1, 1}, {2}},
                                                       {{1, 1, 1, 1}, {2, 2}, {4}, {1, 3}, {2, 1, 1}},
                                                       {{3, 3}, {1, 4, 1}, {6}}}) {
    std::vector<float> first;
    std::uint64_t seed = 0;
    for (const std::vector<int>& local_ranks : layouts)
      for (const int per_host : {0, 2, 8}) {
        if (test::kThreadSanitizer && per_host == 8) continue;  // one host, as with 2 in most layouts
        const std::vector<std::vector<float>> seen = steps_of_all(local_ranks, ++seed, per_host);
        if (first.empty()) first = seen.front();
        for (const std::vector<float>& one : seen) {
          ASSERT_EQ(one.size(), first.size());
          EXPECT_EQ(std::memcmp(one.data(), first.data(), first.size() * sizeof(float)), 0);
        }
      }
  }
}

/// A small network whose layers expose differences between replicas.
constexpr const char* kSpreadNet = R"(
layers:
  - Input: {name: image, shape: [5, 6, 2]}
  - Conv2D: {name: conv, filters: 4, kernel_size: 3, kernel_regularizer: {L2: 0.01}}
  - BatchNormalization: {name: bn, momentum: 0.9}
  - ReLU
  - Flatten
  - Dropout: 0.25
  - Dense: {name: logits, units: 3, activation: softmax}
)";

struct SpreadOutcome {
  graph::Model model = model_of(kSpreadNet);
  std::vector<double> losses;
};

SpreadOutcome train_spread(const RankLayout& rank_layout, runtime::Connector& connector) {
  constexpr std::int64_t kSpreadBatch = 7;
  SpreadOutcome outcome;
  const int first = rank_layout.first_ranks[at(rank_layout.process)],
            count = rank_layout.first_ranks[at(rank_layout.process + 1)] - first;
  std::vector<std::unique_ptr<backend::Device>> devices;
  for (int local_rank = 0; local_rank < count; ++local_rank)
    devices.push_back(backend::make_cpu_device(local_rank, 1, {}));
  plan::PlanOptions options = options_for("sparse_categorical_crossentropy", {"accuracy"});
  options.sync_batchnorm = true;
  options.bucket_bytes = options.first_bucket_bytes = 512;
  const plan::Plan plan = plan::make_plan(outcome.model, options, *devices.front());
  runtime::ReplicaSet set(plan, std::move(devices), connector,
                          {.world = World{.process = rank_layout.process,
                                          .processes = rank_layout.processes(),
                                          .first_rank = first,
                                          .ranks = rank_layout.ranks()},
                           .weights = std::vector<double>(at(rank_layout.ranks()), 1.0),
                           .batch_sizes = {kSpreadBatch},
                           .optimizer = value_of(nn::optimizer_family(), "adam"),
                           .seed = 5,
                           .check_every = 1});
  set.set_request_source([&] { return 1U << rank_layout.process; });
  set.push(outcome.model);
  for (std::int64_t number = 0; number < 3; ++number) {
    const SampleBatch batch(kSpreadBatch, 5 * 6 * 2, 3, static_cast<std::uint64_t>(number));
    const runtime::StepSums sums =
        set.step(batch.view(), {.number = number, .learning_rate = 0.01, .global_samples = kSpreadBatch});
    EXPECT_EQ(sums.samples, kSpreadBatch);
    EXPECT_EQ(set.take_control_requests(), (1U << rank_layout.processes()) - 1);
    EXPECT_EQ(set.take_control_requests(), 0U);
    outcome.losses.push_back(sums.loss / static_cast<double>(kSpreadBatch) + sums.penalty);
  }
  set.pull(outcome.model);
  return outcome;
}

TEST(ProcessConnector, TrainsAsOneProcessDoes) {
  const auto local = make_local(4);
  const SpreadOutcome expected = train_spread(make_rank_layout({4}, 0), *local);
  for (const auto& [local_ranks, per_host] : std::vector<std::pair<std::vector<int>, int>>{{{2, 2}, 0},
                                                                                           {{1, 1, 1, 1}, 0},
                                                                                           {{3, 1}, 0},
                                                                                           {{2, 2}, 2},
                                                                                           {{1, 1, 1, 1}, 2},
                                                                                           {{1, 1, 1, 1}, 4},
                                                                                           {{3, 1}, 4}}) {
    FakeNetwork network(static_cast<int>(local_ranks.size()), 3, per_host);
    in_processes(network, [&](Processes& processes) {
      const RankLayout rank_layout = make_rank_layout(local_ranks, processes.process());
      const auto connector = make_processes(rank_layout, processes);
      const SpreadOutcome outcome = train_spread(rank_layout, *connector);
      EXPECT_EQ(outcome.losses, expected.losses);
      for (std::size_t w = 0; w < expected.model.weights.size(); ++w)
        EXPECT_EQ(outcome.model.weights[w].values, expected.model.weights[w].values) << w;
    });
  }
}

/// All processes name the replica whose weights differ.
TEST(ProcessConnector, FindsAReplicaWhoseWeightsDiffer) {
  FakeNetwork network(2);
  in_processes(network, [&](Processes& processes) {
    const RankLayout rank_layout = make_rank_layout({1, 2}, processes.process());
    const auto connector = make_processes(rank_layout, processes);
    graph::Model model = model_of(kSpreadNet);
    std::vector<std::unique_ptr<backend::Device>> devices;
    for (int local_rank = 0; local_rank <= rank_layout.process; ++local_rank)
      devices.push_back(backend::make_cpu_device(local_rank, 1, {}));
    const plan::Plan plan =
        plan::make_plan(model, options_for("sparse_categorical_crossentropy", {}), *devices.front());
    runtime::ReplicaSet set(plan, std::move(devices), *connector,
                            {.world = World{.process = rank_layout.process,
                                            .processes = 2,
                                            .first_rank = rank_layout.first_ranks[at(rank_layout.process)],
                                            .ranks = 3},
                             .weights = {1, 1, 1},
                             .batch_sizes = {6},
                             .optimizer = sgd(),
                             .seed = static_cast<std::uint64_t>(rank_layout.process)});
    if (processes.process() == 1)
      for (graph::Weight& weight : model.weights)
        weight.values.assign(static_cast<std::size_t>(weight.def.shape.elements()), 0.5F);
    set.push(model);
    try {
      set.check_equal(3);
      ADD_FAILURE() << "nothing was found";
    } catch (const Error& error) {
      EXPECT_THAT(error.what(), ::testing::AllOf(::testing::HasSubstr("step 3: the parameters of replica 1"),
                                                 ::testing::HasSubstr("replica 2")));
    }
  });
}

/// A failing replica ends all replicas of all processes with its reason, with any kind of connection.
TEST(ProcessConnector, AFailureEndsAllProcesses) {
  const plan::Plan plan = small_buckets();
  for (const int per_host : {0, 2, 3}) {
    FakeNetwork network(3, 1, per_host);
    std::atomic<int> ended = 0;
    in_processes(network, [&](Processes& processes) {
      const RankLayout rank_layout = make_rank_layout({1, 2, 1}, processes.process());
      const auto connector = make_processes(rank_layout, processes);
      const int count =
          rank_layout.first_ranks[at(rank_layout.process + 1)] - rank_layout.first_ranks[at(rank_layout.process)];
      ToyDevice device(0);
      device.enter();
      backend::Stream stream;
      const auto expect_reason = [](const Error& error) {
        EXPECT_THAT(error.what(), ::testing::HasSubstr("replica 2 (cpu:1): out of memory"));
      };
      std::vector<std::unique_ptr<backend::Buffer>> arenas;
      try {
        arenas = attached(*connector, count, device, stream, plan);
      } catch (const Error& error) {  // process 1 completes the last exchange first, and can fail before the others
        expect_reason(error);
        ended += count;
        EXPECT_TRUE(processes.failure());
        return;
      }
      std::vector<std::thread> threads;
      for (int local_rank = 0; local_rank < count; ++local_rank)
        threads.emplace_back([&, local_rank] {
          if (processes.process() == 1 && local_rank == 1)
            return connector->abort(Error(ErrorKind::kMemory, "replica 2 (cpu:1): out of memory"));
          try {
            local_rank_steps(*connector, local_rank, 0, plan, arenas[at(local_rank)]->as<float>());
          } catch (const Error& error) {
            expect_reason(error);
            ++ended;
          }
        });
      for (std::thread& thread : threads) thread.join();
      for (int local_rank = 0; local_rank < count; ++local_rank) connector->drain(local_rank);
      if (processes.process() != 1) {
        ASSERT_TRUE(processes.failure());
        EXPECT_EQ(processes.failure()->kind(), ErrorKind::kMemory);
      }
    });
    EXPECT_EQ(ended, 3);
  }
}

}  // namespace
}  // namespace dptrain::distributed
