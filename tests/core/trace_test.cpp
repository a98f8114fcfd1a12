#include "core/trace.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <thread>

namespace dptrain::trace {
namespace {

const ThreadEntries* find(const std::vector<ThreadEntries>& all, const std::string& thread) {
  const auto found = std::ranges::find(all, thread, &ThreadEntries::thread);
  return found == all.end() ? nullptr : &*found;
}

TEST(Trace, KeepsOnlySpansBetweenStartAndStop) {
  { const Span before("a", "before"); }
  std::vector<ThreadEntries> all;
  std::thread([&] {
    name_thread("worker");
    auto across = std::make_unique<Span>("a", "began before");
    start();
    across.reset();
    {
      const std::string layer = "conv1";
      const Span outer("a", "forward of layer", &layer);
      const Span inner("b", "bucket", 7);
    }
    auto late = std::make_unique<Span>("a", "ends after stop");
    all = stop();
    late.reset();
  }).join();
  { const Span after("a", "after"); }
  const ThreadEntries* worker = find(all, "worker");
  ASSERT_NE(worker, nullptr);
  ASSERT_EQ(worker->entries.size(), 2U);
  const Entry &inner = worker->entries[0], &outer = worker->entries[1];
  EXPECT_STREQ(inner.what, "bucket");
  EXPECT_EQ(inner.number, 7);
  EXPECT_STREQ(outer.category, "a");
  EXPECT_STREQ(outer.whose, "conv1");
  EXPECT_LE(outer.begin, inner.begin);
  EXPECT_LE(inner.begin, inner.end);
  EXPECT_LE(inner.end, outer.end);
  start();
  EXPECT_TRUE(stop().empty());
}

TEST(Trace, CutsALongName) {
  start();
  {
    const std::string name(200, 'x');
    const Span span("a", "writing", &name);
  }
  const std::vector<ThreadEntries> all = stop();
  ASSERT_EQ(all.size(), 1U);
  EXPECT_EQ(std::string(all[0].entries[0].whose), std::string(sizeof(Entry::whose) - 1, 'x'));
}

TEST(Trace, CountsSpansThatDoNotFit) {
  start();
  for (std::size_t i = 0; i < kMaxSpans + 5; ++i) const Span span("a", "b");
  const std::vector<ThreadEntries> all = stop();
  ASSERT_EQ(all.size(), 1U);
  EXPECT_EQ(all[0].entries.size(), kMaxSpans);
  EXPECT_EQ(all[0].left_out, 5);
}

// Threads that keep running, as a loader's workers do, while traces start and stop; the spans of each are complete and
// in order.
TEST(Trace, ThreadsKeepSpansWhileTracesBeginAndEnd) {
  std::atomic<bool> over = false;
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i)
    threads.emplace_back([&over, i] {
      name_thread("worker " + std::to_string(i));
      for (std::int64_t n = 0; !over; ++n) const Span span("a", "piece", n);
    });
  for (int round = 0; round < 20; ++round) {
    start();
    std::this_thread::yield();
    for (const ThreadEntries& thread : stop())
      for (std::size_t i = 0; i < thread.entries.size(); ++i) {
        EXPECT_STREQ(thread.entries[i].what, "piece");
        if (i == 0) continue;
        EXPECT_EQ(thread.entries[i].number, thread.entries[i - 1].number + 1);
      }
  }
  over = true;
  for (std::thread& thread : threads) thread.join();
}

}  // namespace
}  // namespace dptrain::trace
