// NCCL across processes, here threads: one communicator for all, on the fake table.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "core/index.h"
#include "distributed/connector.h"
#include "distributed/fake_nccl.h"
#include "distributed/fake_transport.h"
#include "distributed/nccl_connector.h"
#include "runtime/sample_batch.h"

namespace dptrain::distributed {
namespace {

using namespace dptrain::test;  // NOLINT(google-build-using-namespace)
using ::testing::HasSubstr;

constexpr std::int64_t kTogetherRows = 9;
constexpr NcclOptions kTogetherPatient{.deterministic = false, .watchdog_seconds = 300, .first_step_seconds = 300};

/// The replicas of one process on toy devices.
struct TogetherSet {
  TogetherSet(Processes& processes, const std::vector<int>& local_ranks, FakeNccl& nccl,
              const NcclOptions& options = kTogetherPatient, const ToyDevice::Switches& switches = {})
      : model(model_of(kToyModel)),
        plan(toy_plan(model, 128)),
        rank_layout{.process = processes.process(), .first_ranks = {0}} {
    for (const int count : local_ranks) rank_layout.first_ranks.push_back(rank_layout.first_ranks.back() + count);
    std::vector<int> gpus;
    std::vector<std::unique_ptr<backend::Device>> devices;
    const int first = rank_layout.first_ranks[at(rank_layout.process)];
    for (int local_rank = 0; local_rank < local_ranks[at(rank_layout.process)]; ++local_rank) {
      gpus.push_back(local_rank);
      devices.push_back(std::make_unique<ToyDevice>(first + local_rank, switches));
    }
    connector = make_nccl(gpus, options, {rank_layout, processes}, nccl.api());
    set.emplace(plan, std::move(devices), *connector,
                runtime::SetOptions{.world = World{.process = rank_layout.process,
                                                   .processes = rank_layout.processes(),
                                                   .first_rank = first,
                                                   .ranks = rank_layout.ranks()},
                                    .weights = std::vector<double>(at(rank_layout.ranks()), 1.0),
                                    .batch_sizes = {kTogetherRows},
                                    .optimizer = sgd(),
                                    .seed = 5});
    set->push(model);
  }
  runtime::StepSums step(std::int64_t number) {
    const SampleBatch batch(kTogetherRows, 6, 3, static_cast<std::uint64_t>(number));
    return set->step(batch.view(), {.number = number, .learning_rate = 0.05, .global_samples = kTogetherRows});
  }
  graph::Model pulled() {
    graph::Model now = model;
    set->pull(now);
    return now;
  }

  graph::Model model;
  plan::Plan plan;
  RankLayout rank_layout;
  std::unique_ptr<runtime::Connector> connector;
  std::optional<runtime::ReplicaSet> set;
};

graph::Model trained_in_one_process(int replicas, int steps, std::vector<double>& losses) {
  graph::Model model = model_of(kToyModel);
  const plan::Plan plan = toy_plan(model, 128);
  const auto connector = make_local(replicas);
  runtime::ReplicaSet set(plan, toy_devices(replicas), *connector,
                          {.weights = std::vector<double>(at(replicas), 1.0),
                           .batch_sizes = {kTogetherRows},
                           .optimizer = sgd(),
                           .seed = 5});
  set.push(model);
  for (std::int64_t number = 0; number < steps; ++number) {
    const SampleBatch batch(kTogetherRows, 6, 3, static_cast<std::uint64_t>(number));
    losses.push_back(
        set.step(batch.view(), {.number = number, .learning_rate = 0.05, .global_samples = kTogetherRows}).loss);
  }
  set.pull(model);
  return model;
}

TEST(NcclProcesses, TrainsAsOneProcessDoes) {
  std::vector<double> losses;
  const graph::Model expected = trained_in_one_process(3, 4, losses);
  for (const std::vector<int>& local_ranks : {std::vector<int>{1, 2}, {1, 1, 1}}) {
    FakeNccl nccl;
    nccl.polls = 2;
    FakeNetwork network(static_cast<int>(local_ranks.size()));
    in_processes(network, [&](Processes& processes) {
      // Processes join one after the other.
      std::this_thread::sleep_for(std::chrono::milliseconds(30 * processes.process()));
      TogetherSet mine(processes, local_ranks, nccl);
      for (std::size_t number = 0; number < losses.size(); ++number)
        EXPECT_EQ(mine.step(static_cast<std::int64_t>(number)).loss, losses[number]);
      EXPECT_EQ(distance(mine.pulled(), expected), 0);
    });
    EXPECT_EQ(nccl.ids, 2);
    EXPECT_EQ(nccl.used_after_end, 0);
    EXPECT_EQ(nccl.finalized, 2 * 3);
    EXPECT_EQ(nccl.aborted, 0);
  }
}

/// The errors of the processes after a fault in the first or a later step.
std::vector<std::string> errors_of_trouble(FakeNccl& nccl, const NcclOptions& options = kTogetherPatient) {
  std::vector<std::string> errors(2);
  FakeNetwork network(2);
  in_processes(network, [&](Processes& processes) {
    std::string& words = errors[at(processes.process())];
    try {
      TogetherSet mine(processes, {1, 1}, nccl, options);
      for (std::int64_t number = 0;; ++number) mine.step(number);
    } catch (const Error& error) {
      const auto others = processes.failure();
      words = others ? others->what() : error.what();
      if (!others) processes.fail(error);
    }
  });
  EXPECT_EQ(nccl.used_after_end, 0);
  return errors;
}

TEST(NcclProcesses, AnErrorOnOneEndsAllWithItsReason) {
  FakeNccl nccl;
  nccl.trouble = {.rank = 1, .call = 5, .result = 2};
  const std::vector<std::string> errors = errors_of_trouble(nccl);
  EXPECT_THAT(errors[1], HasSubstr("unhandled system error"));
  EXPECT_THAT(errors[0], ::testing::AllOf(HasSubstr("process 1 (node-0): "), HasSubstr("unhandled system error")));
}

TEST(NcclProcesses, AHangingProcessExceedsTheDeadlineOfAll) {
  FakeNccl nccl;
  nccl.trouble = {.rank = 1, .call = 5, .result = nccl::kInProgress};
  const std::vector<std::string> errors =
      errors_of_trouble(nccl, {.deterministic = false, .watchdog_seconds = 1, .first_step_seconds = 1});
  for (const std::string& words : errors) EXPECT_THAT(words, HasSubstr("no progress for 1 s"));
}

TEST(NcclProcesses, AMissingProcessExceedsTheDeadline) {
  FakeNccl nccl;
  nccl.absent = true;
  const std::vector<std::string> errors =
      errors_of_trouble(nccl, {.deterministic = false, .watchdog_seconds = 300, .first_step_seconds = 1});
  for (const std::string& words : errors) EXPECT_THAT(words, HasSubstr("no progress for 1 s"));
}

}  // namespace
}  // namespace dptrain::distributed
