// Sums and gathers on the emulator's streams, in random order.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>
#include <thread>

#include "backend/emu/emu_runtime.h"
#include "core/error.h"
#include "core/index.h"
#include "core/random.h"
#include "distributed/connector.h"
#include "distributed/stream_rank.h"
#include "support/sanitizer.h"
#include "support/tree_sum.h"

namespace dptrain::distributed {
namespace {

using test::Forget;
using test::StreamRank;

/// Buckets of very different sizes, one of them smaller than the number of ranks.
plan::Plan plan_for_streams() {
  plan::Plan plan;
  plan.buckets = {{0, 64}, {64, 64 * 12}, {64 * 12, 64 * 13}, {64 * 13, 64 * 30}};
  plan.statistics_end = plan.buckets.back().end;
  return plan;
}

/// Gradients of a rank's backward, as a function of rank and step.
float gradient(int rank, std::int64_t step, std::int64_t i) {
  return std::ldexp(static_cast<float>((i * 7919 + step * 104729 + rank * 31) % 1009 - 500), rank % 5 - 2) / 3.0F;
}

/// Runs `work` with the connector on a thread per rank.
template <class Work>
void on_ranks(int ranks, int devices, Forget forget, const Work& work) {
  const plan::Plan plan = plan_for_streams();
  const auto connector = make_local_streams(ranks);
  std::vector<int> ids;
  for (int rank = 0; rank < ranks; ++rank) ids.push_back(rank % devices);
  test::on_stream_ranks(ids, forget, *connector, plan, gradient, [&](StreamRank& mine) { work(mine, *connector); });
}

/// Number of floats, over all ranks and steps, that differ from the sums in tree order.
std::int64_t wrong_sums(int ranks, int devices, std::uint64_t seed, Forget forget) {
  backend::emu::reseed(seed);
  std::vector<std::int64_t> wrong(at(ranks));
  on_ranks(ranks, devices, forget, [&](StreamRank& mine, runtime::Connector&) {
    for (std::int64_t step = 0; step < 4; ++step) {
      // Only every second step is awaited, so the device may lag by several steps.
      mine.queue_step(step);
      if (step % 2 == 0) continue;
      const std::vector<float> found = mine.pull();
      for (std::int64_t i = 0; i < mine.plan.statistics_end; ++i) {
        const float sum = test::tree_sum(0, ranks, [&](int r) { return gradient(r, step, i); });
        if (std::memcmp(&sum, &found[static_cast<std::size_t>(i)], sizeof sum) != 0) ++wrong[at(mine.rank)];
      }
    }
  });
  return std::accumulate(wrong.begin(), wrong.end(), std::int64_t{0});
}

TEST(LocalStreams, SumInTreeOrderWhateverTheTiming) {
  for (const auto& [ranks, devices] : {std::pair{1, 1}, {2, 1}, {2, 2}, {3, 1}, {5, 2}})
    for (std::uint64_t seed = 1; seed <= 4; ++seed)
      EXPECT_EQ(wrong_sums(ranks, devices, seed, Forget::kNothing), 0)
          << ranks << " ranks on " << devices << " devices, seed " << seed;
}

/// Number of floats, over many gathers, that differ from the rank's input.
std::int64_t wrong_gathers(int ranks, int devices, std::uint64_t seed, Forget forget) {
  backend::emu::reseed(seed);
  constexpr int kRounds = 10, kMax = 11;
  std::vector<std::int64_t> wrong(at(ranks));
  on_ranks(ranks, devices, forget, [&](StreamRank& mine, runtime::Connector& connector) {
    backend::Collective& collective = *connector.collective(mine.rank);
    EXPECT_EQ(collective.rank(), mine.rank);
    EXPECT_EQ(collective.size(), ranks);
    const auto given = mine.device.allocate(kMax * sizeof(float));
    const auto gathered = mine.device.allocate(kRounds * kMax * at(ranks) * sizeof(float));
    const auto place = [&](int round) { return gathered->as<float>() + round * kMax * ranks; };
    const auto count_of = [](int round) { return at(1 + round % 3 * 5); };
    for (int round = 0; round < kRounds; ++round) {
      // The same memory in every round, overwritten as soon as the gather lets the stream continue.
      const std::vector<float> values(count_of(round), static_cast<float>(100 * round + mine.rank));
      mine.device.copy_to_device(given->data(), values.data(), values.size() * sizeof(float), *mine.stream);
      collective.all_gather(given->data(), static_cast<std::int64_t>(values.size() * sizeof(float)), place(round),
                            *mine.stream);
    }
    for (int round = 0; round < kRounds; ++round) {
      const std::size_t count = count_of(round);
      std::vector<float> found(count * at(ranks));
      mine.device.copy_to_host(found.data(), place(round), found.size() * sizeof(float), *mine.stream);
      for (std::size_t i = 0; i < found.size(); ++i)
        wrong[at(mine.rank)] += found[i] == static_cast<float>(100 * round + static_cast<int>(i / count)) ? 0 : 1;
    }
  });
  return std::accumulate(wrong.begin(), wrong.end(), std::int64_t{0});
}

TEST(LocalStreams, GatherInRankOrder) {
  for (const auto& [ranks, devices] : {std::pair{1, 1}, {2, 2}, {3, 1}})
    for (std::uint64_t seed = 1; seed <= 4; ++seed)
      EXPECT_EQ(wrong_gathers(ranks, devices, seed, Forget::kNothing), 0)
          << ranks << " ranks on " << devices << " devices, seed " << seed;
}

TEST(LocalStreams, AMissingWaitIsDetected) {
  if (dptrain::test::kThreadSanitizer) GTEST_SKIP() << "the forgotten wait is a data race";
  for (const Forget forget : {Forget::kOnCommunicationStreams, Forget::kOnComputeStreams}) {
    std::int64_t wrong = 0;
    for (std::uint64_t seed = 1; seed <= 12; ++seed) wrong += wrong_sums(3, 1, seed, forget);
    EXPECT_GT(wrong, 0) << static_cast<int>(forget);
  }
  std::int64_t wrong = 0;
  for (std::uint64_t seed = 1; seed <= 12; ++seed) wrong += wrong_gathers(3, 1, seed, Forget::kOnComputeStreams);
  EXPECT_GT(wrong, 0);
}

TEST(LocalStreams, WaitingEndsWithAnAbort) {
  constexpr int kRanks = 3;
  std::vector<std::string> messages(at(kRanks));
  on_ranks(kRanks, 1, Forget::kNothing, [&](StreamRank& mine, runtime::Connector& connector) {
    if (mine.rank == kRanks - 1) {  // never arrives
      std::this_thread::sleep_for(std::chrono::milliseconds(30));
      connector.abort(Error(ErrorKind::kDevice, "replica 9 (emu:9): broken"));
      connector.abort(Error(ErrorKind::kDevice, "a later reason"));
    }
    try {
      if (mine.rank % 2 == 0) mine.queue_step(0);
      connector.collective(mine.rank)->all_gather(mine.arena->data(), sizeof(float), mine.arena->as<float>() + 64,
                                                  *mine.stream);
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::kDevice);
      messages[at(mine.rank)] = error.what();
    }
  });
  EXPECT_THAT(messages, ::testing::Each("stopped, because of replica 9 (emu:9): broken"));
}

TEST(LocalStreams, RefuseBucketsOutOfOrderTwiceOrMissing) {
  on_ranks(1, 1, Forget::kNothing, [&](StreamRank& mine, runtime::Connector& connector) {
    runtime::GradientSink& sink = connector.sink(0);
    sink.begin(0, false);
    EXPECT_THROW(sink.bucket_ready(1, *mine.stream), Error);
    sink.bucket_ready(0, *mine.stream);
    EXPECT_THROW(sink.bucket_ready(0, *mine.stream), Error);
    EXPECT_THROW(sink.finish(*mine.stream), Error);
  });
}

}  // namespace
}  // namespace dptrain::distributed
