// Replicas that record their steps with NCCL: on emulated GPUs, with a substitute whose collectives can be recorded.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <deque>
#include <thread>

#include "backend/emu/emu_runtime.h"
#include "core/error.h"
#include "core/index.h"
#include "distributed/connector.h"
#include "distributed/nccl_connector.h"
#include "distributed/stream_nccl.h"
#include "runtime/small_net.h"
#include "support/error_thrown.h"
#include "support/sanitizer.h"

namespace dptrain::distributed {
namespace {

using namespace dptrain::test;  // NOLINT(google-build-using-namespace)
using backend::Graphs;
using runtime::Replica;
using ::testing::AllOf;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr NcclOptions kUnhurried{.deterministic = false, .watchdog_seconds = 300, .first_step_seconds = 300};

struct RecordedRun {
  int replicas = 2;
  Graphs graphs = Graphs::kAuto;
  std::int64_t batch = 12, last = 8;  ///< rows of the batches, and of step 5
  DType compute = DType::kF32;
  NcclOptions nccl = kUnhurried;
  std::string optimizer = "SGD: {momentum: 0.9}";
  std::vector<double> weights{};  ///< empty: even
  bool on_one_gpu = false;
};

/// Replicas on an emulated GPU each, or all on one.
struct Recorded {
  explicit Recorded(const RecordedRun& run_) : run(run_), model(model_of(kSmallNet)) {
    std::vector<std::unique_ptr<backend::Device>> devices;
    std::vector<int> gpus;
    for (int r = 0; r < run.replicas; ++r) {
      gpus.push_back(r);
      devices.push_back(device_of(fmt::format("emu:{}", run.on_one_gpu ? 0 : r), r, run.compute));
    }
    plan = small_plan(model, *devices.front(), run.compute);
    connector = make_nccl(gpus, run.nccl, nccl.api());
    if (run.weights.empty()) run.weights.assign(gpus.size(), 1.0);
    set.emplace(plan, std::move(devices), *connector,
                runtime::SetOptions{.weights = run.weights,
                                    .batch_sizes = {run.batch, run.last},
                                    .optimizer = value_of(nn::optimizer_family(), run.optimizer),
                                    .seed = 5,
                                    .graphs = run.graphs});
    set->push(model);
  }

  void queue(std::int64_t number) {
    const std::int64_t rows = number == 5 ? run.last : run.batch;
    batches.emplace_back(rows, kSmallNetInput, 3, static_cast<std::uint64_t>(number));
    set->queue_step(batches.back().view(),
                    {.number = number, .learning_rate = 0.05 / double(1 + number), .global_samples = rows});
    std::vector<char> of_ranks(at(run.replicas));
    set->on_each([&](int local_rank, Replica& replica) { of_ranks[at(local_rank)] = replica.replayed() ? 1 : 0; });
    EXPECT_THAT(of_ranks, Each(of_ranks.front())) << "step " << number;
    replayed.push_back(of_ranks.front() != 0);
  }
  void collect() {
    const runtime::StepSums sums = set->collect();
    losses.push_back(sums.loss + sums.penalty);
    batches.pop_front();
  }
  /// Trains from the first step on, with as many steps queued as possible.
  void train(std::int64_t steps) {
    for (std::int64_t number = 0; number < steps; ++number) {
      queue(number);
      if (set->queued() == Replica::kMaxQueued) collect();
    }
    while (set->queued() > 0) collect();
  }
  Error error_of(std::int64_t steps) {
    return error_thrown([&] { train(steps); });
  }
  graph::Model pulled() {
    graph::Model now = model;
    set->pull(now);
    return now;
  }

  RecordedRun run;
  StreamNccl nccl;
  graph::Model model;
  plan::Plan plan;
  std::unique_ptr<runtime::Connector> connector;
  std::deque<SampleBatch> batches;  ///< kept while they are in use
  std::optional<runtime::ReplicaSet> set;
  std::vector<double> losses;
  std::vector<bool> replayed;
};

void expect_kept_rules(const StreamNccl& nccl) {
  EXPECT_EQ(nccl.used_after_end, 0);
  EXPECT_EQ(nccl.recorded_during_collective, 0);
  EXPECT_EQ(nccl.replayed_early, 0);
  EXPECT_EQ(nccl.ended_beside_recordings, 0);
}

void expect_same(Recorded& a, Recorded& b) {
  EXPECT_EQ(a.losses, b.losses);
  EXPECT_EQ(distance(a.pulled(), b.pulled()), 0);
  EXPECT_EQ(a.set->pull_state(), b.set->pull_state());
  a.set->check_equal(0);
}

TEST(RecordedReplicas, GiveTheBitsOfEagerOnes) {
  for (const int replicas : {2, 3})
    for (const bool rounded : {false, true})
      for (std::uint64_t seed = 1; seed <= test::seeds(2); ++seed) {
        if (test::kThreadSanitizer && rounded != (replicas == 2)) continue;  // two of these cases include all threads
        SCOPED_TRACE(fmt::format("{} replicas, sums {}, seed {}", replicas, rounded ? "in bfloat16" : "", seed));
        backend::emu::reseed(seed);
        RecordedRun run{.replicas = replicas, .compute = rounded ? DType::kBf16 : DType::kF32};
        run.nccl.sums_in_bfloat16 = rounded;
        Recorded recorded(run);
        recorded.train(12);
        run.graphs = Graphs::kOff;
        Recorded eager(run);
        eager.train(12);
        EXPECT_THAT(eager.replayed, Each(false));
        // The first three steps load kernels; the sixth batch is short; each HostBuffers has a recording.
        EXPECT_THAT(recorded.replayed,
                    ElementsAre(false, false, false, true, true, false, true, true, true, true, true, true));
        expect_same(recorded, eager);
        EXPECT_GT(distance(recorded.pulled(), recorded.model), 1e-3);
        const int per_step = recorded.nccl.recorded / static_cast<int>(Replica::kHostBuffers);
        EXPECT_GT(per_step, replicas * static_cast<int>(recorded.plan.buckets.size())) << "gathers, too";
        EXPECT_EQ(recorded.nccl.recorded, per_step * static_cast<int>(Replica::kHostBuffers));
        EXPECT_EQ(recorded.nccl.replayed, 8 * per_step);
        EXPECT_EQ(eager.nccl.recorded, 0);
        EXPECT_EQ(eager.nccl.eager, recorded.nccl.eager + 8 * per_step);
        for (Recorded* each : {&recorded, &eager}) {
          each->set.reset();
          expect_kept_rules(each->nccl);
          EXPECT_EQ(each->nccl.finalized, 2 * replicas);
          EXPECT_EQ(each->nccl.destroyed, 2 * replicas);
          EXPECT_EQ(each->nccl.aborted, 0);
        }
      }
}

TEST(RecordedReplicas, ReplayWithFixedUnevenShares) {
  RecordedRun run{.graphs = Graphs::kOn, .batch = 13, .optimizer = "Adam", .weights = {2, 1}};
  Recorded recorded(run);
  recorded.train(8);
  run.graphs = Graphs::kOff;
  Recorded eager(run);
  eager.train(8);
  EXPECT_THAT(recorded.replayed, ElementsAre(false, false, false, true, true, false, true, true));
  expect_same(recorded, eager);
}

// As nccl_gpu_test.cpp places two ranks of the real NCCL.
TEST(RecordedReplicas, OnOneGpuGiveTheBitsOfOneEach) {
  RecordedRun run{.graphs = Graphs::kOn};
  Recorded apart(run);
  apart.train(8);
  run.on_one_gpu = true;
  Recorded together(run);
  together.train(8);
  EXPECT_EQ(together.replayed, apart.replayed);
  EXPECT_GT(together.nccl.replayed, 0);
  expect_same(together, apart);
  together.set.reset();
  expect_kept_rules(together.nccl);
}

TEST(RecordedReplicas, DoNotReplayIfOneHasNoRows) {
  Recorded recorded({.weights = {1, 0}});
  recorded.train(6);
  EXPECT_THAT(recorded.replayed, Each(false));
  EXPECT_EQ(recorded.nccl.recorded, 0);
}

TEST(RecordedReplicas, DoNotReplayIfOneCannotRecord) {
  RecordedRun run{.replicas = 3};
  Recorded eager({.replicas = 3, .graphs = Graphs::kOff});
  eager.train(7);
  Recorded recorded(run);
  recorded.nccl.refuses_recording = 1;
  testing::internal::CaptureStderr();
  recorded.train(7);
  const std::string message = testing::internal::GetCapturedStderr();
  EXPECT_THAT(message, AllOf(HasSubstr("emu:1: a step cannot be recorded (NCCL all-reduce of bucket"),
                             HasSubstr("invalid usage"), HasSubstr("launched one by one, by all replicas")));
  EXPECT_EQ(message.find("cannot be recorded"), message.rfind("cannot be recorded")) << "once";
  EXPECT_THAT(recorded.replayed, Each(false));
  expect_same(recorded, eager);
  EXPECT_EQ(recorded.nccl.replayed, 0);
  recorded.set.reset();
  expect_kept_rules(recorded.nccl);

  run.graphs = Graphs::kOn;
  Recorded requested(run);
  requested.nccl.refuses_recording = 1;
  EXPECT_THAT(requested.error_of(7).what(),
              AllOf(HasSubstr("replica 1 (emu:1), step 3: NCCL all-reduce of bucket"), HasSubstr("invalid usage")));
  requested.set.reset();
  expect_kept_rules(requested.nccl);
  EXPECT_EQ(requested.nccl.aborted, 2 * 3);
}

TEST(RecordedReplicas, HangingReplayExceedsTheDeadline) {
  RecordedRun run;
  run.nccl.watchdog_seconds = test::kThreadSanitizer ? 20 : 2;  // longer than a step on a busy machine
  Recorded recorded(run);
  recorded.nccl.loss = {.rank = 1, .arrival = 15};  // in the middle of a step
  const Error error = recorded.error_of(12);
  EXPECT_EQ(error.kind(), ErrorKind::kDeadline);
  EXPECT_THAT(error.what(), AllOf(HasSubstr("NCCL replay of a recorded step: no progress for "),
                                  HasSubstr("calls so far: replica 0 "), HasSubstr("--resume")));
  recorded.set.reset();
  expect_kept_rules(recorded.nccl);
  EXPECT_EQ(recorded.nccl.aborted, 2 * 2);
}

TEST(RecordedReplicas, AnAbortEndsAReplay) {
  Recorded recorded({.replicas = 3});
  recorded.train(10);  // all recordings exist
  const int made = recorded.nccl.recorded;
  recorded.nccl.loss = {.rank = 2, .arrival = 0};
  for (std::int64_t number = 10; number < 12; ++number) recorded.queue(number);
  EXPECT_TRUE(recorded.replayed.back());
  EXPECT_EQ(recorded.nccl.recorded, made);
  std::thread other([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    recorded.connector->abort(Error(ErrorKind::kData, "a photo is missing"));
  });
  try {
    recorded.collect();
    ADD_FAILURE() << "expected an error";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("step 10: stopped, because of a photo is missing"));
  }
  other.join();
  recorded.set.reset();
  expect_kept_rules(recorded.nccl);
  EXPECT_EQ(recorded.nccl.aborted, 2 * 3);
  EXPECT_EQ(recorded.nccl.finalized, 0);
}

TEST(RecordedReplicas, AnErrorOfNcclInAReplayIsFound) {
  Recorded recorded({});
  recorded.train(10);
  recorded.nccl.loss = {.rank = 0, .arrival = 0};
  recorded.queue(10);
  recorded.nccl.broken = 1;
  try {
    recorded.collect();
    ADD_FAILURE() << "expected an error";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(),
                AllOf(HasSubstr("replica 1 (emu:1), step 10: NCCL "), HasSubstr("remote process exited")));
  }
}

TEST(RecordedReplicas, DestructionAfterAFailureDoesNotHang) {
  Recorded recorded({});
  recorded.train(5);
  recorded.connector->abort(Error(ErrorKind::kData, "elsewhere"));
  recorded.set.reset();
  expect_kept_rules(recorded.nccl);
  EXPECT_EQ(recorded.nccl.aborted, 2 * 2);
}

/// Error of the constructor of a set with `graphs: on`; "" if there is none.
std::string refusal_of(std::unique_ptr<runtime::Connector> connector, const std::vector<int>& gpus,
                       runtime::SetOptions options = {}) {
  const graph::Model model = model_of(kSmallNet);
  std::vector<std::unique_ptr<backend::Device>> devices;
  for (const int gpu : gpus) devices.push_back(device_of(fmt::format("emu:{}", gpu), 0));
  const plan::Plan plan = small_plan(model, *devices.front());
  options.weights.assign(gpus.size(), 1.0);
  options.batch_sizes = {12};
  options.optimizer = sgd();
  options.graphs = Graphs::kOn;
  try {
    const runtime::ReplicaSet set(plan, std::move(devices), *connector, std::move(options));
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kUsage);
    return error.what();
  }
  return "";
}

TEST(RecordedReplicas, ThrowIfStepsCannotBeRecorded) {
  StreamNccl nccl;
  EXPECT_EQ(refusal_of(make_nccl({0, 1}, kUnhurried, nccl.api()), {0, 1}), "");
  const auto otherwise = AllOf(HasSubstr("cuda_graphs: on needs one replica, or one process whose replicas have a GPU"),
                               HasSubstr("that sum otherwise; use auto"));
  EXPECT_THAT(refusal_of(make_local_streams(2), {0, 0}), otherwise);
  EXPECT_THAT(refusal_of(make_shared_gpus({0, 0, 1}, kUnhurried, nccl.api()), {0, 0, 1}), otherwise);
  NcclOptions tree = kUnhurried;
  tree.tree_order = true;
  EXPECT_THAT(refusal_of(make_nccl({0, 1}, tree, nccl.api()), {0, 1}), otherwise);
  EXPECT_THAT(refusal_of(make_nccl({0, 1}, kUnhurried, nccl.api()), {0, 1}, {.accumulate_steps = 2}),
              HasSubstr("found 2 replicas and accumulation; use auto"));
  const auto balance = std::make_shared<runtime::Balance>(runtime::BalanceOptions{.ranks = 2, .batch = 12});
  EXPECT_THAT(refusal_of(make_nccl({0, 1}, kUnhurried, nccl.api()), {0, 1}, {.balance = balance}),
              HasSubstr("cannot be combined with parallel.split: auto"));
}

}  // namespace
}  // namespace dptrain::distributed
