#pragma once

// The memory of one batch. A worker fills it alone, then the trainer reads it through a Batch alone, then the pool
// keeps it for the next. Slots outlive their loader for as long as a Batch holds them.

#include <cstdint>
#include <memory>
#include <mutex>
#include <new>
#include <vector>

#include "data/loader.h"

namespace dptrain::data {

/// Uninitialised floats on a cache line's boundary: what the CPU's vector loads and a copy to a GPU like best.
class AlignedFloats {
 public:
  explicit AlignedFloats(std::size_t count)
      : data_(static_cast<float*>(::operator new (count * sizeof(float), std::align_val_t{kAlignmentBytes}))) {}
  float* data() const { return data_.get(); }

 private:
  static constexpr std::size_t kAlignmentBytes = 64;
  struct Free {
    void operator()(float* p) const { ::operator delete (p, std::align_val_t{kAlignmentBytes}); }
  };
  std::unique_ptr<float, Free> data_;
};

class SlotPool;

struct Batch::Slot {
  std::vector<AlignedFloats> inputs;  // each [batch size, shape...]
  std::vector<std::int32_t> classes;  // [batch size], or
  std::vector<float> values;          // [batch size, width]
  std::vector<std::int64_t> indices;  // [rows]
  std::int64_t epoch = 0, first = 0;
  double waited = 0;
  std::weak_ptr<SlotPool> pool;
};

/// Slots that nobody uses. Any thread.
class SlotPool {
 public:
  SlotPool() { free_.reserve(kRoom); }

  /// Null when there is none.
  std::shared_ptr<Batch::Slot> take() {
    const std::lock_guard lock(mutex_);
    if (free_.empty()) return nullptr;
    auto slot = std::move(free_.back());
    free_.pop_back();
    return slot;
  }
  void give(std::shared_ptr<Batch::Slot> slot) {
    const std::lock_guard lock(mutex_);
    free_.push_back(std::move(slot));
  }

 private:
  static constexpr std::size_t kRoom = 64;  // more than prefetch ever holds, so that give() does not allocate
  std::mutex mutex_;
  std::vector<std::shared_ptr<Batch::Slot>> free_;
};

}  // namespace dptrain::data
