#include "core/threads.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <numeric>
#include <thread>
#include <vector>

namespace dptrain {
namespace {

TEST(Queue, KeepsOrder) {
  Queue<std::unique_ptr<int>> queue(3);
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(queue.push(std::make_unique<int>(i)));
  for (int i = 0; i < 3; ++i) EXPECT_EQ(**queue.pop(), i);
}

TEST(Queue, CloseDrainsAndThenEnds) {
  Queue<int> queue(2);
  queue.push(1);
  queue.push(2);
  queue.close();
  EXPECT_FALSE(queue.push(3));
  EXPECT_EQ(queue.pop(), 1);
  EXPECT_EQ(queue.pop(), 2);
  EXPECT_EQ(queue.pop(), std::nullopt);
  queue.close();
  EXPECT_EQ(queue.pop(), std::nullopt);
}

TEST(Queue, AFullQueueBlocksItsProducer) {
  Queue<int> queue(1);
  std::atomic<int> pushed = 0;
  std::thread producer([&] {
    for (int i = 0; i < 3; ++i) {
      queue.push(i);
      ++pushed;
    }
  });
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  EXPECT_LE(pushed, 1);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(queue.pop(), i);
  producer.join();
  EXPECT_EQ(pushed, 3);
}

TEST(Queue, CloseWakesWaitingThreads) {
  Queue<int> empty(1), full(1);
  full.push(0);
  std::thread consumer([&] { EXPECT_EQ(empty.pop(), std::nullopt); });
  std::thread producer([&] { EXPECT_FALSE(full.push(1)); });
  std::this_thread::sleep_for(std::chrono::milliseconds(5));
  empty.close();
  full.close();
  consumer.join();
  producer.join();
}

TEST(Queue, ManyThreadsLoseNothing) {
  constexpr int kThreads = 3, kEach = 500;
  Queue<int> queue(5);
  std::vector<std::thread> producers, consumers;
  std::vector<std::int64_t> sums(kThreads);
  for (int t = 0; t < kThreads; ++t)
    producers.emplace_back([&, t] {
      for (int i = 0; i < kEach; ++i) queue.push(t * kEach + i);
    });
  for (int t = 0; t < kThreads; ++t)
    consumers.emplace_back([&, t] {
      while (const auto item = queue.pop()) sums[static_cast<std::size_t>(t)] += *item;
    });
  for (std::thread& thread : producers) thread.join();
  queue.close();
  for (std::thread& thread : consumers) thread.join();
  constexpr std::int64_t kCount = kThreads * kEach;
  EXPECT_EQ(std::accumulate(sums.begin(), sums.end(), std::int64_t{0}), kCount * (kCount - 1) / 2);
}

}  // namespace
}  // namespace dptrain
