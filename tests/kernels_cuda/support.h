#pragma once

// Arrays of any element type in device memory (the heap on the emulator), filled with 0xFF bytes (NaN in all number
// types) and guarded on both sides; all number types, at aligned and unaligned addresses; comparison with plain loops
// in double. Compiled with DPTRAIN_BACKEND=emu, or with cuda to run on a GPU.

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <cstring>
#include <functional>
#include <limits>
#include <random>
#include <stdexcept>
#include <string>
#include <vector>

#include "core/dtype.h"
#include "kernels/cuda/launch.h"
#include "kernels/cuda/number.h"
#include "support/sanitizer.h"

#if !DPTRAIN_GPU_NAMED(DPTRAIN_BACKEND)
#include <cuda_runtime_api.h>
#endif
#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/asan_interface.h>
#endif

namespace dptrain::kernels::DPTRAIN_BACKEND::test {

/// Launches at once on the emulator, on the default stream on a GPU. With few multiprocessors, grid-stride loops
/// iterate.
inline Launch test_launch(int multiprocessors = 1) { return {.stream = nullptr, .multiprocessors = multiprocessors}; }

// --- Memory ---

#if DPTRAIN_GPU_NAMED(DPTRAIN_BACKEND)
inline void* allocate(std::size_t bytes) { return std::aligned_alloc(256, (bytes + 255) / 256 * 256); }
inline void release(void* memory) { std::free(memory); }
inline void copy_bytes(void* to, const void* from, std::size_t bytes) {
  if (bytes > 0) std::memcpy(to, from, bytes);
}
#else
inline void expect_success(cudaError_t error) {
  if (error != cudaSuccess) throw std::runtime_error(cudaGetErrorString(error));
}
inline void* allocate(std::size_t bytes) {
  void* memory = nullptr;
  expect_success(cudaMalloc(&memory, bytes));
  return memory;
}
inline void release(void* memory) { cudaFree(memory); }
inline void copy_bytes(void* to, const void* from, std::size_t bytes) {
  expect_success(cudaMemcpy(to, from, bytes, cudaMemcpyDefault));
}
#endif

/// n elements in device memory, `offset` elements after a 16-byte-aligned address.
template <class T>
class Array {
 public:
  explicit Array(std::int64_t n, int offset = 0)
      : size_(static_cast<std::size_t>(n)), before_(kGuard + static_cast<std::size_t>(offset) * sizeof(T)) {
    static_assert(std::is_trivially_copyable_v<T>);
    memory_ = static_cast<unsigned char*>(allocate(bytes() + before_ + kGuard));
    const std::vector<unsigned char> poison(bytes() + before_ + kGuard, 0xFF);
    copy_bytes(memory_, poison.data(), poison.size());
    guard(true);
  }
  explicit Array(const std::vector<T>& values, int offset = 0)
      : Array(static_cast<std::int64_t>(values.size()), offset) {
    copy_bytes(data(), values.data(), bytes());
  }
  ~Array() {
    guard(false);
    release(memory_);
  }
  Array(const Array&) = delete;
  Array& operator=(const Array&) = delete;

  T* data() { return reinterpret_cast<T*>(memory_ + before_); }
  const T* data() const { return reinterpret_cast<const T*>(memory_ + before_); }
  std::int64_t size() const { return static_cast<std::int64_t>(size_); }

  /// The contents. Expects unchanged guards.
  std::vector<T> read() const {
    guard(false);
    std::vector<unsigned char> all(bytes() + before_ + kGuard);
    copy_bytes(all.data(), memory_, all.size());
    guard(true);
    for (std::size_t i = 0; i < all.size(); ++i) {
      if (i >= before_ && i < before_ + bytes()) continue;
      EXPECT_EQ(all[i], 0xFF) << "wrote outside the output, at byte " << static_cast<std::ptrdiff_t>(i - before_)
                              << " of " << bytes();
      if (all[i] != 0xFF) break;
    }
    std::vector<T> values(size_);
    if (size_ > 0) std::memcpy(values.data(), all.data() + before_, bytes());
    return values;
  }

 private:
  static constexpr std::size_t kGuard = 64;
  std::size_t bytes() const { return size_ * sizeof(T); }
  /// Makes reads outside the array errors of AddressSanitizer.
  void guard([[maybe_unused]] bool on) const {
#if defined(__SANITIZE_ADDRESS__) && DPTRAIN_GPU_NAMED(DPTRAIN_BACKEND)
    if (on) {
      ASAN_POISON_MEMORY_REGION(memory_, before_);
      ASAN_POISON_MEMORY_REGION(memory_ + before_ + bytes(), kGuard);
    } else {
      ASAN_UNPOISON_MEMORY_REGION(memory_, before_ + bytes() + kGuard);
    }
#endif
  }

  std::size_t size_, before_;
  unsigned char* memory_ = nullptr;
};

/// An Array of a number type chosen at run time.
class Tensor {
 public:
  Tensor(DType type, std::int64_t n, int offset = 0)
      : type_(type), n_(n), array_(words(type, n), offset * word(type)) {}
  /// The values rounded to the type.
  Tensor(DType type, const std::vector<float>& values, int offset = 0)
      : Tensor(type, static_cast<std::int64_t>(values.size()), offset) {
    dispatch(type, [&](auto tag) {
      using T = typename decltype(tag)::type;
      std::vector<T> rounded;
      for (const float value : values) rounded.push_back(from_float<T>(value));
      copy_bytes(array_.data(), rounded.data(), rounded.size() * sizeof(T));
    });
  }

  void* data() { return array_.data(); }
  const void* data() const { return array_.data(); }
  std::int64_t size() const { return n_; }

  std::vector<float> read() const {
    const std::vector<std::uint16_t> raw = array_.read();
    std::vector<float> values(static_cast<std::size_t>(n_));
    dispatch(type_, [&](auto tag) {
      using T = typename decltype(tag)::type;
      for (std::size_t i = 0; i < values.size(); ++i) {
        T value;
        std::memcpy(&value, reinterpret_cast<const unsigned char*>(raw.data()) + i * sizeof(T), sizeof value);
        values[i] = to_float(value);
      }
    });
    return values;
  }

 private:
  static int word(DType type) { return static_cast<int>(size_of(type) / 2); }
  static std::int64_t words(DType type, std::int64_t n) { return n * word(type); }

  DType type_;
  std::int64_t n_;
  Array<std::uint16_t> array_;
};

// --- Numbers ---

/// Uniform numbers that depend only on the seed.
inline std::vector<float> random_floats(std::int64_t n, std::uint32_t seed, float low = -2.0F, float high = 2.0F) {
  std::mt19937 generator(seed);
  std::vector<float> values(static_cast<std::size_t>(n));
  for (float& value : values) value = low + (high - low) * static_cast<float>(generator() >> 8) / 16777216.0F;
  return values;
}

/// Relative error of one rounding to the type, for results that were computed in float.
inline double rounding(DType type) { return type == DType::kF32 ? 0.0 : type == DType::kBf16 ? 1.0 / 256 : 1.0 / 2048; }

/// `relative` and `absolute` are tolerances of float arithmetic; the rounding to `type` is added.
inline void expect_near(DType type, const std::vector<double>& expected, const std::vector<float>& found,
                        double relative = 1e-6, double absolute = 0.0) {
  ASSERT_EQ(expected.size(), found.size());
  const double subnormal = type == DType::kF16 ? 6e-8 : 0.0;  // the last place of the smallest halves
  for (std::size_t i = 0; i < expected.size(); ++i) {
    const double value = static_cast<double>(found[i]);
    if (expected[i] == value) continue;  // including infinities
    ASSERT_LE(std::abs(expected[i] - value), absolute + subnormal + (relative + rounding(type)) * std::abs(expected[i]))
        << "element " << i << " of " << expected.size() << ": expected " << expected[i] << ", found " << value;
  }
}

inline double at(const std::vector<float>& values, std::int64_t i) {
  return static_cast<double>(values.at(static_cast<std::size_t>(i)));
}

/// Calls f(type, offset) for every number type, aligned and one element off. With ThreadSanitizer, a launch is hundreds
/// of OS threads, so only for aligned float and unaligned bfloat16: the threads' accesses are the same for all types.
inline void on_every_type(const std::function<void(DType, int)>& f) {
  for (const DType type : {DType::kF32, DType::kBf16, DType::kF16}) {
    for (const int offset : {0, 1}) {
      if (dptrain::test::kThreadSanitizer && (type == DType::kF16 || (type == DType::kF32) != (offset == 0))) continue;
      SCOPED_TRACE(std::string(name_of(type)) + (offset == 0 ? ", aligned" : ", not aligned"));
      f(type, offset);
    }
  }
}

}  // namespace dptrain::kernels::DPTRAIN_BACKEND::test
