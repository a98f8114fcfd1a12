#pragma once

// Device memory of exactly the requested size, filled with NaN (of any type), with guards on both sides.

#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "backend/device.h"
#include "backend/number_types.h"

namespace dptrain::test {

class Guarded {
 public:
  /// `n` numbers.
  Guarded(backend::Device& device, backend::Stream& stream, std::size_t n, DType type = DType::kF32)
      : device_(device),
        stream_(stream),
        type_(type),
        n_(n),
        bytes_(n * size_of(type)),
        buffer_(device.allocate(bytes_ + 2 * kGuard)) {
    std::vector<std::byte> pattern(bytes_ + 2 * kGuard);
    for (std::size_t i = 0; i < pattern.size(); ++i) pattern[i] = poison(i);
    device.copy_to_device(buffer_->data(), pattern.data(), pattern.size(), stream);
  }
  /// The values, rounded to the type.
  Guarded(backend::Device& device, backend::Stream& stream, const std::vector<double>& values, DType type = DType::kF32)
      : Guarded(device, stream, values.size(), type) {
    const std::vector<std::byte> bytes = encoded(type, values);
    device.copy_to_device(data(), bytes.data(), bytes.size(), stream);
  }

  void* data() const { return buffer_->as<std::byte>() + kGuard; }
  float* floats() const { return static_cast<float*>(data()); }

  /// The values; checks the guards first.
  std::vector<float> read(const std::string& what) const {
    const std::vector<std::byte> all = bytes(what);
    return decoded(type_, all.data() + kGuard, n_);
  }
  /// Raw bytes with guards.
  std::vector<std::byte> bytes(const std::string& what) const {
    std::vector<std::byte> all(bytes_ + 2 * kGuard);
    device_.copy_to_host(all.data(), buffer_->data(), all.size(), stream_);
    for (std::size_t i = 0; i < kGuard; ++i) {
      EXPECT_TRUE(all[i] == poison(i)) << what << ": written " << kGuard - i << " bytes before its start";
      const std::size_t end = kGuard + bytes_ + i;
      EXPECT_TRUE(all[end] == poison(end)) << what << ": written " << i << " bytes past its end";
    }
    return all;
  }

 private:
  static constexpr std::size_t kGuard = 256;  // keeps the alignment of arenas
  /// Words of 0xFFFB: NaN in two, four and eight bytes, and not the NaN of arithmetic.
  static std::byte poison(std::size_t i) { return static_cast<std::byte>(i % 2 == 0 ? 0xFB : 0xFF); }

  backend::Device& device_;
  backend::Stream& stream_;
  DType type_;
  std::size_t n_, bytes_;
  std::unique_ptr<backend::Buffer> buffer_;
};

}  // namespace dptrain::test
