#include "kernels/cpu/group_norm.h"

#include "kernels/support.h"

namespace dptrain::kernels::cpu {
namespace {

using namespace test;  // NOLINT(google-build-using-namespace)

struct Example {
  GroupNorm norm;
  int64_t rows;
};

/// Forward and its gradients in double.
struct Naive {
  std::vector<double> y, mean, inv_std, dx, dgamma, dbeta;

  Naive(const Example& e, const std::vector<float>& x, const std::vector<float>& dy, const std::vector<float>& gamma,
        const std::vector<float>& beta)
      : y(x.size()), dx(x.size()), dgamma(gamma.size()), dbeta(gamma.size()) {
    const GroupNorm& n = e.norm;
    const int64_t width = n.channels / n.groups;
    const double count = static_cast<double>(n.spatial * width);
    for (int64_t row = 0; row < e.rows; ++row)
      for (int64_t g = 0; g < n.groups; ++g) {
        const auto each = [&](const auto& f) {
          for (int64_t s = 0; s < n.spatial; ++s)
            for (int64_t c = g * width; c < (g + 1) * width; ++c)
              f(static_cast<size_t>((row * n.spatial + s) * n.channels + c), static_cast<size_t>(c));
        };
        const auto value = [](const std::vector<float>& values, size_t i) { return static_cast<double>(values[i]); };
        double m = 0, v = 0, a = 0, b = 0;
        each([&](size_t i, size_t) { m += value(x, i) / count; });
        each([&](size_t i, size_t) { v += (value(x, i) - m) * (value(x, i) - m) / count; });
        const double inverse = 1 / std::sqrt(v + static_cast<double>(n.epsilon));
        each([&](size_t i, size_t c) {
          const double xhat = (value(x, i) - m) * inverse;
          y[i] = xhat * value(gamma, c) + value(beta, c);
          dgamma[c] += value(dy, i) * xhat;
          dbeta[c] += value(dy, i);
          a += value(dy, i) * value(gamma, c) / count;
          b += value(dy, i) * value(gamma, c) * xhat / count;
        });
        each([&](size_t i, size_t c) {
          dx[i] = inverse * (value(dy, i) * value(gamma, c) - a - (value(x, i) - m) * inverse * b);
        });
        mean.push_back(m);
        inv_std.push_back(inverse);
      }
  }
};

struct Found {
  std::vector<float> y, mean, inv_std, dx, dgamma, dbeta;
  bool operator==(const Found&) const = default;
};

TEST(GroupNormKernel, EqualsTheFormulas) {
  for (const Example& e : {Example{{.spatial = 1, .channels = 37, .groups = 1, .epsilon = 1e-3F}, 70},
                           Example{{.spatial = 1, .channels = 300, .groups = 1, .epsilon = 1e-3F}, 9},
                           Example{{.spatial = 70, .channels = 150, .groups = 3, .epsilon = 1e-3F}, 2},
                           Example{{.spatial = 300, .channels = 6, .groups = 3, .epsilon = 1e-3F}, 3},
                           Example{{.spatial = 11, .channels = 64, .groups = 2, .epsilon = 1e-5F}, 2},
                           Example{{.spatial = 9, .channels = 5, .groups = 5, .epsilon = 1e-3F}, 4}}) {
    const GroupNorm& n = e.norm;
    const int64_t size = e.rows * n.spatial * n.channels, statistics = e.rows * n.groups;
    // Far from zero: a difference of squares loses the standard deviation.
    const auto x = random_floats(size, 1, 30.0F, 32.0F), dy = random_floats(size, 2);
    const auto gamma = random_floats(n.channels, 3), beta = random_floats(n.channels, 4);
    const Naive expected(e, x, dy, gamma, beta);
    const auto run = [&] {
      Found f;
      std::vector<float> scratch(static_cast<size_t>(group_norm_workspace(n, e.rows)), NAN);
      f.inv_std.resize(static_cast<size_t>(statistics));
      f.mean = written_floats(statistics, [&](float* mean) {
        f.y = written_floats(size, [&](float* y) {
          group_norm_forward(n, x.data(), gamma.data(), beta.data(), e.rows, scratch.data(), y, mean, f.inv_std.data());
        });
      });
      const GroupNormGradient g{x.data(), dy.data(), gamma.data(), f.mean.data(), f.inv_std.data()};
      f.dbeta.resize(static_cast<size_t>(n.channels));
      f.dgamma = written_floats(n.channels, [&](float* dgamma) {
        f.dx = written_floats(
            size, [&](float* dx) { group_norm_backward(n, g, e.rows, scratch.data(), dx, dgamma, f.dbeta.data()); });
      });
      return f;
    };
    on_every_target([&] {
      use_threads(1);
      const Found found = run();
      // The mean is 31 with a last place of 2e-6; standard deviations are about 0.6.
      expect_near(expected.mean, found.mean, 1e-6, 0);
      expect_near(expected.inv_std, found.inv_std, 1e-5, 0);
      expect_near(expected.y, found.y, 1e-5, 3e-5);
      expect_near(expected.dx, found.dx, 1e-5, 1e-4);
      expect_near(expected.dgamma, found.dgamma, 1e-5, 1e-3);
      expect_near(expected.dbeta, found.dbeta, 1e-5, 1e-4);
      use_threads(3);
      EXPECT_EQ(found, run());
    });
  }
}

}  // namespace
}  // namespace dptrain::kernels::cpu
