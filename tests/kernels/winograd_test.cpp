#include "kernels/cpu/winograd.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <string>

#include "kernels/support.h"
#include "support/sanitizer.h"
#include "support/tier.h"

namespace dptrain::kernels::cpu {
namespace {

using namespace test;  // NOLINT(google-build-using-namespace)

/// A convolution of these extents, pads and channels; computes the output size.
WinogradShape shape(int64_t h, int64_t w, int64_t in, int64_t out, int64_t kernel, int64_t top, int64_t left,
                    int64_t bottom, int64_t right) {
  WinogradShape s;
  s.in_h = h;
  s.in_w = w;
  s.in_channels = in;
  s.out_channels = out;
  s.kernel_h = s.kernel_w = kernel;
  s.pad_top = top;
  s.pad_left = left;
  s.out_h = h + top + bottom - kernel + 1;
  s.out_w = w + left + right - kernel + 1;
  return s;
}

std::string text(const WinogradShape& s) {
  return std::string(winograd_tile(s)) + " " + std::to_string(s.in_h) + "x" + std::to_string(s.in_w) + "x" +
         std::to_string(s.in_channels) + " to " + std::to_string(s.out_h) + "x" + std::to_string(s.out_w) + "x" +
         std::to_string(s.out_channels) + (s.relu ? " relu" : "") + (s.pool ? " pool" : "");
}

int64_t input_size(const WinogradShape& s) { return s.in_h * s.in_w * s.in_channels; }
int64_t full_size(const WinogradShape& s) { return s.out_h * s.out_w * s.out_channels; }
int64_t output_size(const WinogradShape& s) {
  return s.pool ? s.out_h / 2 * (s.out_w / 2) * s.out_channels : full_size(s);
}
int64_t weights_size(const WinogradShape& s) { return s.kernel_h * s.kernel_w * s.in_channels * s.out_channels; }

/// Equal if all bits are, NaN included.
bool same_bits(const std::vector<float>& a, const std::vector<float>& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
}

/// Results of a batch.
struct Results {
  std::vector<float> y, dx, dweights, dbias;
  std::vector<uint8_t> argmax;
  bool operator==(const Results&) const = default;
};

struct Problem {
  WinogradShape s;
  int64_t rows;
  std::vector<float> x, weights, bias, dy;

  Problem(const WinogradShape& of, int64_t n, uint32_t seed)
      : s(of),
        rows(n),
        x(random_floats(n * input_size(of), seed, -1, 1)),
        weights(random_floats(weights_size(of), seed + 1, -1, 1)),
        bias(random_floats(of.out_channels, seed + 2, -1, 1)),
        dy(random_floats(n * output_size(of), seed + 3, -1, 1)) {}

  /// Runs all passes on the chosen instruction set with `threads` threads; the workspace is filled with NaN and must
  /// suffice.
  Results run(int threads) const {
    use_threads(threads);
    Results r;
    r.argmax.assign(dy.size(), 77);
    r.y = pass(rows * output_size(s), winograd_forward_workspace(s, rows, threads), [&](float* scratch, float* to) {
      winograd_forward(s, x.data(), weights.data(), bias.data(), rows, scratch, to, s.pool ? r.argmax.data() : nullptr);
    });
    r.dx =
        pass(rows * input_size(s), winograd_backward_data_workspace(s, rows, threads), [&](float* scratch, float* to) {
          winograd_backward_data(s, dy.data(), r.argmax.data(), weights.data(), rows, scratch, to);
        });
    r.dbias = written_floats(s.out_channels, [&](float* dbias) {
      r.dweights =
          pass(weights_size(s), winograd_backward_weights_workspace(s, rows, threads), [&](float* scratch, float* to) {
            winograd_backward_weights(s, x.data(), dy.data(), r.argmax.data(), rows, scratch, to, dbias);
          });
    });
    if (winograd_backward_workspace(s, rows, threads) > 0) expect_the_same_together(threads, r);
    use_threads(1);
    return r;
  }

 private:
  void expect_the_same_together(int threads, const Results& apart) const {
    std::vector<float> dx, dweights;
    const std::vector<float> dbias = written_floats(s.out_channels, [&](float* to_dbias) {
      dweights = written_floats(weights_size(s), [&](float* to_dweights) {
        dx = pass(rows * input_size(s), winograd_backward_workspace(s, rows, threads), [&](float* scratch, float* to) {
          winograd_backward(s, x.data(), dy.data(), apart.argmax.data(), weights.data(), rows, scratch, to, to_dweights,
                            to_dbias);
        });
      });
    });
    EXPECT_TRUE(same_bits(dx, apart.dx)) << text(s);
    EXPECT_TRUE(same_bits(dweights, apart.dweights)) << text(s);
    EXPECT_TRUE(same_bits(dbias, apart.dbias)) << text(s);
  }

  static std::vector<float> pass(int64_t size, int64_t workspace, const std::function<void(float*, float*)>& f) {
    std::vector<float> result;
    constexpr size_t kGuard = 32;
    std::vector<float> scratch(static_cast<size_t>(workspace) + 2 * kGuard, NAN);
    for (size_t i = 0; i < kGuard; ++i) scratch[i] = scratch[scratch.size() - 1 - i] = 123.0F;
    result = written_floats(size, [&](float* to) { f(scratch.data() + kGuard, to); });
    for (size_t i = 0; i < kGuard; ++i)
      EXPECT_TRUE(scratch[i] == 123.0F && scratch[scratch.size() - 1 - i] == 123.0F)
          << "wrote outside of the workspace";
    return result;
  }
};

/// Calls f(x index, weight index, index in the full output) for every product.
template <class F>
void each_product(const WinogradShape& s, int64_t rows, const F& f) {
  for (int64_t n = 0; n < rows; ++n)
    for (int64_t oh = 0; oh < s.out_h; ++oh)
      for (int64_t ow = 0; ow < s.out_w; ++ow)
        for (int64_t kh = 0; kh < s.kernel_h; ++kh)
          for (int64_t kw = 0; kw < s.kernel_w; ++kw) {
            const int64_t h = oh + kh - s.pad_top, w = ow + kw - s.pad_left;
            if (h < 0 || h >= s.in_h || w < 0 || w >= s.in_w) continue;
            const int64_t from = ((n * s.in_h + h) * s.in_w + w) * s.in_channels;
            const int64_t to = ((n * s.out_h + oh) * s.out_w + ow) * s.out_channels;
            for (int64_t i = 0; i < s.in_channels; ++i) {
              const int64_t tap = ((kh * s.kernel_w + kw) * s.in_channels + i) * s.out_channels;
              for (int64_t o = 0; o < s.out_channels; ++o)
                f(static_cast<size_t>(from + i), static_cast<size_t>(tap + o), static_cast<size_t>(to + o));
            }
          }
}

double value(const std::vector<float>& values, size_t i) { return static_cast<double>(values[i]); }

/// Error bound for sums of `products` products of numbers up to one. Winograd rounds sums over a tile, which exceed the
/// outputs by factors of the transforms; such errors add up with the square root of their number. The constants are two
/// to four times the largest error of all outputs of RandomShapes.
double bound(const WinogradShape& s, int64_t products) {
  const std::string tile = winograd_tile(s);
  const bool five_points = tile == "F(3x3,3x3)", eight_points = tile == "F(6x6,3x3)" || tile == "F(4x4,5x5)";
  return (five_points ? 6e-6 : eight_points ? 2.5e-5 : 1.5e-5) * std::sqrt(static_cast<double>(products));
}

void expect_all_near(const std::vector<double>& expected, const std::vector<float>& found, double tolerance,
                     const char* what) {
  ASSERT_EQ(expected.size(), found.size()) << what;
  double worst = 0;
  size_t at = 0;
  for (size_t i = 0; i < expected.size(); ++i) {
    const double error = std::abs(expected[i] - value(found, i));
    if (error <= worst || std::isnan(worst)) continue;  // keeps the first NaN
    worst = error;
    at = i;
  }
  EXPECT_LE(worst, tolerance) << what << " element " << at << ": expected " << expected[at] << ", found " << found[at];
}

/// Compares the forward pass with the reference; returns the full output gradient that the backward passes use.
std::vector<double> check_forward(const Problem& p, const Results& r) {
  const WinogradShape& s = p.s;
  std::vector<double> full(static_cast<size_t>(p.rows * full_size(s)));
  for (size_t i = 0; i < full.size(); ++i) full[i] = value(p.bias, i % p.bias.size());
  each_product(s, p.rows,
               [&](size_t at, size_t tap, size_t to) { full[to] += value(p.x, at) * value(p.weights, tap); });
  if (s.relu)
    for (double& v : full) v = std::max(v, 0.0);
  const double tolerance = bound(s, s.kernel_h * s.kernel_w * s.in_channels);
  if (!s.pool) {
    expect_all_near(full, r.y, tolerance, "y");
    return {p.dy.begin(), p.dy.end()};
  }
  std::vector<double> gradient(full.size()), pooled;
  for (int64_t n = 0; n < p.rows; ++n)
    for (int64_t h = 0; h < s.out_h / 2; ++h)
      for (int64_t w = 0; w < s.out_w / 2; ++w)
        for (int64_t c = 0; c < s.out_channels; ++c) {
          const auto at = [&](int64_t k) {
            return static_cast<size_t>(((n * s.out_h + 2 * h + k / 2) * s.out_w + 2 * w + k % 2) * s.out_channels + c);
          };
          const size_t to = pooled.size();
          pooled.push_back(std::max({full[at(0)], full[at(1)], full[at(2)], full[at(3)]}));
          const int64_t argmax = r.argmax[to];
          EXPECT_LE(argmax, s.relu ? kNoArgmax : 3);
          if (argmax == kNoArgmax) {
            EXPECT_LE(pooled[to], tolerance);
            EXPECT_EQ(r.y[to], 0.0F);
          } else if (argmax < 4) {
            EXPECT_NEAR(full[at(argmax)], pooled[to], 2 * tolerance) << "position argmax";
            gradient[at(argmax)] = value(p.dy, to);
          }
        }
  expect_all_near(pooled, r.y, tolerance, "pooled y");
  return gradient;
}

void check_results(const Problem& p, const Results& r) {
  const WinogradShape& s = p.s;
  const std::vector<double> gradient = check_forward(p, r);
  std::vector<double> dx(p.x.size()), dweights(p.weights.size()), dbias(p.bias.size());
  for (size_t i = 0; i < gradient.size(); ++i) dbias[i % dbias.size()] += gradient[i];
  each_product(s, p.rows, [&](size_t at, size_t tap, size_t to) {
    dx[at] += gradient[to] * value(p.weights, tap);
    dweights[tap] += gradient[to] * value(p.x, at);
  });
  expect_all_near(dx, r.dx, bound(s, s.kernel_h * s.kernel_w * s.out_channels), "dx");
  const double sums = bound(s, p.rows * s.out_h * s.out_w);
  expect_all_near(dweights, r.dweights, sums, "dweights");
  expect_all_near(dbias, r.dbias, sums, "dbias");
}

/// On every instruction set, with one thread and three.
void agrees_everywhere(const WinogradShape& s, int64_t rows) {
  SCOPED_TRACE(text(s));
  const Problem p(s, rows, 5);
  on_every_target([&] {
    const Results alone = p.run(1);
    check_results(p, alone);
    EXPECT_TRUE(alone == p.run(3)) << "the result depends on the number of threads";
  });
}

WinogradShape with(WinogradShape s, bool relu, bool pool) {
  s.relu = relu;
  s.pool = pool;
  return s;
}

TEST(Winograd, PicksTheTileWithTheFewestProducts) {
  EXPECT_STREQ(winograd_tile(shape(13, 13, 32, 64, 3, 0, 0, 0, 0)), "F(6x6,3x3)");
  EXPECT_STREQ(winograd_tile(shape(13, 13, 32, 160, 3, 0, 0, 0, 0)), "F(4x4,3x3)");
  EXPECT_STREQ(winograd_tile(shape(14, 14, 32, 64, 3, 1, 1, 1, 1)), "F(4x4,3x3)");
  EXPECT_STREQ(winograd_tile(shape(5, 5, 64, 64, 3, 0, 0, 0, 0)), "F(3x3,3x3)");
  EXPECT_STREQ(winograd_tile(shape(5, 5, 64, 128, 3, 1, 1, 1, 1)), "F(3x3,3x3)");
  EXPECT_STREQ(winograd_tile(with(shape(5, 5, 64, 128, 3, 1, 1, 1, 1), true, true)), "F(4x4,3x3)");
  EXPECT_STREQ(winograd_tile(shape(12, 12, 64, 64, 5, 2, 2, 2, 2)), "F(4x4,5x5)");
  EXPECT_STREQ(winograd_tile(shape(2, 2, 64, 64, 5, 2, 2, 2, 2)), "F(2x2,5x5)");
}

TEST(Winograd, CountsItsProducts) {
  EXPECT_EQ(winograd_products(shape(13, 13, 32, 64, 3, 0, 0, 0, 0)), 4 * 64);
  EXPECT_EQ(winograd_products(shape(13, 13, 32, 160, 3, 0, 0, 0, 0)), 9 * 36);
  EXPECT_EQ(winograd_products(shape(5, 5, 64, 64, 3, 0, 0, 0, 0)), 25);
  EXPECT_EQ(winograd_products(shape(12, 12, 64, 64, 5, 2, 2, 2, 2)), 9 * 64);
  EXPECT_EQ(winograd_products(shape(2, 2, 64, 64, 5, 2, 2, 2, 2)), 36);
}

TEST(Winograd, EqualsTheNaiveLoops) {
  agrees_everywhere(shape(13, 13, 32, 64, 3, 0, 0, 0, 0), 2);
  agrees_everywhere(shape(14, 14, 32, 64, 3, 1, 1, 1, 1), 2);
  agrees_everywhere(shape(9, 11, 19, 37, 3, 1, 1, 1, 1), 3);
  agrees_everywhere(with(shape(5, 5, 33, 17, 3, 0, 0, 0, 0), true, false), 5);
  agrees_everywhere(with(shape(8, 7, 16, 48, 3, 2, 0, 1, 2), true, false), 2);
  agrees_everywhere(shape(12, 9, 20, 35, 5, 2, 2, 2, 2), 2);
  agrees_everywhere(shape(6, 7, 5, 70, 5, 0, 4, 3, 0), 3);
}

TEST(Winograd, PoolsInTheInverse) {
  agrees_everywhere(with(shape(13, 13, 32, 64, 3, 0, 0, 0, 0), true, true), 2);  // 11 x 11: the last is unused
  agrees_everywhere(with(shape(9, 9, 32, 64, 3, 0, 0, 0, 0), true, true), 2);
  agrees_everywhere(with(shape(13, 10, 7, 33, 3, 1, 1, 1, 1), true, true), 2);  // the last row needs a separate tile
  agrees_everywhere(with(shape(6, 6, 17, 16, 3, 1, 1, 1, 1), false, true), 3);
  agrees_everywhere(with(shape(9, 12, 18, 34, 5, 2, 2, 2, 2), true, true), 2);
}

TEST(Winograd, BothGradientsTogether) {
  for (const auto& [s, rows] : std::vector<std::pair<WinogradShape, int64_t>>{
           {shape(16, 16, 16, 16, 3, 1, 1, 1, 1), 24},
           {shape(13, 13, 20, 33, 3, 0, 0, 0, 0), 67},
           {shape(12, 9, 17, 40, 5, 2, 2, 2, 2), 66},
           {with(shape(13, 13, 16, 24, 3, 0, 0, 0, 0), true, true), 64},
           {with(shape(14, 12, 12, 16, 5, 2, 2, 2, 2), true, true), 100},
       }) {
    if (dptrain::test::kThreadSanitizer && rows > 66) continue;  // more tiles per thread add no new accesses
    on_every_target([&] {
      ASSERT_GT(winograd_backward_workspace(s, rows, 2), 0) << text(s);
      const Problem problem(s, rows, 7);
      EXPECT_TRUE(problem.run(1) == problem.run(2)) << text(s);  // run() compares them with separate passes
    });
  }
}

TEST(Winograd, OneGradientAfterTheOther) {
  EXPECT_EQ(winograd_backward_workspace(shape(16, 16, 128, 128, 3, 1, 1, 1, 1), 64, 1), 0) << "large filters";
  EXPECT_EQ(winograd_backward_workspace(shape(16, 16, 16, 16, 3, 1, 1, 1, 1), 64, 64), 0) << "many threads";
  EXPECT_EQ(winograd_backward_workspace(shape(64, 64, 16, 16, 3, 1, 1, 1, 1), 1, 2), 0) << "one image";
  EXPECT_EQ(winograd_backward_workspace(with(shape(15, 15, 16, 16, 3, 0, 0, 0, 0), true, true), 64, 1), 0)
      << "pooling ignores a last line of tiles";
}

TEST(Winograd, OnePixelAndOneChannel) {
  agrees_everywhere(shape(1, 1, 1, 1, 3, 1, 1, 1, 1), 1);
  agrees_everywhere(with(shape(2, 3, 1, 2, 3, 1, 1, 1, 1), true, true), 2);
  agrees_everywhere(shape(1, 2, 2, 1, 5, 2, 2, 2, 2), 1);
}

/// Filters larger than the caches: with few tiles, for which threads split the columns, and with many.
TEST(Winograd, ManyChannels) {
  agrees_everywhere(shape(3, 5, 160, 150, 3, 1, 1, 1, 1), 2);
  agrees_everywhere(shape(2, 2, 190, 185, 3, 1, 1, 1, 1), dptrain::test::kThreadSanitizer ? 20 : 260);
}

/// Gradients computed block by block: more sums than points. The second shape has filters split along the depth in
/// backward.
TEST(Winograd, FewTilesAndManyChannels) {
  agrees_everywhere(shape(4, 3, 550, 70, 3, 1, 1, 1, 1), 2);
  if (dptrain::test::kThreadSanitizer) return;  // the other shapes divide the same work among threads
  agrees_everywhere(shape(7, 8, 66, 360, 3, 1, 1, 1, 1), 2);
  agrees_everywhere(with(shape(5, 4, 260, 130, 3, 1, 1, 1, 1), true, true), 2);
  agrees_everywhere(shape(2, 2, 270, 75, 5, 2, 2, 2, 2), 2);
}

/// A sample's outputs and data gradients have the same bits in every batch.
TEST(Winograd, SamplesAreIndependent) {
  if (dptrain::test::kThreadSanitizer) GTEST_SKIP() << "one thread; two minutes";
  for (const WinogradShape& s :
       {shape(13, 13, 32, 64, 3, 0, 0, 0, 0), with(shape(9, 9, 19, 37, 3, 1, 1, 1, 1), true, true),
        shape(5, 5, 20, 20, 3, 0, 0, 0, 0), shape(9, 9, 20, 20, 5, 2, 2, 2, 2),
        shape(30, 30, 200, 160, 3, 1, 1, 1, 1)}) {
    if (dptrain::test::kAddressSanitizer && s.in_h > 20) continue;  // minutes; the release suite compares its bits
    SCOPED_TRACE(text(s));
    const Problem all(s, 7, 3);
    on_every_target([&] {
      const Results together = all.run(1);
      for (const int64_t n : {0, 4, 6}) {
        Problem one(s, 1, 3);
        std::copy_n(all.x.begin() + n * input_size(s), input_size(s), one.x.begin());
        std::copy_n(all.dy.begin() + n * output_size(s), output_size(s), one.dy.begin());
        const Results alone = one.run(1);
        EXPECT_TRUE(std::equal(alone.y.begin(), alone.y.end(), together.y.begin() + n * output_size(s)));
        EXPECT_TRUE(std::equal(alone.dx.begin(), alone.dx.end(), together.dx.begin() + n * input_size(s)));
      }
    });
  }
}

/// Forward without bias and without positions computes the same sums.
TEST(Winograd, WithoutBiasAndPositions) {
  Problem p(with(shape(9, 8, 17, 21, 3, 1, 1, 1, 1), true, true), 2, 9);
  std::fill(p.bias.begin(), p.bias.end(), 0.0F);
  const Results with_zeros = p.run(1);
  std::vector<float> scratch(static_cast<size_t>(winograd_forward_workspace(p.s, p.rows, 1)));
  EXPECT_EQ(with_zeros.y, written_floats(p.rows * output_size(p.s), [&](float* to) {
              winograd_forward(p.s, p.x.data(), p.weights.data(), nullptr, p.rows, scratch.data(), to, nullptr);
            }));
}

/// NaN and infinity propagate to the outputs that use them.
TEST(Winograd, PropagatesNaN) {
  for (const bool pool : {false, true}) {
    Problem p(with(shape(8, 8, 3, 5, 3, 1, 1, 1, 1), true, pool), 1, 11);
    p.x[static_cast<size_t>((3 * 8 + 3) * 3)] = NAN;
    const Results r = p.run(1);
    EXPECT_TRUE(std::isnan(r.y[static_cast<size_t>(pool ? (1 * 4 + 1) * 5 : (3 * 8 + 3) * 5)]));
  }
}

/// Random shapes on the best instruction set: fixed in change tests, new ones each night.
TEST(Winograd, RandomShapes) {
  std::mt19937 random(tier::case_seed(2024));
  const auto pick = [&](int64_t low, int64_t high) {
    return low + static_cast<int64_t>(random() % static_cast<uint32_t>(high - low + 1));
  };
  for (int i = 0; i < tier::how_many(100, 1000); ++i) {
    const int64_t kernel = pick(0, 2) == 0 ? 5 : 3, most = kernel - 1, h = pick(kernel, 12), w = pick(kernel, 12);
    const int64_t channels = pick(0, 9) == 0 ? 70 : 24;
    const WinogradShape s = with(shape(h, w, pick(1, channels), pick(1, channels), kernel, pick(0, most), pick(0, most),
                                       pick(0, most), pick(0, most)),
                                 pick(0, 1) == 0, pick(0, 2) == 0);
    SCOPED_TRACE(text(s) + ", shape " + std::to_string(i));
    const Problem p(s, pick(1, 3), static_cast<uint32_t>(i));
    check_results(p, p.run(i % 16 == 0 ? 2 : 1));
    if (HasFailure()) return;
  }
}

}  // namespace
}  // namespace dptrain::kernels::cpu
