#include "kernels/cuda/batch_norm.h"

#include <algorithm>
#include <array>

#include "kernels/cpu/batch_norm.h"
#include "kernels_cuda/support.h"

namespace dptrain::kernels::DPTRAIN_BACKEND::test {
namespace {

struct BatchNormShape {
  std::int64_t positions, channels;
};
// Channels in whole vectors and not; pieces of several positions; sizes around a tile of 32 columns and 64 positions.
constexpr std::array kBatchNormShapes{BatchNormShape{1, 1},     BatchNormShape{5, 3},     BatchNormShape{37, 8},
                                      BatchNormShape{61, 24},   BatchNormShape{600, 5},   BatchNormShape{9, 129},
                                      BatchNormShape{140, 264}, BatchNormShape{1100, 16}, BatchNormShape{63, 31},
                                      BatchNormShape{64, 32},   BatchNormShape{65, 33},   BatchNormShape{129, 65}};
constexpr float kEpsilon = 1e-3F;

std::string name(const BatchNormShape& shape) {
  return std::to_string(shape.positions) + " x " + std::to_string(shape.channels);
}

void on_every_shape(const std::function<void(const BatchNormShape&, DType, int)>& f) {
  for (const BatchNormShape& shape : kBatchNormShapes) {
    SCOPED_TRACE(name(shape));
    on_every_type([&](DType type, int offset) { f(shape, type, offset); });
  }
}

void expect_doubles(const std::vector<double>& expected, const std::vector<double>& found, double absolute) {
  ASSERT_EQ(expected.size(), found.size());
  for (std::size_t i = 0; i < expected.size(); ++i) ASSERT_NEAR(expected[i], found[i], absolute) << "element " << i;
}

struct Sums {
  std::vector<double> sum, product;
};

Sums sums_of(const std::vector<float>& x, std::int64_t channels) {
  const auto n = static_cast<std::size_t>(channels);
  Sums sums{std::vector<double>(n, 0.0), std::vector<double>(n, 0.0)};
  for (std::size_t i = 0; i < x.size(); ++i) {
    sums.sum[i % n] += static_cast<double>(x[i]);
    sums.product[i % n] += static_cast<double>(x[i]) * static_cast<double>(x[i]);
  }
  return sums;
}

std::vector<double> slice(const std::vector<double>& values, std::int64_t begin, std::int64_t n) {
  return {values.begin() + begin, values.begin() + begin + n};
}

TEST(BatchNorm, SumsEqualThoseOfDoubles) {
  on_every_shape([](const BatchNormShape& shape, DType type, int offset) {
    Tensor x(type, random_floats(shape.positions * shape.channels, 1, -1.0F, 3.0F), offset);
    Array<double> workspace(batch_norm_workspace(type, shape.positions, shape.channels));
    Array<double> message(batch_norm_message(shape.channels));
    batch_norm_sums(test_launch(), type, x.data(), shape.positions, shape.channels, workspace.data(),
                    batch_norm_message_sums(message.data(), shape.channels));
    const Sums expected = sums_of(x.read(), shape.channels);
    const std::vector<double> found = message.read();
    EXPECT_EQ(found[0], static_cast<double>(shape.positions));
    // Up to 1100 terms below 9, in another order: sums in float would have errors of 1e-4.
    expect_doubles(expected.sum, slice(found, 1, shape.channels), 1e-9);
    expect_doubles(expected.product, slice(found, 1 + shape.channels, shape.channels), 1e-9);
  });
}

TEST(BatchNorm, WorkspaceGrowsWithPositions) {
  for (const std::int64_t channels : {3, 64, 600}) {
    std::int64_t last = 0;
    for (std::int64_t positions = 0; positions < 200000; positions += 777) {
      const std::int64_t scratch = batch_norm_workspace(DType::kBf16, positions, channels);
      EXPECT_GE(scratch, last);
      last = scratch;
    }
  }
}

/// Two replicas with parts of the positions round to the same floats as one with all.
TEST(BatchNorm, MessagesOfReplicasAddUp) {
  const std::int64_t channels = 10, positions = 1500, first = 411, size = batch_norm_message(channels);
  const std::vector<float> values = random_floats(positions * channels, 2, -4.0F, 5.0F);
  Array<float> x(values);
  Array<double> workspace(batch_norm_workspace(DType::kF32, positions, channels)), whole(size), parts(3 * size),
      sum(size);
  const auto add_up = [&](const float* from, std::int64_t n, double* to) {
    batch_norm_sums(test_launch(), DType::kF32, from, n, channels, workspace.data(),
                    batch_norm_message_sums(to, channels));
  };
  add_up(x.data(), positions, whole.data());
  add_up(x.data(), first, parts.data());
  add_up(x.data(), 0, parts.data() + size);  // a replica without rows
  add_up(x.data() + first * channels, positions - first, parts.data() + 2 * size);
  EXPECT_EQ(slice(parts.read(), size, size), std::vector<double>(static_cast<std::size_t>(size), 0.0));
  batch_norm_add_messages(test_launch(), parts.data(), 3, channels, sum.data());
  EXPECT_EQ(sum.read()[0], static_cast<double>(positions));

  Array<float> of_whole(channels), of_parts(channels), variance_of_whole(channels), variance_of_parts(channels);
  const BatchNormSums w = batch_norm_message_sums(whole.data(), channels);
  const BatchNormSums s = batch_norm_message_sums(sum.data(), channels);
  batch_norm_moments(test_launch(), w.sum, w.product, {.known = positions}, kEpsilon, nullptr, nullptr, channels,
                     {.mean = of_whole.data(), .variance = variance_of_whole.data()});
  batch_norm_moments(test_launch(), s.sum, s.product, {.counted = sum.data()}, kEpsilon, nullptr, nullptr, channels,
                     {.mean = of_parts.data(), .variance = variance_of_parts.data()});
  EXPECT_EQ(of_whole.read(), of_parts.read());
  EXPECT_EQ(variance_of_whole.read(), variance_of_parts.read());
}

TEST(BatchNorm, MomentsAndCoefficientsEqualTheCpu) {
  const std::int64_t channels = 7, total = 12;
  std::vector<double> sum, sum_sq;
  for (std::int64_t c = 0; c < channels; ++c) {
    const double mean = 3.0 * static_cast<double>(c) - 4.0, variance = static_cast<double>(c) / 2;
    sum.push_back(mean * total);
    sum_sq.push_back((variance + mean * mean) * total - (c == 0 ? 1e-9 : 0.0));  // the first slightly below zero
  }
  const std::vector<float> gamma = random_floats(channels, 3), beta = random_floats(channels, 4);
  const auto n = static_cast<std::size_t>(channels);
  std::vector<float> mean(n), variance(n), inv_std(n), scale(n), offset(n);
  cpu::batch_norm_moments(sum.data(), sum_sq.data(), total, kEpsilon, channels, mean.data(), variance.data(),
                          inv_std.data());
  cpu::batch_norm_coefficients(mean.data(), variance.data(), gamma.data(), beta.data(), kEpsilon, channels,
                               scale.data(), offset.data());

  Array<double> sums(sum), squares(sum_sq);
  Array<float> g(gamma), b(beta);
  Array<float> m(channels), v(channels), i(channels), s(channels), o(channels), sm(channels), sv(channels);
  batch_norm_moments(test_launch(), sums.data(), squares.data(), {.known = total}, kEpsilon, g.data(), b.data(),
                     channels,
                     {.mean = m.data(),
                      .variance = v.data(),
                      .inv_std = i.data(),
                      .scale = s.data(),
                      .offset = o.data(),
                      .statistics_mean = sm.data(),
                      .statistics_variance = sv.data(),
                      .statistics_share = 0.5F,
                      .unbiased = true});
  const auto doubles = [](const std::vector<float>& values) {
    return std::vector<double>(values.begin(), values.end());
  };
  const auto expect = [&](const std::vector<float>& expected, const Array<float>& found) {
    expect_near(DType::kF32, doubles(expected), found.read(), 2e-7, 1e-6);
  };
  expect(mean, m);
  expect(variance, v);
  expect(inv_std, i);
  expect(scale, s);
  expect(offset, o);
  for (std::size_t c = 0; c < n; ++c) {
    EXPECT_FLOAT_EQ(sm.read()[c], 0.5F * mean[c]);
    EXPECT_FLOAT_EQ(sv.read()[c], 0.5F * variance[c] * 12 / 11);
  }
  EXPECT_EQ(v.read()[0], 0.0F);

  batch_norm_coefficients(test_launch(), m.data(), v.data(), g.data(), b.data(), kEpsilon, channels, sm.data(),
                          sv.data(), i.data());
  EXPECT_EQ(sm.read(), s.read());
  EXPECT_EQ(sv.read(), o.read());
  batch_norm_coefficients(test_launch(), m.data(), v.data(), nullptr, nullptr, kEpsilon, channels, sm.data(), sv.data(),
                          nullptr);
  EXPECT_EQ(sm.read(), i.read());

  batch_norm_share(test_launch(), m.data(), 0.25F, channels, m.data());
  for (std::size_t c = 0; c < n; ++c) EXPECT_FLOAT_EQ(m.read()[c], 0.25F * mean[c]);
}

TEST(BatchNorm, MomentsOfOneAndOfNoPosition) {
  Array<double> sum(std::vector<double>{3.0}), square(std::vector<double>{9.0}), none(std::vector<double>{0.0});
  Array<float> mean(1), variance(1), unbiased(1);
  const BatchNormMoments to{
      .mean = mean.data(), .variance = variance.data(), .statistics_variance = unbiased.data(), .unbiased = true};
  batch_norm_moments(test_launch(), sum.data(), square.data(), {.known = 1}, kEpsilon, nullptr, nullptr, 1, to);
  EXPECT_EQ(mean.read()[0], 3.0F);
  EXPECT_EQ(variance.read()[0], 0.0F);
  EXPECT_EQ(unbiased.read()[0], 0.0F);
  batch_norm_moments(test_launch(), none.data(), none.data(), {.counted = none.data()}, kEpsilon, nullptr, nullptr, 1,
                     to);
  EXPECT_EQ(mean.read()[0], 0.0F);
  EXPECT_EQ(variance.read()[0], 0.0F);
}

TEST(BatchNorm, Apply) {
  on_every_shape([](const BatchNormShape& shape, DType type, int offset) {
    const std::int64_t n = shape.positions * shape.channels;
    Tensor x(type, random_floats(n, 5), offset), y(type, n, offset);
    Array<float> scale(random_floats(shape.channels, 6)), shift(random_floats(shape.channels, 7));
    for (const bool relu : {false, true}) {
      std::vector<double> expected;
      const std::vector<float> values = x.read(), a = scale.read(), b = shift.read();
      for (std::int64_t i = 0; i < n; ++i) {
        const double value = at(values, i) * at(a, i % shape.channels) + at(b, i % shape.channels);
        expected.push_back(relu ? std::max(value, 0.0) : value);
      }
      batch_norm_apply(test_launch(), type, x.data(),
                       {.scale = scale.data(), .offset = shift.data(), .addend = nullptr, .relu = relu},
                       shape.positions, shape.channels, y.data());
      expect_near(type, expected, y.read(), 1e-6, 1e-6);
    }
    batch_norm_apply(test_launch(), type, x.data(),
                     {.scale = scale.data(), .offset = shift.data(), .addend = nullptr, .relu = true}, shape.positions,
                     shape.channels, x.data());
    EXPECT_EQ(x.read(), y.read());
  });
}

TEST(BatchNorm, ApplyAdds) {
  on_every_shape([](const BatchNormShape& shape, DType type, int offset) {
    const std::int64_t n = shape.positions * shape.channels;
    Tensor x(type, random_floats(n, 5), offset), other(type, random_floats(n, 14), offset), y(type, n, offset);
    Array<float> scale(random_floats(shape.channels, 6)), shift(random_floats(shape.channels, 7));
    for (const bool relu : {false, true}) {
      std::vector<double> expected;
      const std::vector<float> values = x.read(), b = other.read(), a = scale.read(), o = shift.read();
      for (std::int64_t i = 0; i < n; ++i) {
        const double value = at(values, i) * at(a, i % shape.channels) + at(o, i % shape.channels) + at(b, i);
        expected.push_back(relu ? std::max(value, 0.0) : value);
      }
      const BatchNormAffine affine{.scale = scale.data(), .offset = shift.data(), .addend = other.data(), .relu = relu};
      batch_norm_apply(test_launch(), type, x.data(), affine, shape.positions, shape.channels, y.data());
      expect_near(type, expected, y.read(), 1e-6, 1e-6);
      if (relu) batch_norm_apply(test_launch(), type, x.data(), affine, shape.positions, shape.channels, other.data());
    }
    EXPECT_EQ(other.read(), y.read());
  });
}

TEST(BatchNorm, StatisticsEqualTheMomentsOfTheSums) {
  on_every_shape([](const BatchNormShape& shape, DType type, int offset) {
    const std::int64_t channels = shape.channels;
    Tensor x(type, random_floats(shape.positions * channels, 1, -1.0F, 3.0F), offset);
    Array<double> workspace(batch_norm_workspace(type, shape.positions, channels)), message(2 * channels);
    Array<float> gamma(random_floats(channels, 3)), beta(random_floats(channels, 4));
    std::vector<float> found[2];
    for (const bool at_once_too : {false, true}) {
      Array<float> vectors(7 * channels);
      const auto vector = [&](std::int64_t i) { return vectors.data() + i * channels; };
      const BatchNormMoments moments{.mean = vector(0),
                                     .variance = vector(1),
                                     .inv_std = vector(2),
                                     .scale = vector(3),
                                     .offset = vector(4),
                                     .statistics_mean = vector(5),
                                     .statistics_variance = vector(6),
                                     .statistics_share = 0.5F,
                                     .unbiased = true};
      if (at_once_too) {
        batch_norm_statistics(test_launch(), type, x.data(), shape.positions, kEpsilon, gamma.data(), beta.data(),
                              channels, workspace.data(), moments);
      } else {
        double *const sum = message.data(), *const square = sum + channels;
        batch_norm_sums(test_launch(), type, x.data(), shape.positions, channels, workspace.data(),
                        {.sum = sum, .product = square});
        batch_norm_moments(test_launch(), sum, square, {.known = shape.positions}, kEpsilon, gamma.data(), beta.data(),
                           channels, moments);
      }
      found[at_once_too ? 1 : 0] = vectors.read();
    }
    EXPECT_EQ(found[0], found[1]);
  });
}

/// Source of a gradient's mask.
enum class Mask { kNone, kOutput, kAffine };
constexpr std::array kMasks{Mask::kNone, Mask::kOutput, Mask::kAffine};

/// Inputs of a gradient, and its sums by plain loops. The output is that of batch_norm_apply.
struct GradientCase {
  std::int64_t positions, channels;
  Tensor x, dy, output;
  Array<float> mean, inv_std, gamma, scale, shift;
  Mask mask;
  std::vector<double> expected_dy, expected_dy_xhat;

  GradientCase(const BatchNormShape& shape, DType type, int offset, Mask from)
      : positions(shape.positions),
        channels(shape.channels),
        x(type, random_floats(positions * channels, 8), offset),
        dy(type, random_floats(positions * channels, 9), offset),
        output(type, positions * channels, offset),
        mean(random_floats(channels, 11)),
        inv_std(random_floats(channels, 12, 0.5F, 2.0F)),
        gamma(random_floats(channels, 13)),
        scale(random_floats(channels, 10)),
        shift(random_floats(channels, 15)),
        mask(from),
        expected_dy(static_cast<std::size_t>(channels), 0.0),
        expected_dy_xhat(expected_dy) {
    batch_norm_apply(test_launch(), type, x.data(),
                     {.scale = scale.data(), .offset = shift.data(), .addend = nullptr, .relu = true}, positions,
                     channels, output.data());
    const std::vector<double> g = gradients(), h = xhat();
    for (std::size_t i = 0; i < g.size(); ++i) {
      expected_dy[i % expected_dy.size()] += g[i];
      expected_dy_xhat[i % expected_dy.size()] += g[i] * h[i];
    }
  }
  BatchNormGradient gradient() const {
    return {.x = x.data(),
            .dy = dy.data(),
            .output = mask == Mask::kOutput ? output.data() : nullptr,
            .mean = mean.data(),
            .inv_std = inv_std.data(),
            .scale = mask == Mask::kAffine ? scale.data() : nullptr,
            .offset = shift.data()};
  }
  std::vector<double> gradients() const {
    const std::vector<float> g = dy.read(), gate = output.read();
    std::vector<double> values(g.begin(), g.end());
    for (std::size_t i = 0; i < values.size(); ++i)
      if (mask != Mask::kNone && gate[i] <= 0.0F) values[i] = 0.0;
    return values;
  }
  std::vector<double> xhat() const {
    const std::vector<float> values = x.read(), m = mean.read(), s = inv_std.read();
    std::vector<double> normal;
    for (std::int64_t i = 0; i < positions * channels; ++i)
      normal.push_back((at(values, i) - at(m, i % channels)) * at(s, i % channels));
    return normal;
  }
};

TEST(BatchNorm, GradientSums) {
  on_every_shape([](const BatchNormShape& shape, DType type, int offset) {
    for (const Mask mask : kMasks) {
      const GradientCase c(shape, type, offset, mask);
      Array<double> workspace(batch_norm_workspace(type, c.positions, c.channels)),
          message(batch_norm_message(c.channels));
      Array<float> gamma_gradient(c.channels), beta_gradient(c.channels);
      const BatchNormSums sums = batch_norm_message_sums(message.data(), c.channels);
      batch_norm_gradient_sums(test_launch(), type, c.gradient(), c.positions, c.channels, workspace.data(), sums,
                               gamma_gradient.data(), beta_gradient.data());
      const std::vector<double> found = message.read();
      EXPECT_EQ(found[0], static_cast<double>(c.positions));
      expect_doubles(c.expected_dy, slice(found, 1, c.channels), 1e-9);
      // x - mean is rounded to float before the product: up to 1100 terms of 1e-7.
      expect_doubles(c.expected_dy_xhat, slice(found, 1 + c.channels, c.channels), 5e-5);
      expect_near(DType::kF32, c.expected_dy, beta_gradient.read(), 1e-6, 1e-10);
      expect_near(DType::kF32, c.expected_dy_xhat, gamma_gradient.read(), 1e-6, 5e-5);
      batch_norm_gradient_sums(test_launch(), type, c.gradient(), c.positions, c.channels, workspace.data(), sums,
                               nullptr, nullptr);
      EXPECT_EQ(message.read(), found);
      Tensor left(type, c.positions * c.channels, offset);
      batch_norm_gradient_sums(test_launch(), type, c.gradient(), c.positions, c.channels, workspace.data(), sums,
                               nullptr, nullptr, left.data());
      EXPECT_EQ(message.read(), found);
      expect_near(type, c.gradients(), left.read(), 0, 0);
    }
  });
}

/// Numbers of very different sizes: the order of their sum in double changes its bits.
std::vector<float> uneven_floats(std::int64_t n, std::uint32_t seed) {
  std::vector<float> values = random_floats(n, seed);
  for (std::size_t i = 0; i < values.size(); ++i)
    values[i] = std::ldexp(values[i], static_cast<int>(i * 7919 % 61) - 30);
  return values;
}

double add_as_tree(std::vector<double> terms) {
  for (std::size_t half = terms.size() / 2; half > 0; half /= 2)
    for (std::size_t i = 0; i < half; ++i) terms[i] += terms[i + half];
  return terms.front();
}

/// The order of the kernels' sums: threads add their positions of a piece in ascending order, a tree adds the threads,
/// 32 threads and a tree add the pieces.
struct SumOrder {
  std::int64_t positions, piece, lanes;

  SumOrder(const BatchNormShape& shape, bool wide) : positions(shape.positions) {
    const std::int64_t columns = wide ? shape.channels / 4 : shape.channels;
    std::int64_t tile = 1;
    while (tile < 32 && tile < columns) tile *= 2;
    const std::int64_t pieces = std::max<std::int64_t>(1, 528 / ((columns + tile - 1) / tile));
    lanes = 256 / tile;
    piece = std::max(8 * lanes, (positions + pieces - 1) / pieces);
  }
  double sum(const std::function<double(std::int64_t)>& term) const {
    std::vector<double> last(32, 0.0);
    for (std::int64_t p = 0; p * piece < positions; ++p) {
      std::vector<double> mine(static_cast<std::size_t>(lanes), 0.0);
      for (std::int64_t i = 0; i < piece && p * piece + i < positions; ++i)
        mine[static_cast<std::size_t>(i % lanes)] += term(p * piece + i);
      last[static_cast<std::size_t>(p % 32)] += add_as_tree(mine);
    }
    return add_as_tree(last);
  }
};

/// Threads of 1 to 8 positions with tiles of 4, 8 and 32 columns, and once of 9 and 10.
std::vector<BatchNormShape> shapes_by_positions_of_a_thread() {
  std::vector<BatchNormShape> shapes;
  if (!dptrain::test::kThreadSanitizer) shapes.push_back({std::int64_t{528} * 577, 3});
  for (std::int64_t n = 1; n <= 8; ++n)
    for (const auto& [lanes, channels] : {std::pair{64, 3}, std::pair{32, 24}, std::pair{8, 128}})
      shapes.push_back({8 * lanes + n * lanes - lanes / 4, channels});
  return shapes;
}

TEST(BatchNorm, SumsHaveTheBitsOfAFixedOrder) {
  for (const BatchNormShape& shape : shapes_by_positions_of_a_thread()) {
    const std::int64_t positions = shape.positions, channels = shape.channels;
    for (const DType type : {DType::kF32, DType::kBf16}) {
      SCOPED_TRACE(name(shape) + " " + std::string(name_of(type)));
      Tensor x(type, uneven_floats(positions * channels, 21)), dy(type, uneven_floats(positions * channels, 22)),
          output(type, random_floats(positions * channels, 23));
      Array<float> mean(random_floats(channels, 24)), inv_std(random_floats(channels, 25, 0.5F, 2.0F)),
          scale(random_floats(channels, 26)), shift(random_floats(channels, 27));
      Array<double> workspace(batch_norm_workspace(type, positions, channels)), message(batch_norm_message(channels));
      const BatchNormSums to = batch_norm_message_sums(message.data(), channels);
      const std::vector<float> values = x.read(), slopes = dy.read(), outputs = output.read(), m = mean.read(),
                               factor = inv_std.read(), a = scale.read(), b = shift.read();
      const SumOrder order(shape, channels % 4 == 0);
      const auto expect = [&](const std::function<std::pair<float, float>(std::size_t, std::size_t)>& terms,
                              bool scales) {
        const std::vector<double> found = message.read();
        for (std::size_t c = 0; c < static_cast<std::size_t>(channels); ++c) {
          const auto of = [&](std::int64_t position) {
            return terms(static_cast<std::size_t>(position * channels) + c, c);
          };
          ASSERT_EQ(found[1 + c], order.sum([&](std::int64_t i) { return static_cast<double>(of(i).first); })) << c;
          const double product = order.sum([&](std::int64_t i) {
            const auto [u, v] = of(i);
            return static_cast<double>(u) * static_cast<double>(v);
          });
          ASSERT_EQ(found[1 + m.size() + c], scales ? product * static_cast<double>(factor[c]) : product) << c;
        }
      };
      batch_norm_sums(test_launch(), type, x.data(), positions, channels, workspace.data(), to);
      expect([&](std::size_t i, std::size_t) { return std::pair(values[i], values[i]); }, false);

      BatchNormGradient gradient{.x = x.data(), .dy = dy.data(), .mean = mean.data(), .inv_std = inv_std.data()};
      const auto expect_gradients = [&](const std::function<bool(std::size_t, std::size_t)>& is_open, void* masked) {
        batch_norm_gradient_sums(test_launch(), type, gradient, positions, channels, workspace.data(), to, nullptr,
                                 nullptr, masked);
        expect(
            [&](std::size_t i, std::size_t c) { return std::pair(is_open(i, c) ? slopes[i] : 0.0F, values[i] - m[c]); },
            true);
      };
      expect_gradients([](std::size_t, std::size_t) { return true; }, nullptr);
      gradient.scale = scale.data();
      gradient.offset = shift.data();
      expect_gradients([&](std::size_t i, std::size_t c) { return std::fmaf(values[i], a[c], b[c]) > 0.0F; }, nullptr);
      gradient.scale = nullptr;
      gradient.output = output.data();
      expect_gradients([&](std::size_t i, std::size_t) { return outputs[i] > 0.0F; }, dy.data());
    }
  }
}

TEST(BatchNorm, GradientApply) {
  on_every_shape([](const BatchNormShape& shape, DType type, int offset) {
    for (const Mask mask : kMasks) {
      GradientCase c(shape, type, offset, mask);
      const std::int64_t n = c.positions * c.channels, total = c.positions + 5;  // including another replica
      Array<double> sum_dy(c.expected_dy), sum_dy_xhat(c.expected_dy_xhat);
      Array<double> counted(std::vector<double>{static_cast<double>(total)});
      const std::vector<double> g = c.gradients(), h = c.xhat();
      const std::vector<float> scale = c.inv_std.read(), gamma = c.gamma.read();
      std::vector<double> expected, without_gamma;
      for (std::int64_t i = 0; i < n; ++i) {
        const auto k = static_cast<std::size_t>(i % c.channels), e = static_cast<std::size_t>(i);
        const double centred = g[e] - (c.expected_dy[k] + h[e] * c.expected_dy_xhat[k]) / static_cast<double>(total);
        without_gamma.push_back(static_cast<double>(scale[k]) * centred);
        expected.push_back(static_cast<double>(gamma[k]) * without_gamma.back());
      }
      Tensor dx(type, n, offset);
      batch_norm_gradient_apply(test_launch(), type, c.gradient(), nullptr, sum_dy.data(), sum_dy_xhat.data(),
                                {.known = total}, c.positions, c.channels, dx.data());
      expect_near(type, without_gamma, dx.read(), 1e-5, 1e-5);
      batch_norm_gradient_apply(test_launch(), type, c.gradient(), c.gamma.data(), sum_dy.data(), sum_dy_xhat.data(),
                                {.counted = counted.data()}, c.positions, c.channels, c.dy.data());
      expect_near(type, expected, c.dy.read(), 1e-5, 1e-5);
    }
  });
}

TEST(BatchNorm, GradientFrozen) {
  on_every_shape([](const BatchNormShape& shape, DType type, int offset) {
    for (const Mask mask : kMasks) {
      const GradientCase c(shape, type, offset, mask);
      Tensor dx(type, c.positions * c.channels, offset);
      std::vector<double> expected = c.gradients();
      const std::vector<float> scale = c.inv_std.read();
      for (std::size_t i = 0; i < expected.size(); ++i) expected[i] *= static_cast<double>(scale[i % scale.size()]);
      batch_norm_gradient_frozen(test_launch(), type, c.gradient(), c.inv_std.data(), c.positions, c.channels,
                                 dx.data());
      expect_near(type, expected, dx.read());
    }
  });
}

TEST(BatchNorm, NoPositions) {
  Array<double> workspace(batch_norm_workspace(DType::kF16, 0, 3)), message(7);
  batch_norm_sums(test_launch(), DType::kF16, nullptr, 0, 3, workspace.data(),
                  batch_norm_message_sums(message.data(), 3));
  EXPECT_EQ(message.read(), std::vector<double>(7, 0.0));
  batch_norm_apply(test_launch(), DType::kF16, nullptr, {}, 0, 3, nullptr);
}

TEST(BatchNorm, PropagatesNan) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  Array<float> x(std::vector<float>{1, nan, 2, 3}), one(std::vector<float>{1, 1}), zero(std::vector<float>{0, 0});
  batch_norm_apply(test_launch(), DType::kF32, x.data(),
                   {.scale = one.data(), .offset = zero.data(), .addend = nullptr, .relu = true}, 2, 2, x.data());
  EXPECT_TRUE(std::isnan(x.read()[1]));
  Array<double> workspace(batch_norm_workspace(DType::kF32, 2, 2)), sum(2), square(2);
  Array<float> mean(2), variance(2);
  batch_norm_sums(test_launch(), DType::kF32, x.data(), 2, 2, workspace.data(),
                  {.sum = sum.data(), .product = square.data()});
  batch_norm_moments(test_launch(), sum.data(), square.data(), {.known = 2}, kEpsilon, nullptr, nullptr, 2,
                     {.mean = mean.data(), .variance = variance.data()});
  EXPECT_FALSE(std::isnan(mean.read()[0]));
  EXPECT_TRUE(std::isnan(mean.read()[1]));
  EXPECT_TRUE(std::isnan(variance.read()[1]));
}

}  // namespace
}  // namespace dptrain::kernels::DPTRAIN_BACKEND::test
