#include "core/threads.h"

#include <gtest/gtest.h>

#include <atomic>
#include <barrier>
#include <chrono>
#include <optional>
#include <set>
#include <stdexcept>

namespace dptrain::test {
namespace {

TEST(TaskPool, ReturnsResultsAndExceptions) {
  TaskPool pool(3);
  std::vector<std::future<int>> results;
  for (int i = 0; i < 100; ++i)
    results.push_back(pool.send([i] {
      if (i == 57) throw std::runtime_error("not 57");
      return i * i;
    }));
  for (int i = 0; i < 100; ++i) {
    auto& result = results[static_cast<std::size_t>(i)];
    if (i == 57)
      EXPECT_THROW(result.get(), std::runtime_error);
    else
      EXPECT_EQ(result.get(), i * i);
  }
}

// Four tasks that wait for each other need four threads; nine more reuse these threads.
TEST(TaskPool, RunsUpToItsLimitAtOnce) {
  TaskPool pool(4);
  std::barrier together(4);
  std::mutex mutex;
  std::set<std::thread::id> threads;
  std::vector<std::future<void>> results;
  for (int i = 0; i < 4; ++i) results.push_back(pool.send([&] { together.arrive_and_wait(); }));
  for (int i = 0; i < 9; ++i)
    results.push_back(pool.send([&] {
      const std::lock_guard lock(mutex);
      threads.insert(std::this_thread::get_id());
    }));
  for (auto& result : results) result.get();
  EXPECT_LE(threads.size(), 4U);
}

TEST(TaskPool, OneThreadKeepsTheOrder) {
  std::vector<int> order;
  {
    TaskPool pool(1);
    std::vector<std::future<void>> results;
    for (int i = 0; i < 20; ++i) results.push_back(pool.send([&order, i] { order.push_back(i); }));
    for (auto& result : results) result.get();
  }
  for (int i = 0; i < 20; ++i) EXPECT_EQ(order[static_cast<std::size_t>(i)], i);
}

TEST(TaskPool, DropsQueuedTasksAtTheEnd) {
  std::promise<void> begun, may_end;
  std::atomic<bool> ended = false;
  std::future<void> running, waiting;
  std::optional<TaskPool> pool(std::in_place, 1);
  running = pool->send([&] {
    begun.set_value();
    may_end.get_future().wait();
    ended = true;
  });
  waiting = pool->send([] {});
  begun.get_future().wait();
  std::thread end([&] { pool.reset(); });
  EXPECT_THROW(waiting.get(), std::future_error);
  may_end.set_value();
  end.join();
  EXPECT_TRUE(ended);
  running.get();
}

}  // namespace
}  // namespace dptrain::test
