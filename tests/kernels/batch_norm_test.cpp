#include "kernels/cpu/batch_norm.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "kernels/support.h"

namespace dptrain::kernels::cpu {
namespace {

using test::agrees;
using test::at;
using test::random_floats;
using test::written_floats;

struct Shape {
  int64_t positions, channels;
};

constexpr Shape kShapes[] = {{3, 5}, {1, 1}, {2000, 32}, {70000, 3}, {513, 147}, {49, 600}};

struct Reference {
  std::vector<double> mean, m2;
};

Reference moments(const std::vector<float>& x, int64_t positions, int64_t channels) {
  Reference r{std::vector<double>(static_cast<size_t>(channels)), std::vector<double>(static_cast<size_t>(channels))};
  for (int64_t i = 0; i < positions * channels; ++i)
    r.mean[static_cast<size_t>(i % channels)] += at(x, i) / static_cast<double>(positions);
  for (int64_t i = 0; i < positions * channels; ++i)
    r.m2[static_cast<size_t>(i % channels)] += std::pow(at(x, i) - r.mean[static_cast<size_t>(i % channels)], 2.0);
  return r;
}

std::vector<double> joined(std::vector<double> a, const std::vector<double>& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

/// Two outputs of `channels` each from a kernel with workspace, one after the other.
std::vector<float> pair_of(Shape shape, const std::function<void(float* workspace, float* first, float* second)>& run) {
  std::vector<float> first, second;
  written_floats(batch_norm_workspace(shape.positions, shape.channels), [&](float* workspace) {
    first = written_floats(shape.channels, [&](float* a) {
      second = written_floats(shape.channels, [&](float* b) { run(workspace, a, b); });
    });
  });
  first.insert(first.end(), second.begin(), second.end());
  return first;
}

TEST(BatchNorm, MomentsFarFromZero) {
  for (const Shape shape : kShapes) {
    SCOPED_TRACE(testing::Message() << shape.positions << " x " << shape.channels);
    const std::vector<float> x = random_floats(shape.positions * shape.channels, 1, 99.0F, 101.0F);
    const Reference expected = moments(x, shape.positions, shape.channels);
    // A variance of 1/3 at a mean of 100: E[x^2] - E[x]^2 would keep three digits; differences from block means keep
    // the rounding of the mean, 100 x 6e-8, against a deviation of 0.6.
    agrees(joined(expected.mean, expected.m2), 2e-5, 1e-9, [&] {
      return pair_of(shape, [&](float* workspace, float* mean, float* m2) {
        batch_norm_moments(x.data(), shape.positions, shape.channels, workspace, mean, m2);
      });
    });
  }
}

TEST(BatchNorm, MomentsOfPartsAreThoseOfTheWhole) {
  const int64_t channels = 5, counts[] = {3, 0, 200, 41};
  const std::vector<float> x = random_floats(244 * channels, 2, 1.0F, 3.0F);
  const Reference whole = moments(x, 244, channels);
  agrees(joined(whole.mean, whole.m2), 1e-5, 1e-6, [&] {
    std::vector<std::vector<float>> parts;
    std::vector<const float*> means, m2s;
    int64_t begin = 0;
    for (const int64_t count : counts) {
      parts.push_back(pair_of({count, channels}, [&](float* workspace, float* mean, float* m2) {
        batch_norm_moments(x.data() + begin * channels, count, channels, workspace, mean, m2);
      }));
      begin += count;
    }
    for (const std::vector<float>& part : parts) {
      means.push_back(part.data());
      m2s.push_back(part.data() + channels);
    }
    return pair_of({1, channels}, [&](float*, float* mean, float* m2) {
      batch_norm_merge_moments(4, counts, means.data(), m2s.data(), channels, mean, m2);
    });
  });
}

TEST(BatchNorm, NoPositions) {
  agrees({0, 0, 0, 0}, 0.0, 0.0, [] {
    return pair_of({0, 2}, [](float* workspace, float* mean, float* m2) {
      batch_norm_moments(nullptr, 0, 2, workspace, mean, m2);
    });
  });
}

TEST(BatchNorm, CoefficientsAndApply) {
  for (const Shape shape : kShapes) {
    const int64_t positions = shape.positions, channels = shape.channels, n = positions * channels;
    const std::vector<float> x = random_floats(n, 3), mean = random_floats(channels, 4),
                             gamma = random_floats(channels, 5), beta = random_floats(channels, 6),
                             variance = random_floats(channels, 7, 0.1F, 2.0F);
    for (const bool affine : {true, false}) {
      std::vector<double> y, y_relu;
      for (int64_t i = 0; i < n; ++i) {
        const int64_t c = i % channels;
        const double xhat = (at(x, i) - at(mean, c)) / std::sqrt(at(variance, c) + 1e-3);
        y.push_back(affine ? at(gamma, c) * xhat + at(beta, c) : xhat);
        y_relu.push_back(std::max(y.back(), 0.0));
      }
      std::vector<float> scale(static_cast<size_t>(channels)), offset(scale.size());
      batch_norm_coefficients(mean.data(), variance.data(), affine ? gamma.data() : nullptr,
                              affine ? beta.data() : nullptr, 1e-3F, channels, scale.data(), offset.data());
      for (const bool relu : {false, true}) {
        // x scale and offset are up to 2 / sqrt(0.1) x 2 in size and cancel.
        agrees(relu ? y_relu : y, 1e-6, 4e-6, [&] {
          return written_floats(n, [&](float* out) {
            batch_norm_apply(x.data(), scale.data(), offset.data(), positions, channels, relu, out);
          });
        });
      }
    }
  }
}

/// Gradients against central differences of the whole forward pass in double, with ReLU behind.
TEST(BatchNorm, BackwardIsTheDerivativeOfForward) {
  const Shape shape{13, 5};
  const int64_t n = shape.positions * shape.channels;
  const double epsilon = 1e-3;
  const std::vector<float> x = random_floats(n, 8), dy = random_floats(n, 9), gamma = random_floats(5, 10, 0.5F, 1.5F),
                           beta = random_floats(5, 11);
  const auto forward = [&](const std::vector<double>& v) {
    std::vector<double> y(v.size());
    for (size_t c = 0; c < 5; ++c) {
      double mean = 0.0, variance = 0.0;
      for (size_t i = c; i < v.size(); i += 5) mean += v[i] / 13.0;
      for (size_t i = c; i < v.size(); i += 5) variance += (v[i] - mean) * (v[i] - mean) / 13.0;
      for (size_t i = c; i < v.size(); i += 5) {
        const double xhat = (v[i] - mean) / std::sqrt(variance + epsilon);
        y[i] = std::max(0.0, static_cast<double>(gamma[c]) * xhat + static_cast<double>(beta[c]));
      }
    }
    return y;
  };
  const auto objective = [&](const std::vector<double>& v) {
    const std::vector<double> y = forward(v);
    double sum = 0.0;
    for (size_t i = 0; i < y.size(); ++i) sum += y[i] * static_cast<double>(dy[i]);
    return sum;
  };
  std::vector<double> expected;
  const std::vector<double> exact = test::exactly(x);
  for (size_t i = 0; i < exact.size(); ++i) {
    std::vector<double> upper = exact, lower = exact;
    upper[i] += 1e-6;
    lower[i] -= 1e-6;
    expected.push_back((objective(upper) - objective(lower)) / 2e-6);
  }
  const std::vector<double> y = forward(exact);
  const std::vector<float> output(y.begin(), y.end());
  const Reference r = moments(x, shape.positions, shape.channels);
  std::vector<float> mean, inv_std;
  for (size_t c = 0; c < 5; ++c) {
    mean.push_back(static_cast<float>(r.mean[c]));
    inv_std.push_back(static_cast<float>(1.0 / std::sqrt(r.m2[c] / 13.0 + epsilon)));
  }
  const BatchNormGradient gradient{x.data(), dy.data(), output.data(), mean.data(), inv_std.data()};
  agrees(expected, 1e-5, 1e-5, [&] {
    const std::vector<float> sums = pair_of(shape, [&](float* workspace, float* sum_dy, float* sum_dy_xhat) {
      batch_norm_gradient_sums(gradient, shape.positions, shape.channels, workspace, sum_dy, sum_dy_xhat);
    });
    return written_floats(n, [&](float* dx) {
      batch_norm_gradient_apply(gradient, gamma.data(), sums.data(), sums.data() + 5, 13, shape.positions,
                                shape.channels, dx);
    });
  });
}

TEST(BatchNorm, GradientSumsAndApplyOfLargerShapes) {
  for (const Shape shape : kShapes) {
    const int64_t positions = shape.positions, channels = shape.channels;
    const int64_t n = positions * channels, total = positions + 7;  // other replicas hold the rest
    const std::vector<float> x = random_floats(n, 12), dy = random_floats(n, 13), output = random_floats(n, 14),
                             mean = random_floats(channels, 15), inv_std = random_floats(channels, 16, 0.5F, 2.0F),
                             gamma = random_floats(channels, 17);
    for (const bool masked : {true, false}) {
      SCOPED_TRACE(testing::Message() << positions << " x " << channels << (masked ? ", masked" : ""));
      const auto g = [&](int64_t i) { return masked && output[static_cast<size_t>(i)] <= 0.0F ? 0.0 : at(dy, i); };
      const auto xhat = [&](int64_t i) { return (at(x, i) - at(mean, i % channels)) * at(inv_std, i % channels); };
      std::vector<double> sum_dy(static_cast<size_t>(channels)), sum_dy_xhat(sum_dy.size()), dx, dx_frozen;
      for (int64_t i = 0; i < n; ++i) {
        sum_dy[static_cast<size_t>(i % channels)] += g(i);
        sum_dy_xhat[static_cast<size_t>(i % channels)] += g(i) * xhat(i);
      }
      for (int64_t i = 0; i < n; ++i) {
        const size_t c = static_cast<size_t>(i % channels);
        const double common = (sum_dy[c] + xhat(i) * sum_dy_xhat[c]) / static_cast<double>(total);
        dx.push_back(at(inv_std, i % channels) * (g(i) - common));
        dx_frozen.push_back(g(i) * at(gamma, i % channels));
      }
      const BatchNormGradient gradient{x.data(), dy.data(), masked ? output.data() : nullptr, mean.data(),
                                       inv_std.data()};
      std::vector<float> sums;
      agrees(joined(sum_dy, sum_dy_xhat), 1e-5, 2e-5 * std::sqrt(static_cast<double>(positions)), [&] {
        return sums = pair_of(shape, [&](float* workspace, float* a, float* b) {
                 batch_norm_gradient_sums(gradient, positions, channels, workspace, a, b);
               });
      });
      agrees(dx, 1e-5, 2e-5, [&] {
        return written_floats(n, [&](float* out) {
          batch_norm_gradient_apply(gradient, nullptr, sums.data(), sums.data() + channels, total, positions, channels,
                                    out);
        });
      });
      agrees(dx_frozen, 1e-6, 0.0, [&] {
        return written_floats(n, [&](float* out) {
          batch_norm_gradient_frozen(dy.data(), gradient.output, gamma.data(), positions, channels, out);
        });
      });
    }
  }
}

}  // namespace
}  // namespace dptrain::kernels::cpu
