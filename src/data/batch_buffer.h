#pragma once

// Memory of one batch: filled by workers, read by the trainer through a Batch, then returned to the pool for reuse. It
// outlives the loader while a Batch holds it. No copy from a buffer may be pending when its Batch is destroyed. The
// trainer therefore keeps a Batch until it has the sums of the step, which waited for the copies.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <new>
#include <vector>

#include "core/memory.h"
#include "data/loader.h"

namespace dptrain::data {

/// Memory aligned to cache lines, for the CPU's vector loads; large blocks use huge pages.
inline std::shared_ptr<void> aligned_memory(std::size_t bytes) {
  if (bytes >= kHugePage) {
    auto mapped = std::make_shared<const MappedMemory>(bytes);
    return {mapped, mapped->data()};
  }
  constexpr std::align_val_t kAlignment{64};
  return {::operator new(bytes, kAlignment), [](void* p) { ::operator delete(p, kAlignment); }};
}

/// An uninitialized array in memory of an Allocate.
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
  std::int64_t capacity = 0;              // rows that fit
  std::vector<Memory<std::byte>> inputs;  // each [capacity, shape...] in its type; BatchForm::kFloats
  std::vector<std::size_t> input_bytes;   // row size of each of `inputs`
  std::vector<Memory<std::byte>> rows;    // each [capacity] rows as the source has them; BatchForm::kRows
  std::vector<std::size_t> row_bytes;     // row size of each of `rows`
  Memory<std::int64_t> samples;           // samples of the own rows; not for BatchForm::kFloats
  std::vector<Memory<std::byte>> labels;  // each [capacity] classes, or [capacity, width] values
  std::vector<std::size_t> label_bytes;   // row size of each of `labels`
  Memory<float> sample_weights;           // [capacity], if the source has them
  RowRange share;                         // positions of this process
  std::vector<std::int64_t> indices;      // samples of the global batch's rows; of all positions before the agreement
  std::vector<BadRow> bad;                // bad rows of this process, or of all processes after the agreement
  BatchPositions positions;               // `missing` is set by the agreement
  bool agreed = false;
  std::int64_t number = -1;  ///< BatchView::number
  std::int64_t epoch = 0, first = 0;
  std::int64_t end = 0;  // position after the last sample, read or missing
  double waited = 0;
  int dataset = -1;
  std::weak_ptr<BufferPool> pool;
};

/// Unused buffers. Any thread.
class BufferPool {
 public:
  BufferPool() { free_.reserve(kReserved); }

  /// Null if there is none.
  std::shared_ptr<Batch::Buffer> acquire() {
    const std::lock_guard lock(mutex_);
    if (free_.empty()) return nullptr;
    auto buffer = std::move(free_.back());
    free_.pop_back();
    return buffer;
  }
  void release(std::shared_ptr<Batch::Buffer> buffer) {
    const std::lock_guard lock(mutex_);
    free_.push_back(std::move(buffer));
  }

 private:
  static constexpr std::size_t kReserved = 64;  // more than usual prefetching, so that release() does not allocate
  std::mutex mutex_;
  std::vector<std::shared_ptr<Batch::Buffer>> free_;
};

}  // namespace dptrain::data
