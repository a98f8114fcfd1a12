#pragma once

// Shared by the tests of kernels that draw random numbers: the Philox words of an element by definition, and two checks
// of a kernel. `Draws`: Dropout or Noise, with seed, layer, step and first_row.

#include <functional>

#include "kernels/philox.h"
#include "kernels/support.h"

namespace dptrain::kernels::cpu::test {

template <class Draws>
PhiloxBlock words_of(const Draws& d, int64_t row, int64_t element) {
  return philox4x32({{static_cast<uint32_t>(d.first_row + row), static_cast<uint32_t>(element / 4),
                      static_cast<uint32_t>(d.step), static_cast<uint32_t>(d.step >> 32)}},
                    {{d.seed, d.layer}});
}

/// The kernel: launch, type, draws, x, rows, width, y.
template <class Draws>
using DrawingKernel = std::function<void(const Launch&, DType, const Draws&, const float*, int64_t, int64_t, float*)>;

/// For several sizes: the kernel writes `expected(value, row, element)` to another array and, for `in_place`, to its
/// input.
template <class Draws>
void follows_philox(const Draws& draws, double absolute, const DrawingKernel<Draws>& kernel,
                    const DrawingKernel<Draws>& in_place,
                    const std::function<double(double value, int64_t row, int64_t element)>& expected) {
  for (const auto& [rows, width] : {std::pair<int64_t, int64_t>{3, 5}, {7, 64}, {2, 1027}, {900, 130}}) {
    const std::vector<float> x = random_floats(rows * width, 1);
    std::vector<double> values;
    for (int64_t i = 0; i < rows * width; ++i) values.push_back(expected(at(x, i), i / width, i % width));
    agrees(values, 1e-6, absolute, [&] {
      return written_floats(rows * width, [&](float* y) { kernel({}, DType::kF32, draws, x.data(), rows, width, y); });
    });
    agrees(values, 1e-6, absolute, [&] {
      std::vector<float> own = x;
      in_place({}, DType::kF32, draws, own.data(), rows, width, own.data());
      return own;
    });
  }
}

/// `draws`: for a batch of ten rows. Rows 6 to 9 alone give the same values as in the batch.
template <class Draws>
void slice_draws_as_the_batch(const Draws& draws, const DrawingKernel<Draws>& kernel) {
  const int64_t width = 70;
  const std::vector<float> x = random_floats(10 * width, 2);
  std::vector<float> all(x.size()), slice(static_cast<size_t>(4 * width));
  kernel({}, DType::kF32, draws, x.data(), 10, width, all.data());
  Draws part = draws;
  part.first_row += 6;
  kernel({}, DType::kF32, part, x.data() + 6 * width, 4, width, slice.data());
  EXPECT_EQ(slice, std::vector<float>(all.begin() + 6 * width, all.end()));
}

}  // namespace dptrain::kernels::cpu::test
