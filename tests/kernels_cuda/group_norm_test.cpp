#include "kernels/cuda/group_norm.h"

#include "kernels_cuda/support.h"

namespace dptrain::kernels::DPTRAIN_BACKEND {
namespace {

using namespace test;  // NOLINT(google-build-using-namespace)

void expect_agreement(const GroupNorm& n, std::int64_t rows, DType type, int offset) {
  const std::int64_t size = rows * n.spatial * n.channels, width = n.channels / n.groups;
  const Tensor x(type, random_floats(size, 1, 3.0F, 5.0F), offset), dy(type, random_floats(size, 2), offset);
  const Array<float> gamma(random_floats(n.channels, 3), offset), beta(random_floats(n.channels, 4), offset);
  Tensor y(type, size, offset), dx(type, size, offset);
  Array<float> mean(rows * n.groups), inv_std(rows * n.groups), dgamma(n.channels, offset), dbeta(n.channels, offset),
      scratch(group_norm_workspace(type, n, rows));
  group_norm_forward(test_launch(), type, n, x.data(), gamma.data(), beta.data(), rows, y.data(), mean.data(),
                     inv_std.data());
  const GroupNormGradient through{x.data(), dy.data(), gamma.data(), mean.data(), inv_std.data()};
  group_norm_backward_data(test_launch(), type, n, through, rows, dx.data());
  group_norm_backward_weights(test_launch(), type, n, through, rows, scratch.data(), dgamma.data(), dbeta.data());

  const auto from = x.read(), g = dy.read(), scale = gamma.read(), shift = beta.read();
  const auto all = static_cast<std::size_t>(size), channels = static_cast<std::size_t>(n.channels);
  std::vector<double> out(all), data(all), of_gamma(channels), of_beta(channels);
  const auto count = static_cast<double>(n.spatial * width);
  for (std::int64_t row = 0; row < rows; ++row)
    for (std::int64_t group = 0; group < n.groups; ++group) {
      const auto each = [&](const auto& f) {
        for (std::int64_t s = 0; s < n.spatial; ++s)
          for (std::int64_t c = group * width; c < (group + 1) * width; ++c)
            f((row * n.spatial + s) * n.channels + c, c);
      };
      double m = 0, v = 0, a = 0, b = 0;
      each([&](std::int64_t i, std::int64_t) { m += at(from, i) / count; });
      each([&](std::int64_t i, std::int64_t) { v += (at(from, i) - m) * (at(from, i) - m) / count; });
      const double inverse = 1 / std::sqrt(v + static_cast<double>(n.epsilon));
      each([&](std::int64_t i, std::int64_t c) {
        const double xhat = (at(from, i) - m) * inverse;
        out[static_cast<std::size_t>(i)] = xhat * at(scale, c) + at(shift, c);
        of_gamma[static_cast<std::size_t>(c)] += at(g, i) * xhat;
        of_beta[static_cast<std::size_t>(c)] += at(g, i);
        a += at(g, i) * at(scale, c) / count;
        b += at(g, i) * at(scale, c) * xhat / count;
      });
      each([&](std::int64_t i, std::int64_t c) {
        const double xhat = (at(from, i) - m) * inverse;
        data[static_cast<std::size_t>(i)] = inverse * (at(g, i) * at(scale, c) - a - xhat * b);
      });
    }
  // The mean is 4 with a last place of 5e-7; standard deviations are about 0.6.
  expect_near(type, out, y.read(), 1e-5, 1e-5);
  expect_near(type, data, dx.read(), 1e-5, 2e-5);
  expect_near(DType::kF32, of_gamma, dgamma.read(), 1e-5, 1e-4);
  expect_near(DType::kF32, of_beta, dbeta.read(), 1e-5, 1e-4);
  scratch.read();
}

TEST(GpuGroupNorm, EqualsTheFormulas) {
  const auto check = [](const GroupNorm& n, std::int64_t rows) {
    on_every_type([&](DType type, int offset) { expect_agreement(n, rows, type, offset); });
  };
  check({.spatial = 1, .channels = 7, .groups = 1, .epsilon = 1e-3F}, 40);   // a thread per row
  check({.spatial = 1, .channels = 40, .groups = 1, .epsilon = 1e-3F}, 9);   // a warp
  check({.spatial = 1, .channels = 300, .groups = 1, .epsilon = 1e-5F}, 3);  // a block
  check({.spatial = 12, .channels = 12, .groups = 3, .epsilon = 1e-3F}, 3);
  check({.spatial = 70, .channels = 8, .groups = 1, .epsilon = 1e-3F}, 2);
  check({.spatial = 9, .channels = 5, .groups = 5, .epsilon = 1e-3F}, 2);
  // Groups within a thread's vector, of several threads, and larger than a tile; a last tile of fewer channels, more
  // positions than lanes.
  check({.spatial = 33, .channels = 64, .groups = 32, .epsilon = 1e-3F}, 2);
  check({.spatial = 5, .channels = 48, .groups = 12, .epsilon = 1e-3F}, 3);
  check({.spatial = 70, .channels = 72, .groups = 9, .epsilon = 1e-3F}, 2);
  check({.spatial = 6, .channels = 96, .groups = 32, .epsilon = 1e-3F}, 2);
  check({.spatial = 300, .channels = 160, .groups = 10, .epsilon = 1e-3F}, 1);
  check({.spatial = 300, .channels = 136, .groups = 136, .epsilon = 1e-3F}, 1);
  // Around a tile of 16 floats or 32 halves, and around the 64 positions that its threads process at a time.
  for (const std::int64_t channels : {15, 16, 17, 31, 32, 33, 65})
    check({.spatial = 40, .channels = channels, .groups = channels, .epsilon = 1e-3F}, 1);
  for (const std::int64_t spatial : {63, 64, 65, 129})
    check({.spatial = spatial, .channels = 32, .groups = 8, .epsilon = 1e-3F}, 1);
}

}  // namespace
}  // namespace dptrain::kernels::DPTRAIN_BACKEND
