#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cstring>
#include <thread>

#include "core/error.h"
#include "core/index.h"
#include "core/random.h"
#include "distributed/connector.h"
#include "runtime/toy_device.h"
#include "support/tree_sum.h"

namespace dptrain::distributed {
namespace {

/// Buckets of very different sizes over an arena of 64-float slots.
plan::Plan plan_with_buckets() {
  plan::Plan plan;
  plan.buckets = {{0, 64}, {64, 64 * 40}, {64 * 40, 64 * 41}, {64 * 41, 64 * 300}};
  plan.statistics_end = plan.buckets.back().end;
  return plan;
}

/// Threads in the role of the replicas.
class Ranks {
 public:
  Ranks(int ranks, const plan::Plan& plan) : plan_(plan), connector(make_local(ranks)), arenas(at(ranks)) {
    for (int rank = 0; rank < ranks; ++rank) {
      arenas[at(rank)].resize(static_cast<std::size_t>(plan.statistics_end));
      connector->attach(rank, device_, stream_, arenas[at(rank)].data(), plan);
    }
  }

  template <class F>
  void on_each(const F& f) {
    std::vector<std::thread> threads;
    for (int rank = 0; rank < static_cast<int>(arenas.size()); ++rank) threads.emplace_back([&f, rank] { f(rank); });
    for (std::thread& thread : threads) thread.join();
  }

  /// Gradients of a rank's backward, as a function of rank and step.
  static float gradient(int rank, std::int64_t step, std::int64_t i) {
    return std::ldexp(static_cast<float>((i * 7919 + step * 104729 + rank * 31) % 1009 - 500), rank % 5 - 2) / 3.0F;
  }

  void step(int rank, std::int64_t step, bool dawdle) {
    runtime::GradientSink& sink = connector->sink(rank);
    backend::Stream stream;
    RandomStream random(11, 1, static_cast<std::uint64_t>(step), static_cast<std::uint32_t>(rank));
    sink.begin(step, false);
    for (int k = 0; k < static_cast<int>(plan_.buckets.size()); ++k) {
      for (std::int64_t i = plan_.buckets[at(k)].begin; i < plan_.buckets[at(k)].end; ++i)
        arenas[at(rank)][static_cast<std::size_t>(i)] = gradient(rank, step, i);
      if (dawdle) std::this_thread::sleep_for(std::chrono::microseconds(random.below(300)));
      sink.bucket_ready(k, stream);
    }
    sink.finish(stream);
  }

 private:
  const plan::Plan& plan_;
  test::ToyDevice device_{0};
  backend::Stream stream_;

 public:
  std::unique_ptr<runtime::Connector> connector;
  std::vector<std::vector<float>> arenas;
};

class Local : public ::testing::TestWithParam<int> {};

TEST_P(Local, SumsInTreeOrderWhateverTheTiming) {
  const int ranks = GetParam();
  const plan::Plan plan = plan_with_buckets();
  Ranks all(ranks, plan);
  constexpr std::int64_t kRounds = 12;
  std::vector<std::int64_t> wrong(at(ranks));
  all.on_each([&](int rank) {
    for (std::int64_t step = 0; step < kRounds; ++step) {
      all.step(rank, step, step % 2 == 1);
      for (std::int64_t i = 0; i < plan.statistics_end; ++i) {
        const float sum = test::tree_sum(0, ranks, [&](int r) { return Ranks::gradient(r, step, i); });
        if (std::memcmp(&sum, &all.arenas[at(rank)][static_cast<std::size_t>(i)], sizeof sum) != 0) ++wrong[at(rank)];
      }
    }
  });
  EXPECT_THAT(wrong, ::testing::Each(0));
}

TEST_P(Local, GathersInRankOrder) {
  const int ranks = GetParam();
  const plan::Plan plan = plan_with_buckets();
  Ranks all(ranks, plan);
  std::vector<int> wrong(at(ranks));
  all.on_each([&](int rank) {
    backend::Collective& collective = *all.connector->collective(rank);
    backend::Stream stream;
    EXPECT_EQ(collective.rank(), rank);
    EXPECT_EQ(collective.size(), ranks);
    for (int round = 0; round < 200; ++round) {
      const std::size_t count = at(1 + round % 3 * 5);
      const std::vector<float> mine(count, static_cast<float>(100 * round + rank));
      std::vector<float> gathered(count * at(ranks), -1);
      collective.all_gather(mine.data(), static_cast<std::int64_t>(count * sizeof(float)), gathered.data(), stream);
      for (std::size_t i = 0; i < gathered.size(); ++i)
        wrong[at(rank)] += gathered[i] == static_cast<float>(100 * round + static_cast<int>(i / count)) ? 0 : 1;
    }
  });
  EXPECT_THAT(wrong, ::testing::Each(0));
}

class LocalWaiting : public ::testing::TestWithParam<int> {};

TEST_P(LocalWaiting, EndsWithAnAbort) {
  const int ranks = GetParam();
  const plan::Plan plan = plan_with_buckets();
  Ranks all(ranks, plan);
  std::vector<std::string> messages(at(ranks));
  all.on_each([&](int rank) {
    if (rank == ranks - 1) {  // never arrives
      std::this_thread::sleep_for(std::chrono::milliseconds(30));
      all.connector->abort(Error(ErrorKind::kDevice, "replica 9 (toy:9): broken"));
      all.connector->abort(Error(ErrorKind::kDevice, "a later reason"));
    }
    try {
      // Half of the others wait for sums, the other half in a gather.
      if (rank % 2 == 0 || rank == ranks - 1) all.step(rank, 0, false);
      float mine = 0;
      std::vector<float> gathered(at(ranks));
      backend::Stream stream;
      all.connector->collective(rank)->all_gather(&mine, sizeof mine, gathered.data(), stream);
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::kDevice);
      messages[at(rank)] = error.what();
    }
  });
  EXPECT_THAT(messages, ::testing::Each("stopped, because of replica 9 (toy:9): broken"));
}

INSTANTIATE_TEST_SUITE_P(Ranks, Local, ::testing::Values(1, 2, 3, 7));
INSTANTIATE_TEST_SUITE_P(Ranks, LocalWaiting, ::testing::Values(2, 3, 7));  // one rank never waits

TEST(LocalSink, RefusesBucketsOutOfOrderTwiceOrMissing) {
  const plan::Plan plan = plan_with_buckets();
  Ranks one(1, plan);
  runtime::GradientSink& sink = one.connector->sink(0);
  backend::Stream stream;
  sink.begin(0, false);
  EXPECT_THROW(sink.bucket_ready(1, stream), Error);
  sink.bucket_ready(0, stream);
  EXPECT_THROW(sink.bucket_ready(0, stream), Error);
  EXPECT_THROW(sink.finish(stream), Error);
}

}  // namespace
}  // namespace dptrain::distributed
