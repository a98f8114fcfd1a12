// WorkerGroup: each worker runs each command once, worker 0 optionally on the caller's thread. The first exception is
// rethrown when all workers are done.

#include "runtime/worker_group.h"

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <stdexcept>
#include <thread>
#include <vector>

#include "core/error.h"

namespace dptrain::runtime {
namespace {

class WorkerGroups : public testing::TestWithParam<WorkerGroup::First> {
 protected:
  bool callers_first() const { return GetParam() == WorkerGroup::First::kCaller; }
};

void ignore(int, const std::exception_ptr&) {}

TEST_P(WorkerGroups, RunEachWorkerOnItsOwnThread) {
  WorkerGroup workers(3, GetParam(), ignore);
  std::array<std::thread::id, 3> first, second;
  workers.run([&](int worker) { first[static_cast<std::size_t>(worker)] = std::this_thread::get_id(); });
  workers.run([&](int worker) { second[static_cast<std::size_t>(worker)] = std::this_thread::get_id(); });
  EXPECT_EQ(first, second);
  EXPECT_EQ(first[0] == std::this_thread::get_id(), callers_first());
  EXPECT_NE(first[1], first[2]);
  EXPECT_NE(first[1], std::this_thread::get_id());
}

TEST_P(WorkerGroups, RunWorkersConcurrently) {
  WorkerGroup workers(3, GetParam(), ignore);
  std::atomic<int> there{0};
  for (int round = 1; round <= 200; ++round)
    workers.run([&](int) {
      ++there;
      while (there < 3 * round) std::this_thread::yield();
    });
  EXPECT_EQ(there, 600);
}

TEST_P(WorkerGroups, SleepAndAreWoken) {
  WorkerGroup workers(2, GetParam(), ignore);
  std::atomic<int> done{0};
  const auto count = [&](int worker) {
    if (worker == 1) std::this_thread::sleep_for(std::chrono::milliseconds(2));  // longer than any thread spins
    ++done;
  };
  for (int round = 0; round < 5; ++round) {
    workers.run(count);
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  EXPECT_EQ(done, 10);
}

TEST_P(WorkerGroups, RethrowTheFirstExceptionWhenAllAreDone) {
  for (int failing = 0; failing < 2; ++failing) {
    std::atomic<bool> reported{false};
    WorkerGroup workers(2, GetParam(), [&](int worker, const std::exception_ptr&) { reported = worker == failing; });
    EXPECT_THROW(workers.run([&](int worker) {
      if (worker == failing) throw std::runtime_error("no");
      while (!reported) std::this_thread::yield();  // others see the report while they work
    }),
                 std::runtime_error);
    EXPECT_EQ(workers.failed_worker(), failing);
    int after = 0;
    workers.run([&](int worker) {
      if (worker == 0) ++after;
    });
    EXPECT_EQ(after, 1);
  }
}

TEST_P(WorkerGroups, ReportBusyWorkers) {
  WorkerGroup workers(3, GetParam(), ignore);
  EXPECT_EQ(workers.busy(), std::vector<bool>(3, false));
  std::atomic<bool> seen{false};
  std::thread other([&] {
    while (workers.busy() != std::vector{false, true, false}) std::this_thread::yield();
    seen = true;
  });
  workers.run([&](int worker) {
    while (worker == 1 && !seen) std::this_thread::yield();
  });
  other.join();
  EXPECT_EQ(workers.busy(), std::vector<bool>(3, false));
}

TEST(WorkerGroup, BeginNeedsAThreadForWorkerZero) {
  WorkerGroup workers(2, WorkerGroup::First::kCaller, ignore);
  const WorkerGroup::Command nothing = [](int) {};
  EXPECT_THROW(workers.begin(nothing), Error);
  workers.run(nothing);
}

INSTANTIATE_TEST_SUITE_P(First, WorkerGroups,
                         testing::Values(WorkerGroup::First::kOwnThread, WorkerGroup::First::kCaller),
                         [](const auto& which) {
                           return which.param == WorkerGroup::First::kCaller ? "Caller" : "OwnThread";
                         });

}  // namespace
}  // namespace dptrain::runtime
