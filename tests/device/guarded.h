#pragma once

// Device memory of exactly the floats asked for, poisoned with NaN, with guard words on both sides.

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "device/device.h"

namespace dptrain::test {

class Guarded {
 public:
  Guarded(device::Device& device, device::Stream& stream, std::size_t floats)
      : device_(device),
        stream_(stream),
        floats_(floats),
        buffer_(device.allocate((floats + 2 * kGuard) * sizeof(float))) {
    const std::vector<float> pattern(floats + 2 * kGuard, kPoison);
    device.copy_to_device(buffer_->data(), pattern.data(), pattern.size() * sizeof(float), stream);
  }
  Guarded(device::Device& device, device::Stream& stream, const std::vector<double>& values)
      : Guarded(device, stream, values.size()) {
    const std::vector<float> floats(values.begin(), values.end());
    device.copy_to_device(data(), floats.data(), floats.size() * sizeof(float), stream);
  }

  float* data() const { return buffer_->as<float>() + kGuard; }

  /// The values, after a look at the guards.
  std::vector<float> read(const std::string& what) const {
    std::vector<float> all(floats_ + 2 * kGuard);
    device_.copy_to_host(all.data(), buffer_->data(), all.size() * sizeof(float), stream_);
    for (std::size_t i = 0; i < kGuard; ++i) {
      EXPECT_TRUE(is_poison(all[i])) << what << ": written " << kGuard - i << " floats before its start";
      EXPECT_TRUE(is_poison(all[kGuard + floats_ + i])) << what << ": written " << i << " floats past its end";
    }
    return {all.begin() + kGuard, all.begin() + static_cast<std::ptrdiff_t>(kGuard + floats_)};
  }

 private:
  static constexpr std::size_t kGuard = 64;  // keeps the alignment that arenas have
  static constexpr float kPoison = std::bit_cast<float>(0x7FC0DEADU);
  static bool is_poison(float x) { return std::bit_cast<std::uint32_t>(x) == 0x7FC0DEADU; }

  device::Device& device_;
  device::Stream& stream_;
  std::size_t floats_;
  std::unique_ptr<device::Buffer> buffer_;
};

}  // namespace dptrain::test
