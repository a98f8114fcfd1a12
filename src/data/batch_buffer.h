#pragma once

// The memory of one batch. A worker fills it alone, then the trainer reads it through a Batch alone, then the pool
// keeps it for the next. Buffers outlive their loader for as long as a Batch holds them. Nobody may still copy from a
// buffer when its Batch dies: the trainer lets a Batch go when it has the sums of its step, which waited for the
// copies.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <new>
#include <vector>

#include "core/memory.h"
#include "data/loader.h"

namespace dptrain::data {

/// Memory on a cache line's boundary, which the CPU's vector loads like best; much of it in huge pages.
inline std::shared_ptr<void> aligned_memory(std::size_t bytes) {
  if (bytes >= kHugePage) {
    auto mapped = std::make_shared<const MappedMemory>(bytes);
    return {mapped, mapped->data()};
  }
  constexpr std::align_val_t kAlignment{64};
  return {::operator new(bytes, kAlignment), [](void* p) { ::operator delete(p, kAlignment); }};
}

/// An array of numbers in memory of an Allocate, with what it happens to hold.
template <class T>
class Memory {
 public:
  Memory() = default;
  Memory(const Allocate& allocate, std::int64_t count) : data_(allocate(static_cast<std::size_t>(count) * sizeof(T))) {}
  T* data() const { return static_cast<T*>(data_.get()); }

 private:
  std::shared_ptr<void> data_;
};

class BufferPool;

struct Batch::Buffer {
  std::int64_t capacity = 0;              // rows that there is memory for
  std::vector<Memory<std::byte>> inputs;  // each [capacity, shape...] of its type; BatchForm::kFloats
  std::vector<std::size_t> input_bytes;   // of one row of each of `inputs`
  std::vector<Memory<std::byte>> rows;    // each [capacity] rows as the source has them; BatchForm::kRows
  std::vector<std::size_t> row_bytes;     // of each of `rows`
  Memory<std::int64_t> samples;           // the own of `indices`; for all but BatchForm::kFloats
  std::vector<Memory<std::byte>> labels;  // each [capacity] classes, or [capacity, width] values
  std::vector<std::size_t> label_bytes;   // of one row of each of `labels`
  Memory<float> sample_weights;           // [capacity], where the source has them
  RowRange share;                         // positions of this process
  std::vector<std::int64_t> indices;      // of all rows of the global batch; until it is agreed on, of all positions
  std::vector<BadRow> bad;                // of this process; once it is agreed on, of all
  BatchPositions positions;               // once it is agreed on
  bool agreed = false;
  std::int64_t number = -1;  ///< BatchView::number
  std::int64_t epoch = 0, first = 0;
  std::int64_t end = 0;  // position behind the last sample, read or missing
  double waited = 0;
  int dataset = -1;
  std::weak_ptr<BufferPool> pool;
};

/// Buffers that nobody uses. Any thread.
class BufferPool {
 public:
  BufferPool() { free_.reserve(kRoom); }

  /// Null when there is none.
  std::shared_ptr<Batch::Buffer> take() {
    const std::lock_guard lock(mutex_);
    if (free_.empty()) return nullptr;
    auto buffer = std::move(free_.back());
    free_.pop_back();
    return buffer;
  }
  void give(std::shared_ptr<Batch::Buffer> buffer) {
    const std::lock_guard lock(mutex_);
    free_.push_back(std::move(buffer));
  }

 private:
  static constexpr std::size_t kRoom = 64;  // more than prefetch ever holds, so that give() does not allocate
  std::mutex mutex_;
  std::vector<std::shared_ptr<Batch::Buffer>> free_;
};

}  // namespace dptrain::data
