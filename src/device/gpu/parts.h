#pragma once

// How ops of several arrays cut what memory they are given.

#include "device/gpu/conv_sets.h"

namespace dptrain::device::DPTRAIN_GPU {

/// Cuts room into parts; without memory it only counts.
class Parts {
 public:
  explicit Parts(void* memory) : memory_(static_cast<std::byte*>(memory)) {}

  std::byte* take(std::uint64_t bytes) {
    std::byte* const part = memory_ == nullptr ? nullptr : memory_ + taken_;
    taken_ += scratch_part(bytes);
    return part;
  }
  void* take(std::int64_t elements, DType type) { return take(static_cast<std::uint64_t>(elements) * size_of(type)); }
  float* floats(std::int64_t n) {
    return reinterpret_cast<float*>(take(static_cast<std::uint64_t>(n) * sizeof(float)));
  }
  std::uint64_t taken() const { return taken_; }

 private:
  std::byte* memory_;
  std::uint64_t taken_ = 0;
};

}  // namespace dptrain::device::DPTRAIN_GPU
