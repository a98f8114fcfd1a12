#pragma once

// Parts: divides the scratch and saved memory of an op into arrays, aligned for all kernels of all devices.

#include <cstddef>
#include <cstdint>
#include <numeric>

#include "core/dtype.h"

namespace dptrain::backend {

constexpr std::uint64_t aligned_part(std::uint64_t bytes) {
  constexpr std::uint64_t kAligned = 256;
  return (bytes + kAligned - 1) / kAligned * kAligned;
}
inline std::uint64_t aligned_part(std::int64_t elements, DType type) {
  return aligned_part(static_cast<std::uint64_t>(elements) * size_of(type));
}

/// Maximum alignment that a kernel requires: 16 bytes, the widest load of a GPU.
inline constexpr int kFullAlignment = 16;
/// Alignment of addresses at multiples of `elements` elements from an aligned one.
constexpr int alignment_of(std::int64_t elements, DType type) {
  const std::int64_t bytes = elements * static_cast<std::int64_t>(size_of(type));
  return static_cast<int>(std::gcd(bytes, std::int64_t{kFullAlignment}));
}

/// Consecutive parts of `memory`; if that is null, only counts their size.
class Parts {
 public:
  explicit Parts(void* memory) : memory_(static_cast<std::byte*>(memory)) {}

  std::byte* take(std::uint64_t bytes) {
    const std::uint64_t place = place_of(bytes);
    return memory_ == nullptr ? nullptr : memory_ + place;
  }
  void* take(std::int64_t elements, DType type) { return take(static_cast<std::uint64_t>(elements) * size_of(type)); }
  float* floats(std::int64_t n) { return static_cast<float*>(take(n, DType::kF32)); }
  /// Takes a part and returns its offset in bytes.
  std::uint64_t place_of(std::uint64_t bytes) {
    const std::uint64_t place = taken_;
    taken_ += aligned_part(bytes);
    return place;
  }
  std::uint64_t taken() const { return taken_; }

 private:
  std::byte* memory_;
  std::uint64_t taken_ = 0;
};

}  // namespace dptrain::backend
