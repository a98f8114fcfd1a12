#include "kernels/cpu/batch_norm.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>

#include "kernels/support.h"

namespace dptrain::kernels::cpu {
namespace {

using test::agrees;
using test::at;
using test::random_floats;
using test::written;
using test::written_floats;

struct NormShape {
  int64_t positions, channels;
};

constexpr NormShape kBatchNormShapes[] = {{3, 5}, {1, 1}, {2000, 32}, {70000, 3}, {513, 147}, {49, 600}};

struct NormReference {
  std::vector<double> mean, m2;
};

NormReference moments(const std::vector<float>& x, int64_t positions, int64_t channels) {
  NormReference r{std::vector<double>(static_cast<size_t>(channels)),
                  std::vector<double>(static_cast<size_t>(channels))};
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

/// Concatenates the two sums of `channels` that a kernel with workspace computes.
std::vector<double> sums_of(NormShape shape, const std::function<void(double* workspace, double* a, double* b)>& run) {
  const double poison = std::numeric_limits<double>::quiet_NaN();
  std::vector<double> first, second;
  written<double>(batch_norm_workspace(shape.positions, shape.channels), poison, [&](double* workspace) {
    first = written<double>(shape.channels, poison, [&](double* a) {
      second = written<double>(shape.channels, poison, [&](double* b) { run(workspace, a, b); });
    });
  });
  return joined(first, second);
}

/// mean, variance and inv_std of the sums of `total` positions.
std::vector<float> moments_of(const std::vector<double>& sums, int64_t total, float epsilon = 1e-3F) {
  const int64_t channels = static_cast<int64_t>(sums.size()) / 2;
  return written_floats(3 * channels, [&](float* out) {
    batch_norm_moments(sums.data(), sums.data() + channels, total, epsilon, channels, out, out + channels,
                       out + 2 * channels);
  });
}

std::vector<double> sums_of(const std::vector<float>& x, int64_t first, int64_t positions, int64_t channels) {
  return sums_of({positions, channels}, [&](double* workspace, double* sum, double* sum_sq) {
    batch_norm_sums(x.data() + first * channels, positions, channels, workspace, sum, sum_sq);
  });
}

std::vector<float> rounded(const std::vector<double>& values) { return {values.begin(), values.end()}; }

TEST(BatchNorm, MomentsFarFromZero) {
  for (const NormShape shape : kBatchNormShapes) {
    SCOPED_TRACE(testing::Message() << shape.positions << " x " << shape.channels);
    const std::vector<float> x = random_floats(shape.positions * shape.channels, 1, 99.0F, 101.0F);
    NormReference expected = moments(x, shape.positions, shape.channels);
    std::vector<double> inv_std;
    for (double& m2 : expected.m2) {
      m2 /= static_cast<double>(shape.positions);
      inv_std.push_back(1.0 / std::sqrt(m2 + 1e-3));
    }
    // A variance of 1/3 at a mean of 100: squares in double lose less than a float's last bit.
    agrees(joined(joined(expected.mean, expected.m2), inv_std), 3e-7, 1e-9,
           [&] { return moments_of(sums_of(x, 0, shape.positions, shape.channels), shape.positions); });
  }
}

TEST(BatchNorm, NoPositions) {
  agrees({0, 0, 0, 0, 0.5, 0.5}, 0.0, 0.0, [] { return moments_of(sums_of({}, 0, 0, 2), 0, 4.0F); });
}

TEST(BatchNorm, VarianceOfConstantsIsNotNegativeAndKeepsNaN) {
  std::vector<float> x(37, 0.1F);
  agrees({static_cast<double>(0.1F), 0.0, 1.0}, 1e-7, 1e-15,
         [&] { return moments_of(sums_of(x, 0, 37, 1), 37, 1.0F); });
  x[5] = std::numeric_limits<float>::quiet_NaN();
  test::on_every_target([&] {
    for (const float moment : moments_of(sums_of(x, 0, 37, 1), 37)) EXPECT_TRUE(std::isnan(moment));
  });
}

/// Adds replicas' sums in rank order: the same bits for any split of the samples, forward and backward.
TEST(BatchNorm, BitsAreIndependentOfTheSplitOfSamples) {
  constexpr int64_t kSamples = 7, kSpatial = 300;
  const std::vector<std::vector<int64_t>> cuts{
      {7}, {3, 4}, {1, 6}, {0, 7}, {7, 0}, {2, 2, 3}, std::vector<int64_t>(7, 1)};
  for (uint32_t seed = 0; seed < 12; ++seed) {
    const int64_t channels = std::vector<int64_t>{1, 5, 16, 64}[seed % 4], positions = kSamples * kSpatial;
    SCOPED_TRACE(testing::Message() << "seed " << seed << ", " << channels << " channels");
    const float middle = static_cast<float>(seed / 4) * 3.0F;
    const std::vector<float> x = random_floats(positions * channels, 4 * seed, middle - 2.0F, middle + 2.0F),
                             dy = random_floats(positions * channels, 4 * seed + 1),
                             output = random_floats(positions * channels, 4 * seed + 2);
    const auto bits = [&](const std::vector<int64_t>& cut) {
      const auto over_parts = [&](const auto& sums_of_part) {
        std::vector<double> total(static_cast<size_t>(2 * channels));
        int64_t first = 0;
        for (const int64_t samples : cut) {
          const std::vector<double> part = sums_of_part(first * kSpatial, samples * kSpatial);
          std::transform(part.begin(), part.end(), total.begin(), total.begin(), std::plus<>());
          first += samples;
        }
        return total;
      };
      const std::vector<float> stats = moments_of(
          over_parts([&](int64_t first, int64_t count) { return sums_of(x, first, count, channels); }), positions);
      const std::vector<double> sums = over_parts([&](int64_t first, int64_t count) {
        const int64_t at = first * channels;
        const BatchNormGradient gradient{x.data() + at, dy.data() + at, output.data() + at, stats.data(),
                                         stats.data() + 2 * channels};
        return sums_of({count, channels}, [&](double* workspace, double* sum_dy, double* sum_dy_xhat) {
          batch_norm_gradient_sums(gradient, count, channels, workspace, sum_dy, sum_dy_xhat);
        });
      });
      std::vector<float> all = rounded(sums);
      all.insert(all.end(), stats.begin(), stats.end());
      return all;
    };
    test::on_every_target([&] {
      const std::vector<float> whole = bits(cuts[0]);
      for (const std::vector<int64_t>& cut : cuts)
        EXPECT_EQ(std::memcmp(bits(cut).data(), whole.data(), whole.size() * sizeof(float)), 0)
            << cut.size() << " parts, the first of " << cut[0];
    });
  }
}

TEST(BatchNorm, CoefficientsAndApply) {
  for (const NormShape shape : kBatchNormShapes) {
    const int64_t positions = shape.positions, channels = shape.channels, n = positions * channels;
    const std::vector<float> x = random_floats(n, 3), mean = random_floats(channels, 4),
                             gamma = random_floats(channels, 5), beta = random_floats(channels, 6),
                             variance = random_floats(channels, 7, 0.1F, 2.0F), addend = random_floats(n, 8);
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
        // x scale and offset are up to 2 / sqrt(0.1) x 2 and cancel.
        agrees(relu ? y_relu : y, 1e-6, 4e-6, [&] {
          return written_floats(n, [&](float* out) {
            batch_norm_apply(x.data(), {.scale = scale.data(), .offset = offset.data(), .relu = relu}, positions,
                             channels, out);
          });
        });
        std::vector<double> sum;
        for (int64_t i = 0; i < n; ++i) {
          const double value = y[static_cast<size_t>(i)] + at(addend, i);
          sum.push_back(relu ? std::max(value, 0.0) : value);
        }
        agrees(sum, 1e-6, 4e-6, [&] {
          return written_floats(n, [&](float* out) {
            batch_norm_apply(x.data(),
                             {.scale = scale.data(), .offset = offset.data(), .addend = addend.data(), .relu = relu},
                             positions, channels, out);
          });
        });
      }
    }
  }
}

/// Compares gradients with central differences of the whole forward pass in double, followed by ReLU.
TEST(BatchNorm, BackwardIsTheDerivativeOfForward) {
  const NormShape shape{13, 5};
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
  const NormReference r = moments(x, shape.positions, shape.channels);
  std::vector<float> mean, inv_std;
  for (size_t c = 0; c < 5; ++c) {
    mean.push_back(static_cast<float>(r.mean[c]));
    inv_std.push_back(static_cast<float>(1.0 / std::sqrt(r.m2[c] / 13.0 + epsilon)));
  }
  const BatchNormGradient gradient{x.data(), dy.data(), output.data(), mean.data(), inv_std.data()};
  agrees(expected, 1e-5, 1e-5, [&] {
    const std::vector<float> sums = rounded(sums_of(shape, [&](double* workspace, double* sum_dy, double* sum_dy_xhat) {
      batch_norm_gradient_sums(gradient, shape.positions, shape.channels, workspace, sum_dy, sum_dy_xhat);
    }));
    return written_floats(n, [&](float* dx) {
      batch_norm_gradient_apply(gradient, gamma.data(), sums.data(), sums.data() + 5, 13, shape.positions,
                                shape.channels, dx);
    });
  });
}

TEST(BatchNorm, GradientSumsAndApplyOfLargerShapes) {
  for (const NormShape shape : kBatchNormShapes) {
    const int64_t positions = shape.positions, channels = shape.channels;
    const int64_t n = positions * channels, total = positions + 7;  // other replicas have the rest
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
      agrees(joined(sum_dy, sum_dy_xhat), 1e-7, 1e-10, [&] {
        return sums = rounded(sums_of(shape, [&](double* workspace, double* a, double* b) {
                 batch_norm_gradient_sums(gradient, positions, channels, workspace, a, b);
               }));
      });
      agrees(dx, 1e-5, 2e-5, [&] {
        return written_floats(n, [&](float* out) {
          batch_norm_gradient_apply(gradient, nullptr, sums.data(), sums.data() + channels, total, positions, channels,
                                    out);
        });
      });
      agrees(dx_frozen, 1e-6, 0.0, [&] {
        return written_floats(n, [&](float* out) {
          batch_norm_gradient_frozen(dy.data(), gradient.output, kNoCeiling, gamma.data(), positions, channels, out);
        });
      });
    }
  }
}

/// Large outputs on a cache line that later passes read are stored with non-temporal stores.
TEST(BatchNorm, LargeOutputsAreTheSameAtAnyAddress) {
  constexpr int64_t kPositions = 16411, kChannels = 128, kSize = kPositions * kChannels;
  static_assert(kSize > int64_t{2} << 20);
  const std::vector<float> x = random_floats(kSize, 26), scale = random_floats(kChannels, 27),
                           offset = random_floats(kChannels, 28);
  std::vector<float> memory(static_cast<size_t>(kSize) + 2 * 16, 7.0F);
  float* const line = memory.data() + (64 - reinterpret_cast<uintptr_t>(memory.data()) % 64) / sizeof(float);
  test::on_every_target([&] {
    for (const bool relu : {false, true}) {
      BatchNormAffine affine{
          .scale = scale.data(), .offset = offset.data(), .addend = x.data(), .relu = relu, .non_temporal = true};
      test::use_threads(3);
      batch_norm_apply(x.data(), affine, kPositions, kChannels, line);
      test::use_threads(1);
      EXPECT_EQ(line[-1], 7.0F);
      EXPECT_EQ(line[kSize], 7.0F);
      const std::vector<float> streamed(line, line + kSize);
      batch_norm_apply(x.data(), affine, kPositions, kChannels, line + 1);
      EXPECT_EQ(std::memcmp(streamed.data(), line + 1, streamed.size() * sizeof(float)), 0);
      affine.non_temporal = false;
      batch_norm_apply(x.data(), affine, kPositions, kChannels, line);
      EXPECT_EQ(std::memcmp(streamed.data(), line, streamed.size() * sizeof(float)), 0);
      std::fill(memory.begin(), memory.end(), 7.0F);
    }
  });
}

/// The ceiling of a relu6, compared with a separate clip after the normalization.
TEST(BatchNorm, ACeilingClipsOutputsAndGradients) {
  constexpr float kCeiling = 0.4F;
  for (const NormShape shape : kBatchNormShapes) {
    SCOPED_TRACE(testing::Message() << shape.positions << " x " << shape.channels);
    const int64_t positions = shape.positions, channels = shape.channels, n = positions * channels;
    const std::vector<float> x = random_floats(n, 30), dy = random_floats(n, 31), mean = random_floats(channels, 32),
                             inv_std = random_floats(channels, 33, 0.5F, 2.0F), scale = random_floats(channels, 34),
                             offset = random_floats(channels, 35), addend = random_floats(n, 36);
    test::on_every_target([&] {
      const auto applied = [&](const BatchNormAffine& affine) {
        return written_floats(n, [&](float* y) { batch_norm_apply(x.data(), affine, positions, channels, y); });
      };
      BatchNormAffine affine{.scale = scale.data(), .offset = offset.data(), .relu = true};
      std::vector<float> output, allowed;
      for (const float* const plus : {addend.data(), static_cast<const float*>(nullptr)}) {
        affine.addend = plus;
        affine.ceiling = kNoCeiling;
        std::vector<float> expected = applied(affine);
        allowed = dy;
        for (size_t i = 0; i < expected.size(); ++i) {
          expected[i] = std::min(expected[i], kCeiling);
          if (expected[i] <= 0.0F || expected[i] >= kCeiling) allowed[i] = 0.0F;
        }
        affine.ceiling = kCeiling;
        output = applied(affine);
        EXPECT_EQ(output, expected);
      }
      const BatchNormGradient plain{x.data(), allowed.data(), nullptr, mean.data(), inv_std.data()};
      BatchNormGradient by_output{x.data(), dy.data(), output.data(), mean.data(), inv_std.data()};
      BatchNormGradient by_input{x.data(),       dy.data(),    nullptr,      mean.data(),
                                 inv_std.data(), scale.data(), offset.data()};
      by_output.ceiling = by_input.ceiling = kCeiling;
      const auto results = [&](const BatchNormGradient& g) {
        std::vector<float> all = rounded(sums_of(shape, [&](double* workspace, double* a, double* b) {
          batch_norm_gradient_sums(g, positions, channels, workspace, a, b);
        }));
        const std::vector<float> sums = all,
                                 dx = written_floats(n, [&](float*out) {
                                   batch_norm_gradient_apply(g, nullptr, sums.data(), sums.data() + channels, positions,
                                                             positions, channels, out);
                                 });
        all.insert(all.end(), dx.begin(), dx.end());
        return all;
      };
      const std::vector<float> expected = results(plain);
      EXPECT_EQ(results(by_output), expected);
      EXPECT_EQ(results(by_input), expected);
      const auto frozen = [&](const float* g, const float* masking) {
        return written_floats(n, [&](float* dx) {
          batch_norm_gradient_frozen(g, masking, kCeiling, scale.data(), positions, channels, dx);
        });
      };
      EXPECT_EQ(frozen(dy.data(), output.data()), frozen(allowed.data(), nullptr));
    });
  }
}

/// The mask from x, scale and offset equals that of the output bit by bit, and a masked dy gives the same as the mask.
TEST(BatchNorm, EveryKindOfMaskGivesTheSameBits) {
  for (const NormShape shape : kBatchNormShapes) {
    SCOPED_TRACE(testing::Message() << shape.positions << " x " << shape.channels);
    const int64_t positions = shape.positions, channels = shape.channels, n = positions * channels;
    const std::vector<float> x = random_floats(n, 20), dy = random_floats(n, 21), mean = random_floats(channels, 22),
                             inv_std = random_floats(channels, 23, 0.5F, 2.0F), scale = random_floats(channels, 24),
                             offset = random_floats(channels, 25);
    test::on_every_target([&] {
      std::vector<float> output(x.size());
      batch_norm_apply(x.data(), {.scale = scale.data(), .offset = offset.data(), .relu = true}, positions, channels,
                       output.data());
      /// sums, dx
      const auto results = [&](const BatchNormGradient& g, float* masked, const BatchNormGradient& then) {
        std::vector<float> all = rounded(sums_of(shape, [&](double* workspace, double* a, double* b) {
          batch_norm_gradient_sums(g, positions, channels, workspace, a, b, masked);
        }));
        const std::vector<float> sums = all,
                                 dx = written_floats(n, [&](float*out) {
                                   batch_norm_gradient_apply(then, nullptr, sums.data(), sums.data() + channels,
                                                             positions, positions, channels, out);
                                 });
        all.insert(all.end(), dx.begin(), dx.end());
        return all;
      };
      const BatchNormGradient by_output{x.data(), dy.data(), output.data(), mean.data(), inv_std.data()};
      const BatchNormGradient by_input{x.data(),       dy.data(),    nullptr,      mean.data(),
                                       inv_std.data(), scale.data(), offset.data()};
      const std::vector<float> expected = results(by_output, nullptr, by_output);
      const auto same = [&](const std::vector<float>& found) {
        return found.size() == expected.size() &&
               std::memcmp(found.data(), expected.data(), found.size() * sizeof(float)) == 0;
      };
      EXPECT_TRUE(same(results(by_input, nullptr, by_input)));
      for (const bool in_place : {false, true}) {
        std::vector<float> gradient = dy, masked(gradient.size());
        float* const to = in_place ? gradient.data() : masked.data();
        const BatchNormGradient first{x.data(), gradient.data(), output.data(), mean.data(), inv_std.data()};
        const BatchNormGradient then{x.data(), to, nullptr, mean.data(), inv_std.data()};
        EXPECT_TRUE(same(results(first, to, then))) << (in_place ? "in place" : "to another array");
        for (size_t i = 0; i < x.size(); ++i) ASSERT_EQ(to[i], output[i] > 0.0F ? dy[i] : 0.0F) << i;
      }
    });
  }
}

TEST(BatchNormTest, SumsOfPiecesEqualTheTotal) {
  constexpr int64_t kPositions = 2048, kChannels = 256;
  const int64_t step = batch_norm_step(kPositions, kChannels);
  ASSERT_EQ(step, 64);
  const std::vector<float> x = test::random_floats(kPositions * kChannels, 31);
  const auto sums = [&](const std::vector<int64_t>& cuts) {
    std::vector<double> workspace(static_cast<size_t>(batch_norm_workspace(kPositions, kChannels)), NAN);
    std::vector<double> all(2 * kChannels);
    if (cuts.empty()) {
      batch_norm_sums(x.data(), kPositions, kChannels, workspace.data(), all.data(), all.data() + kChannels);
      return all;
    }
    int64_t begin = 0;
    for (const int64_t end : cuts) {
      batch_norm_add(x.data(), begin, end, kPositions, kChannels, workspace.data());
      begin = end;
    }
    batch_norm_add_up(kPositions, kChannels, workspace.data(), all.data(), all.data() + kChannels);
    return all;
  };
  test::on_every_target([&] {
    const std::vector<double> whole = sums({});
    EXPECT_EQ(sums({kPositions}), whole);
    EXPECT_EQ(sums({5 * step, 12 * step, kPositions}), whole) << "of several steps";
    EXPECT_EQ(sums({17, 40, step, 2 * step, kPositions}), whole) << "within a step";
  });
}

}  // namespace
}  // namespace dptrain::kernels::cpu
