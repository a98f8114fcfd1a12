#include "kernels/cpu/gemm_forward.h"

#include <atomic>
#include <cmath>
#include <random>

#include "kernels/conv_reference.h"
#include "kernels/support.h"
#include "support/tier.h"

namespace dptrain::kernels::cpu {
namespace {

using namespace test;  // NOLINT(google-build-using-namespace)

struct Case {
  ConvWindow window;
  int64_t rows = 1;
  bool bias = true, relu = false;
};

struct Tensors {
  std::vector<float> x, weights, bias;

  Tensors(const Case& c, uint32_t seed)
      : x(random_floats(c.rows * in_size(c.window), seed, -1, 1)),
        weights(random_floats(c.window.weights(), seed + 1, -1, 1)),
        bias(c.bias ? random_floats(c.window.out_channels, seed + 2, -1, 1) : std::vector<float>()) {}
};

/// Returns y, or writes it to the given memory.
std::vector<float> run(const Case& c, const Tensors& t, const PiecePass* prologue = nullptr,
                       const PiecePass* epilogue = nullptr, float* y = nullptr) {
  const int64_t floats = gemm_forward_workspace(c.window, c.rows, thread_count());
  const auto into = [&](float* out) {
    written<float>(floats, NAN, [&](float* workspace) {
      gemm_forward({.window = c.window,
                    .x = t.x.data(),
                    .weights = t.weights.data(),
                    .bias = c.bias ? t.bias.data() : nullptr,
                    .relu = c.relu,
                    .rows = c.rows,
                    .y = out,
                    .prologue = prologue,
                    .epilogue = epilogue},
                   workspace);
    });
  };
  if (y == nullptr) return written<float>(c.rows * out_size(c.window), NAN, into);
  into(y);
  return {};
}

/// Compares with sums in double. Rounding grows with the root of the number of products; the constant is 1.5 times the
/// largest error of all elements here, one lane at a time.
void check(const Case& c, uint32_t seed) {
  const ConvWindow& w = c.window;
  SCOPED_TRACE(testing::Message() << c.rows << " of " << w.in_h << "x" << w.in_w << "x" << w.in_channels << " to "
                                  << w.out_h << "x" << w.out_w << "x" << w.out_channels << ", kernel " << w.kernel_h
                                  << ", stride " << w.stride_h);
  ASSERT_TRUE(gemm_forward_fits(w));
  const Tensors t(c, seed);
  std::vector<double> expected = naive_conv(w, t.x, t.weights, t.bias, c.rows);
  if (c.relu)
    for (double& y : expected) y = std::max(y, 0.0);
  agrees(expected, 0, 2e-6 * std::sqrt(static_cast<double>(w.taps() + 1)), [&] { return run(c, t); });
}

TEST(GemmForwardTest, MatricesOfAnySize) {
  for (const int64_t in : {1, 15, 16, 40})
    for (const int64_t out : {16, 32, 48, 80})
      for (const int64_t rows : {1, 5, 13, 130})
        check({.window = {.in_channels = in, .out_channels = out}, .rows = rows}, static_cast<uint32_t>(in + out));
}

TEST(GemmForwardTest, KBeyondTheNearestCache) {
  check({.window = {.in_channels = 300, .out_channels = 48}, .rows = 61}, 1);
  check({.window = {.in_channels = 520, .out_channels = 144}, .rows = 31, .relu = true}, 2);
}

TEST(GemmForwardTest, WeightsBeyondOneBlock) {
  check({.window = {.in_channels = 1060, .out_channels = 304}, .rows = 33}, 5);
}

TEST(GemmForwardTest, TransposedWeights) {
  for (const int64_t in : {1, 37, 64, 530})
    for (const int64_t out : {16, 48, 336})
      for (const int64_t rows : {1, 4, 7, 29}) {
        SCOPED_TRACE(testing::Message() << rows << " rows, " << in << " to " << out);
        const Case c{.window = {.in_channels = in, .out_channels = out}, .rows = rows, .bias = false};
        Tensors t(c, static_cast<uint32_t>(in * out));
        const std::vector<float> straight = t.weights;
        for (int64_t k = 0; k < in; ++k)
          for (int64_t n = 0; n < out; ++n)
            t.weights[static_cast<size_t>(n * in + k)] = straight[static_cast<size_t>(k * out + n)];
        agrees(naive_conv(c.window, t.x, straight, t.bias, rows), 0, 2e-6 * std::sqrt(static_cast<double>(in + 1)),
               [&] {
                 return written<float>(rows * out, NAN, [&](float* y) {
                   written<float>(gemm_forward_workspace(c.window, rows, thread_count()), NAN, [&](float* workspace) {
                     gemm_forward({.window = c.window,
                                   .x = t.x.data(),
                                   .weights = t.weights.data(),
                                   .transposed_weights = true,
                                   .rows = rows,
                                   .y = y},
                                  workspace);
                   });
                 });
               });
      }
}

TEST(GemmForwardTest, SeveralChunks) {
  check({.window = conv_window(14, 14, 40, 64, 1, 1, 0, 0), .rows = 7}, 3);
  check({.window = conv_window(28, 28, 8, 16, 1, 1, 0, 0), .rows = 3, .bias = false, .relu = true}, 4);
}

TEST(GemmForwardTest, WindowsAndStrides) {
  check({.window = conv_window(9, 9, 16, 32, 3, 2, 1, 1), .rows = 2}, 7);
  check({.window = conv_window(8, 8, 20, 16, 3, 2, 0, 1), .rows = 3, .relu = true}, 8);
  check({.window = conv_window(8, 7, 33, 16, 1, 2, 0, 0), .rows = 5}, 9);
  check({.window = conv_window(11, 11, 3, 16, 7, 2, 3, 3), .rows = 2}, 10);
}

TEST(GemmForwardTest, NaNPassesTheRelu) {
  const Case c{.window = {.in_channels = 16, .out_channels = 16}, .rows = 13, .relu = true};
  Tensors t(c, 11);
  t.x[16 * 4 + 3] = NAN;
  on_every_target([&] {
    const std::vector<float> y = run(c, t);
    for (size_t i = 0; i < y.size(); ++i) EXPECT_EQ(std::isnan(y[i]), i / 16 == 4) << i;
  });
}

/// A prologue that makes x, and an epilogue that doubles y.
struct Passes {
  const std::vector<float>& values;  ///< of x
  float *x, *y;
  int64_t in, out, step;
  std::vector<std::atomic<int>> made, followed;
  std::vector<std::atomic<int64_t>> end_of_step;
  std::atomic<int> wrong_order{0};

  Passes(const std::vector<float>& values_, float* x_, float* y_, const ConvWindow& w, int64_t positions, int64_t step_)
      : values(values_),
        x(x_),
        y(y_),
        in(w.in_channels),
        out(w.out_channels),
        step(step_),
        made(static_cast<size_t>(positions)),
        followed(static_cast<size_t>(positions)),
        end_of_step(static_cast<size_t>(positions / step_ + 1)) {}
  PiecePass prologue() const { return {.pass = this, .run = make, .reads = {values.data(), nullptr}}; }
  PiecePass epilogue() const { return {.step = step, .pass = this, .run = follow}; }

  static void make(const void* self, int64_t begin, int64_t end) {
    auto& p = *static_cast<Passes*>(const_cast<void*>(self));
    for (int64_t i = begin; i < end; ++i) ++p.made[static_cast<size_t>(i)];
    std::copy(p.values.begin() + begin * p.in, p.values.begin() + end * p.in, p.x + begin * p.in);
  }
  static void follow(const void* self, int64_t begin, int64_t end) {
    auto& p = *static_cast<Passes*>(const_cast<void*>(self));
    for (int64_t i = begin; i < end; ++i) {
      ++p.followed[static_cast<size_t>(i)];
      auto& done = p.end_of_step[static_cast<size_t>(i / p.step)];
      if (done != i % p.step) ++p.wrong_order;
      ++done;
    }
    for (int64_t i = begin * p.out; i < end * p.out; ++i) p.y[i] *= 2;
  }
};

TEST(GemmForwardTest, RunsPassesOncePerPositionInOrder) {
  const Case c{.window = conv_window(23, 23, 24, 32, 1, 1, 0, 0), .rows = 5};
  const Tensors t(c, 12);
  const int64_t positions = c.rows * c.window.out_h * c.window.out_w;
  for (const int64_t step : {1, 7, 98, 1000}) {
    SCOPED_TRACE(step);
    on_every_target([&] {
      std::vector<float> twice = run(c, t);
      for (float& y : twice) y *= 2;
      for (const int threads : {1, 3}) {
        use_threads(threads);
        Tensors later = t;
        std::fill(later.x.begin(), later.x.end(), NAN);
        std::vector<float> y(twice.size(), NAN);
        Passes passes(t.x, later.x.data(), y.data(), c.window, positions, step);
        const PiecePass prologue = passes.prologue(), epilogue = passes.epilogue();
        run(c, later, &prologue, &epilogue, y.data());
        use_threads(1);
        EXPECT_EQ(y, twice);
        EXPECT_EQ(passes.wrong_order, 0);
        for (size_t i = 0; i < passes.made.size(); ++i)
          EXPECT_TRUE(passes.made[i] == 1 && passes.followed[i] == 1) << i;
      }
    });
  }
}

TEST(GemmForwardTest, AcceptsZeroRows) {
  const Case c{.window = {.in_channels = 16, .out_channels = 16}, .rows = 0};
  EXPECT_TRUE(run(c, Tensors(c, 13)).empty());
}

TEST(GemmForwardTest, RandomShapes) {
  std::mt19937 generator(tier::case_seed(21));
  const auto draw = [&](int64_t low, int64_t high) {
    return low + static_cast<int64_t>(generator() % static_cast<uint32_t>(high - low + 1));
  };
  for (int i = 0; i < tier::how_many(40, 400); ++i) {
    const int64_t kernel = draw(1, 4), size = draw(kernel, kernel + 6);
    check({.window = conv_window(size, size + draw(0, 2), draw(1, 50), 16 * draw(1, 6), kernel, draw(1, 3),
                                 draw(0, kernel - 1), draw(0, kernel - 1)),
           .rows = draw(1, 4),
           .bias = draw(0, 1) == 1,
           .relu = draw(0, 1) == 1},
          2000 + static_cast<uint32_t>(i));
  }
}

}  // namespace
}  // namespace dptrain::kernels::cpu
