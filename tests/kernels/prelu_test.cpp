#include "kernels/cpu/prelu.h"

#include <gtest/gtest.h>

#include "kernels/support.h"

namespace dptrain::kernels::cpu {
namespace {

using test::agrees;
using test::at;
using test::random_floats;
using test::written_floats;

TEST(PRelu, ValuesAndGradients) {
  for (const auto& shape : {std::pair<int64_t, int64_t>{3, 5},
                            {1, 67},
                            {70, 1},
                            {5000, 1},
                            {600, 3},
                            {5000, 7},
                            {45, 17},
                            {300, 64},
                            {7, 130},
                            {40, 1030}}) {
    const int64_t positions = shape.first, channels = shape.second, n = positions * channels;
    SCOPED_TRACE(testing::Message() << positions << " x " << channels);
    std::vector<float> x = random_floats(n, 1);
    const std::vector<float> dy = random_floats(n, 2), alpha = random_floats(channels, 3);
    x[static_cast<size_t>(n / 2)] = 0.0F;
    std::vector<double> y, dx, sums(static_cast<size_t>(channels), 1.0);  // initial values of the sums
    for (int64_t i = 0; i < n; ++i) {
      const double v = at(x, i), slope = at(alpha, i % channels);
      y.push_back(v > 0 ? v : slope * v);
      dx.push_back(v > 0 ? at(dy, i) : v < 0 ? slope * at(dy, i) : 0.0);
      sums[static_cast<size_t>(i % channels)] += v < 0 ? v * at(dy, i) : 0.0;
    }
    agrees(y, 1e-6, 0.0, [&] {
      return written_floats(n, [&](float* out) { prelu_forward(x.data(), alpha.data(), positions, channels, out); });
    });
    agrees(dx, 1e-6, 0.0, [&] {
      return written_floats(
          n, [&](float* out) { prelu_input_gradient(x.data(), dy.data(), alpha.data(), positions, channels, out); });
    });
    // Rounding of sums of about sqrt(positions); chains of 256 additions.
    agrees(sums, 1e-5, 1e-5 * std::sqrt(static_cast<double>(positions)), [&] {
      std::vector<float> out(static_cast<size_t>(channels), 1.0F);
      prelu_alpha_gradient(x.data(), dy.data(), positions, channels, out.data());
      return out;
    });
  }
}

}  // namespace
}  // namespace dptrain::kernels::cpu
