#pragma once

// Cache-line-aligned memory for kernels.

#include <cstddef>
#include <cstdint>
#include <vector>

namespace dptrain::kernels::cpu::test {

/// Aligned to a cache line.
class AlignedFloats {
 public:
  explicit AlignedFloats(size_t n) : floats_(n + 15) {}
  float* data() {
    const auto at = reinterpret_cast<uintptr_t>(floats_.data());
    return floats_.data() + (64 - at % 64) % 64 / sizeof(float);
  }

 private:
  std::vector<float> floats_;
};

}  // namespace dptrain::kernels::cpu::test
