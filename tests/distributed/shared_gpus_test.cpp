// Replicas of which some share a GPU: with the fake NCCL, on toy devices and on streams in random order.

#include "distributed/nccl_connector.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <numeric>
#include <thread>

#include "backend/emu/emu_runtime.h"
#include "core/error.h"
#include "core/index.h"
#include "distributed/connector.h"
#include "distributed/fake_nccl.h"
#include "distributed/stream_rank.h"
#include "runtime/sample_batch.h"
#include "support/sanitizer.h"

namespace dptrain::distributed {
namespace {

using namespace dptrain::test;  // NOLINT(google-build-using-namespace)

constexpr NcclOptions kSharedOptions{.deterministic = false, .watchdog_seconds = 300, .first_step_seconds = 300};

/// Weights after some steps of replicas with uneven shares.
graph::Model trained_shared(const graph::Model& model, const plan::Plan& plan, runtime::Connector& connector,
                            int replicas) {
  constexpr std::int64_t kRows = 11;
  std::vector<double> weights(at(replicas));
  std::iota(weights.begin(), weights.end(), 1.0);
  runtime::ReplicaSet set(
      plan, toy_devices(replicas), connector,
      {.weights = weights, .batch_sizes = {kRows}, .optimizer = sgd(), .seed = 5, .check_every = 1});
  set.push(model);
  for (std::int64_t number = 0; number < 4; ++number) {
    const SampleBatch batch(kRows, 6, 3, static_cast<std::uint64_t>(number));
    set.step(batch.view(), {.number = number, .learning_rate = 0.05, .global_samples = kRows});
  }
  graph::Model now = model;
  set.pull(now);
  return now;
}

TEST(SharedGpus, TrainAsReplicasOfOneMemoryDo) {
  const graph::Model model = model_of(kToyModel);
  const plan::Plan plan = toy_plan(model, 128);
  for (const std::vector<int>& gpus :
       std::vector<std::vector<int>>{{0, 0, 1}, {0, 1, 0}, {1, 0, 0}, {0, 0, 1, 1}, {3, 3, 3, 7}, {0, 1, 2, 1, 0}}) {
    const int replicas = static_cast<int>(gpus.size());
    FakeNccl nccl;
    nccl.polls = 1;
    const auto connector = make_shared_gpus(gpus, kSharedOptions, nccl.api());
    const graph::Model found = trained_shared(model, plan, *connector, replicas);
    const auto local = make_local(replicas);
    EXPECT_LT(distance(found, trained_shared(model, plan, *local, replicas)), 1e-6) << ::testing::PrintToString(gpus);
    EXPECT_GT(distance(found, model), 1e-2);
    std::vector<int> distinct = gpus;
    std::ranges::sort(distinct);
    distinct.erase(std::ranges::unique(distinct).begin(), distinct.end());
    EXPECT_EQ(nccl.sums.size(), distinct.size()) << "a rank for each GPU";
    EXPECT_EQ(nccl.finalized, 2 * static_cast<int>(distinct.size()));
    EXPECT_EQ(nccl.used_after_end, 0);
    EXPECT_EQ(nccl.aborted, 0);
  }
}

plan::Plan plan_of_shared() {
  plan::Plan plan;
  plan.buckets = {{0, 64}, {64, 64 * 5}, {64 * 5, 64 * 6}};
  plan.trainable_end = plan.statistics_end = plan.buckets.back().end;
  return plan;
}

/// A whole number, so that sums are exact in any order, also in bfloat16.
float shared_gradient(int local_rank, std::int64_t step, std::int64_t i) {
  return static_cast<float>((i * 7919 + step * 104729 + local_rank * 31) % 41 - 20);
}

/// Runs `work` with the connector on a thread per rank. The fake NCCL computes on the caller's thread, after the work
/// queued on the rank's stream. Sums are in bfloat16, so that the stream writes their results.
template <class Work>
void on_shared_gpus(const std::vector<int>& gpus, Forget forget, const Work& work) {
  const plan::Plan plan = plan_of_shared();
  FakeNccl nccl;
  nccl::Api api = nccl.api();
  const auto runtime = backend::emu::make_emu_runtime(0);
  api.all_reduce = [&, call = api.all_reduce](const void* in, void* out, std::size_t n, int type, int operation,
                                              nccl::Handle handle, void* stream) {
    return runtime->synchronize(stream), call(in, out, n, type, operation, handle, stream);
  };
  api.all_gather = [&, call = api.all_gather](const void* in, void* out, std::size_t n, int type, nccl::Handle handle,
                                              void* stream) {
    return runtime->synchronize(stream), call(in, out, n, type, handle, stream);
  };
  NcclOptions options = kSharedOptions;
  options.sums_in_bfloat16 = true;
  const auto connector = make_shared_gpus(gpus, options, api);
  on_stream_ranks(gpus, forget, *connector, plan, shared_gradient, [&](StreamRank& mine) { work(mine, *connector); });
}

/// Number of wrong floats in alternating gathers and sums.
std::int64_t wrong_of_shared(const std::vector<int>& gpus, std::uint64_t seed, Forget forget) {
  backend::emu::reseed(seed);
  const int local_ranks = static_cast<int>(gpus.size());
  std::vector<std::int64_t> wrong(gpus.size());
  on_shared_gpus(gpus, forget, [&](StreamRank& mine, runtime::Connector& connector) {
    backend::Collective& collective = *connector.collective(mine.rank);
    EXPECT_EQ(collective.rank(), mine.rank);
    EXPECT_EQ(collective.size(), local_ranks);
    constexpr std::size_t kMax = 16;
    const auto given = mine.device.allocate(kMax * sizeof(float));
    const auto gathered = mine.device.allocate(2 * kMax * gpus.size() * sizeof(float));
    const auto end = static_cast<std::size_t>(mine.plan.statistics_end);
    const auto kept = mine.device.allocate(3 * end * sizeof(float));
    std::size_t count = 0;
    const auto place = [&](int which) { return gathered->as<float>() + at(which) * kMax * gpus.size(); };
    for (std::int64_t step = 0; step < 6; ++step) {
      // Two gathers, then three steps. Only the last step is awaited, so the device may lag.
      if (step % 3 == 0) {
        count = step == 0 ? 3 : kMax;
        for (int which = 0; which < 2; ++which) {
          const std::vector<float> values(count, static_cast<float>(100 * (step + which) + mine.rank));
          mine.device.copy_to_device(given->data(), values.data(), count * sizeof(float), *mine.stream);
          collective.all_gather(given->data(), static_cast<std::int64_t>(count * sizeof(float)), place(which),
                                *mine.stream);
        }
      }
      mine.queue_step(step, step == 0);
      mine.device.copy(kept->as<float>() + at(static_cast<int>(step % 3)) * end, mine.arena->data(),
                       end * sizeof(float), *mine.stream);
      if (step % 3 < 2) continue;
      std::vector<float> sums(3 * end), others(count * gpus.size());
      mine.device.copy_to_host(sums.data(), kept->data(), sums.size() * sizeof(float), *mine.stream);
      for (std::size_t i = 0; i < sums.size(); ++i) {
        const std::int64_t of_step = step - 2 + static_cast<std::int64_t>(i / end);
        float sum = 0;
        for (int local_rank = 0; local_rank < local_ranks; ++local_rank)
          sum += shared_gradient(local_rank, of_step, static_cast<std::int64_t>(i % end));
        wrong[at(mine.rank)] += sums[i] == sum ? 0 : 1;
      }
      for (int which = 0; which < 2; ++which) {
        mine.device.copy_to_host(others.data(), place(which), others.size() * sizeof(float), *mine.stream);
        for (std::size_t i = 0; i < others.size(); ++i) {
          const auto gave = static_cast<float>(100 * (step / 3 * 3 + which) + static_cast<int>(i / count));
          wrong[at(mine.rank)] += others[i] == gave ? 0 : 1;
        }
      }
    }
  });
  return std::accumulate(wrong.begin(), wrong.end(), std::int64_t{0});
}

TEST(SharedGpus, SumAndGatherWhateverTheTiming) {
  for (const std::vector<int>& gpus :
       std::vector<std::vector<int>>{{0, 0, 1}, {0, 1, 0}, {1, 0, 0, 1}, {0, 0, 0, 2, 1}})
    for (std::uint64_t seed = 1; seed <= 4; ++seed)
      EXPECT_EQ(wrong_of_shared(gpus, seed, Forget::kNothing), 0)
          << ::testing::PrintToString(gpus) << ", seed " << seed;
}

TEST(SharedGpus, AMissingWaitIsDetected) {
  if (dptrain::test::kThreadSanitizer) GTEST_SKIP() << "the forgotten wait is a data race";
  std::int64_t wrong = 0;
  for (std::uint64_t seed = 1; seed <= 8; ++seed) wrong += wrong_of_shared({0, 0, 1}, seed, Forget::kOnComputeStreams);
  EXPECT_GT(wrong, 0);
}

TEST(SharedGpus, WaitingEndsWithAnAbort) {
  const std::vector<int> gpus{0, 0, 1, 1};
  for (const int absent : {0, 1, 3}) {
    std::vector<std::string> messages(gpus.size());
    on_shared_gpus(gpus, Forget::kNothing, [&](StreamRank& mine, runtime::Connector& connector) {
      if (mine.rank == absent) {
        std::this_thread::sleep_for(std::chrono::milliseconds(20));
        return connector.abort(Error(ErrorKind::kDevice, "replica 9 (gpu:9): broken"));
      }
      try {
        mine.queue_step(0, true);
      } catch (const Error& error) {
        messages[at(mine.rank)] = error.what();
      }
    });
    messages.erase(messages.begin() + absent);
    EXPECT_THAT(messages, ::testing::Each(::testing::HasSubstr("because of replica 9 (gpu:9): broken"))) << absent;
  }
}

}  // namespace
}  // namespace dptrain::distributed
