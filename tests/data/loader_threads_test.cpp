// The loader's workers and the memory of its batches: prefetching, holding, dropping rows, waiting.

#include <gmock/gmock.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <deque>
#include <map>
#include <mutex>
#include <set>
#include <thread>
#include <vector>

#include "core/clock.h"
#include "data/loader_batches.h"

namespace dptrain::data {
namespace {

using nn::LabelKind;
using ::testing::AllOf;
using ::testing::Each;
using ::testing::SizeIs;

/// Counts the samples read.
class CountingSource : public VectorSource {
 public:
  using VectorSource::VectorSource;
  void read(std::int64_t index, int input, Array& out, const ReadHint& hint) const override {
    ++reads;
    VectorSource::read(index, input, out, hint);
  }
  mutable std::atomic<int> reads{0};
};

TEST(LoaderThreads, PrefetchCrossesTheEpochAndStopsThere) {
  const auto source = std::make_shared<CountingSource>(6, Shape{2, 3, 1});
  source->contiguous = false;
  source->classes.assign(6, 0);
  Loader loader(source, {}, kLoaderModel, kLoaderClasses, loader_options(3, 1, 2));
  for (int b = 0; b < 2; ++b) EXPECT_EQ(loader.next().rows(), 3);
  // Epoch 0 is delivered. Without another call, exactly two batches of epoch 1 are made.
  for (int tries = 0; tries < 20000 && source->reads < 12; ++tries)
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  EXPECT_EQ(source->reads, 12);
  EXPECT_EQ(loader.next().rows(), 0);
  loader.next_epoch();
  EXPECT_EQ(loader.next().epoch(), 1);
}

TEST(LoaderThreads, BatchesMayBeHeldAndOutliveTheLoader) {
  std::vector<Batch> held;
  std::vector<Copy> copies;
  {
    Loader loader(numbered_source(40), {}, kLoaderModel, kLoaderClasses, loader_options(4, 2, 1));
    for (Batch batch = loader.next(); batch.rows() > 0; batch = loader.next()) {
      copies.push_back(copy(batch));
      held.push_back(std::move(batch));
    }
  }
  ASSERT_EQ(held.size(), 10U);
  for (std::size_t b = 0; b < held.size(); ++b) EXPECT_EQ(copy(held[b]), copies[b]);
  std::set<const float*> memory;
  for (const Batch& batch : held) memory.insert(batch.input(0));
  EXPECT_EQ(memory.size(), 10U);
}

TEST(LoaderThreads, ReusesBatchBuffers) {
  Loader loader(numbered_source(400), {}, kLoaderModel, kLoaderClasses, loader_options(4, 1, 2));
  std::set<const float*> memory;
  for (Batch batch = loader.next(); batch.rows() > 0; batch = loader.next()) memory.insert(batch.input(0));
  EXPECT_LE(memory.size(), 5U);  // two prefetched, one in progress, two held by the loop
  const auto aligned = [](const float* p) { return reinterpret_cast<std::uintptr_t>(p) % 64 == 0; };
  EXPECT_TRUE(std::all_of(memory.begin(), memory.end(), aligned));
}

TEST(LoaderThreads, UsesTheGivenMemory) {
  std::mutex mutex;
  std::map<const std::byte*, std::size_t> alive;
  LoaderOptions o = loader_options(4, 2, 2);
  o.allocate = [&](std::size_t bytes) -> std::shared_ptr<void> {
    auto* memory = new std::byte[bytes];
    const std::lock_guard lock(mutex);
    alive[memory] = bytes;
    return {memory, [&](std::byte* p) {
              const std::lock_guard freeing(mutex);
              alive.erase(p);
              delete[] p;
            }};
  };
  const auto inside = [&](const void* p, std::size_t bytes) {
    const std::lock_guard lock(mutex);
    const auto found = alive.find(static_cast<const std::byte*>(p));
    return found != alive.end() && found->second >= bytes;
  };
  for (const LabelKind kind : {LabelKind::kClass, LabelKind::kDense}) {
    Batch held;
    {
      Loader loader(numbered_source(21), {}, kLoaderModel, {{.kind = kind, .width = 4}}, o);
      for (Batch batch = loader.next(); batch.rows() > 0; batch = loader.next()) {
        EXPECT_TRUE(inside(batch.input(0), 4 * 6 * sizeof(float)));
        EXPECT_TRUE(inside(batch.labels(), 4 * (kind == LabelKind::kClass ? sizeof(std::int32_t) : 4 * sizeof(float))));
        held = std::move(batch);
      }
    }
    EXPECT_EQ(alive.size(), 2U);  // of the held batch
  }
  EXPECT_TRUE(alive.empty());
}

TEST(LoaderThreads, AllocatesTheGivenMemoryBeforeTheyStart) {
  std::mutex mutex;
  std::vector<std::thread::id> allocating;
  std::atomic<int> freed = 0;
  LoaderOptions o = loader_options(4, 3, 2);
  o.held = 3;
  // The short batch and the one at the end of a resumed epoch have more rows here than a full one.
  o.share = [](std::int64_t positions, std::int64_t) { return RowRange{0, positions == 4 ? 1 : positions}; };
  o.allocate = [&](std::size_t bytes) {
    const std::lock_guard lock(mutex);
    allocating.push_back(std::this_thread::get_id());
    return std::shared_ptr<void>(new std::byte[bytes], [&](void* p) { ++freed, delete[] static_cast<std::byte*>(p); });
  };
  {
    Loader loader(numbered_source(42), {}, kLoaderModel, kLoaderClasses, o);
    EXPECT_TRUE(allocating.empty());
    loader.seek(1, 3);
    std::deque<Batch> held;
    for (int epoch = 1; epoch < 4; ++epoch) {
      for (Batch batch = loader.next(); batch.rows() > 0; batch = loader.next()) {
        held.push_back(std::move(batch));
        if (held.size() == 3) {
          std::this_thread::sleep_for(std::chrono::milliseconds(1));  // the workers make all that they can
          held.pop_front();
        }
      }
      loader.next_epoch();
    }
    loader.seek(7, 8);
    EXPECT_EQ(loader.next().rows(), 4);
    const std::lock_guard lock(mutex);
    EXPECT_THAT(allocating, AllOf(SizeIs((2 + 3) * 2), Each(std::this_thread::get_id()))) << "inputs and labels";
    EXPECT_EQ(freed, 0);
  }
  EXPECT_EQ(freed, (2 + 3) * 2);
}

TEST(LoaderThreads, ReturnsAWorkersErrorWithItsBatch) {
  const auto source = numbered_source(40, false);
  source->broken = Loader::order(40, {}, 11, 0)[9];
  Loader loader(source, {}, kLoaderModel, kLoaderClasses, loader_options(4, 3));
  EXPECT_EQ(loader.next().first(), 0);
  EXPECT_EQ(loader.next().first(), 4);
  const std::string message = "sample " + std::to_string(source->broken) + " is broken";
  EXPECT_EQ(error_of(ErrorKind::kData, [&] { loader.next(); }), message);
  EXPECT_EQ(error_of(ErrorKind::kData, [&] { loader.next(); }), message);
  loader.seek(0, 12);
  EXPECT_EQ(loader.next().first(), 12);
}

TEST(LoaderThreads, StopsInAnyState) {
  /// Each sample takes 2 ms, as if it were decoded.
  class SlowSource : public CountingSource {
   public:
    using CountingSource::CountingSource;
    void read(std::int64_t index, int input, Array& out, const ReadHint& hint) const override {
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
      CountingSource::read(index, input, out, hint);
    }
  };
  const auto source = std::make_shared<SlowSource>(100000, Shape{2, 3, 1});
  source->contiguous = false;
  source->classes.assign(100000, 0);
  { Loader never_started(source, {}, kLoaderModel, kLoaderClasses, loader_options(10000, 3)); }
  {
    Loader loader(source, {}, kLoaderModel, kLoaderClasses, loader_options(10000, 3));
    for (int i = 0; i < 20; ++i) loader.seek(i, 7 * i);
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  EXPECT_LT(source->reads, 10000) << "no batch was completed";
}

TEST(LoaderThreads, AllWorkersMakeOneBatch) {
  /// The first read of each worker waits for the other three, 60 seconds at most.
  class Watched : public VectorSource {
   public:
    using VectorSource::VectorSource;
    void read(std::int64_t index, int input, Array& out, const ReadHint&) const override {
      VectorSource::read(index, input, out, {});
      std::unique_lock lock(mutex);
      readers.insert(std::this_thread::get_id());
      all.notify_all();
      all.wait_for(lock, std::chrono::seconds(60), [this] { return readers.size() == 4; });
    }
    mutable std::mutex mutex;
    mutable std::condition_variable all;
    mutable std::set<std::thread::id> readers;
  };
  const auto source = std::make_shared<Watched>(32, Shape{2, 3, 1});
  source->contiguous = false;
  source->classes.assign(32, 0);
  Loader loader(source, {}, kLoaderModel, kLoaderClasses, loader_options(32, 4, 1));
  EXPECT_EQ(loader.next().rows(), 32);
  const std::lock_guard lock(source->mutex);
  EXPECT_EQ(source->readers.size(), 4U);
}

TEST(LoaderThreads, DropsSingleRowsInOrder) {
  class Holes : public VectorSource {
   public:
    using VectorSource::VectorSource;
    void read(std::int64_t index, int input, Array& out, const ReadHint&) const override {
      if (index % 5 == 1) throw SampleError({.file = std::to_string(index), .byte = 0, .reason = "hole"});
      VectorSource::read(index, input, out, {});
    }
    std::shared_ptr<BadSamples> bad_samples() const override { return account; }
    std::shared_ptr<BadSamples> account;
  };
  std::vector<Copy> reference;
  std::vector<std::string> account;
  for (const int workers : {1, 2, 5}) {
    const auto source = std::make_shared<Holes>(53, Shape{2, 3, 1});
    source->contiguous = false;
    for (std::int64_t i = 0; i < 53; ++i) source->classes.push_back(i % 4);
    OnError skip;
    skip.skip = true;
    source->account = std::make_shared<BadSamples>(skip, 53, "test");
    Loader loader(source, {}, kLoaderModel, kLoaderClasses, loader_options(16, workers));
    const std::vector<Copy> found = epochs(loader, 2);
    std::vector<std::string> bad;
    for (const BadSample& sample : source->account->all()) bad.push_back(sample.file);
    if (workers == 1) {
      reference = found;
      account = bad;
      EXPECT_EQ(bad.size(), 11U);
      for (const Copy& batch : found)
        for (std::size_t row = 0; row < batch.indices.size(); ++row) {
          EXPECT_NE(batch.indices[row] % 5, 1);
          EXPECT_EQ(batch.input[row * 6 + 2], static_cast<float>(100 * batch.indices[row] + 2));
          EXPECT_EQ(batch.labels[row], batch.indices[row] % 4);
        }
    }
    EXPECT_EQ(found, reference);
    EXPECT_EQ(bad, account);
  }
}

TEST(LoaderThreads, MeasuresTheTimeOfWaiting) {
  class SlowSource : public VectorSource {
   public:
    using VectorSource::VectorSource;
    void read(std::int64_t index, int input, Array& out, const ReadHint& hint) const override {
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
      VectorSource::read(index, input, out, hint);
    }
  };
  const auto source = std::make_shared<SlowSource>(40, Shape{2, 3, 1});
  source->contiguous = false;
  source->classes.assign(40, 0);
  Loader loader(source, {}, kLoaderModel, kLoaderClasses, loader_options(4, 1, 1));
  double longest = 0;
  for (int batch = 0; batch < 10; ++batch) {
    const Stopwatch watch;
    const double waited = loader.next().waited();
    EXPECT_LE(waited, watch.seconds());
    longest = std::max(longest, waited);
  }
  EXPECT_GT(longest, 0.02) << "a batch takes 40 ms";
}

}  // namespace
}  // namespace dptrain::data
