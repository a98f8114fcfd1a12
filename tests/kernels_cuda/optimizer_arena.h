#pragma once

// Shared by the tests of optimizer kernels: a replica's arrays on the device and on the CPU, and segments.

#include <array>
#include <functional>
#include <string>
#include <vector>

#include "kernels/cuda/optimizer.h"
#include "kernels_cuda/support.h"

namespace dptrain::kernels::DPTRAIN_BACKEND::test {

inline constexpr double kRate = 0.05;
/// The last ones: around a piece of 4096 elements.
inline constexpr std::array<std::int64_t, 7> kUpdateSizes{1, 7, 64, 5003, 4095, 4096, 4097};

inline void on_every_size(const std::function<void(std::int64_t, int)>& f) {
  for (const std::int64_t n : kUpdateSizes) {
    for (const int offset : {0, 1}) {
      SCOPED_TRACE(std::to_string(n) + " elements from " + std::to_string(offset));
      f(n, offset);
    }
  }
}

inline std::vector<double> doubles(const std::vector<float>& values) { return {values.begin(), values.end()}; }

/// The device's arrays of one replica, and the CPU's copies.
struct Arena {
  std::int64_t n;
  Array<StepState> step;
  Array<LossScale> scale;
  Array<float> w, g;
  std::vector<float> cpu_w, cpu_g;

  Arena(std::int64_t size, int offset)
      : n(size),
        step(std::vector<StepState>{{}}),
        scale(std::vector<LossScale>{{}}),
        w(random_floats(n, 1), offset),
        g(random_floats(n, 2), offset),
        cpu_w(w.read()),
        cpu_g(g.read()) {}

  void set(const StepState& state) { copy_bytes(step.data(), &state, sizeof state); }
  void set(const LossScale& state) { copy_bytes(scale.data(), &state, sizeof state); }
  void new_gradients(std::uint32_t seed) {
    cpu_g = random_floats(n, seed);
    copy_bytes(g.data(), cpu_g.data(), cpu_g.size() * sizeof(float));
  }
  UpdateState state() const { return {step.data(), scale.data()}; }
};

/// Zeros on the device and on the host.
struct Slot {
  std::vector<float> there;
  Array<float> here;
  Slot(std::int64_t n, int offset, float value = 0.0F)
      : there(static_cast<std::size_t>(n), value), here(there, offset) {}
  void expect_equal() const { expect_near(DType::kF32, doubles(there), here.read(), 2e-6, 1e-7); }
};
// Segments: aligned and not, empty, many pieces, gaps between them.
struct Range {
  std::int64_t offset, length;
};
inline constexpr std::array kRanges{Range{0, 5}, Range{8, 64}, Range{75, 0}, Range{77, 1}, Range{100, 20000}};
inline constexpr std::int64_t kArena = 20200, kLongest = 20000;

template <class T>
std::vector<T> segments(const std::function<void(T&, std::size_t)>& more = [](T&, std::size_t) {}) {
  std::vector<T> rows;
  for (const Range& range : kRanges) {
    T row;
    row.offset = range.offset;
    row.length = range.length;
    more(row, rows.size());
    rows.push_back(row);
  }
  return rows;
}

}  // namespace dptrain::kernels::DPTRAIN_BACKEND::test
