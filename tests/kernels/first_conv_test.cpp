#include "kernels/cpu/first_conv.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <memory>

#include "kernels/conv_reference.h"
#include "kernels/cpu/pool.h"
#include "kernels/cpu/processor.h"
#include "kernels/support.h"
#include "support/sanitizer.h"
#include "support/tier.h"

namespace dptrain::kernels::cpu {
namespace {

using namespace test;  // NOLINT(google-build-using-namespace)

constexpr int kSlots = 3;  // the largest thread count of the tests

struct FirstProblem {
  ConvWindow w;
  int64_t rows;
  std::vector<float> x, weights, bias;

  FirstProblem(const ConvWindow& window, int64_t count, uint32_t seed = 1)
      : w(window),
        rows(count),
        x(random_floats(count * in_size(window), seed)),
        weights(random_floats(window.weights(), seed + 1, -1.0F, 1.0F)),
        bias(random_floats(window.out_channels, seed + 2)) {}

  std::vector<float> forward(bool relu, bool with_bias = true) const {
    std::vector<float> scratch(static_cast<size_t>(first_conv_workspace(w, kSlots)), NAN);
    return written_floats(rows * out_size(w), [&](float* y) {
      first_conv_forward(w, x.data(), weights.data(), with_bias ? bias.data() : nullptr, relu, rows, scratch.data(), y);
    });
  }
  struct Pooled {
    std::vector<float> y;
    std::vector<uint8_t> argmax;
    const uint8_t* where() const { return y.empty() ? &kNoArgmax : argmax.data(); }  // never null
    friend bool operator==(const Pooled&, const Pooled&) = default;
  };
  PoolWindow pool() const { return {w.out_h, w.out_w, w.out_channels, w.out_h / 2, w.out_w / 2, 2, 2, 2, 2, 0, 0}; }
  int64_t pooled_size() const { return rows * (w.out_h / 2) * (w.out_w / 2) * w.out_channels; }
  Pooled pooled(bool relu) const {
    std::vector<float> scratch(static_cast<size_t>(first_conv_workspace(w, kSlots)), NAN);
    Pooled p;
    p.y = written_floats(pooled_size(), [&](float* y) {
      p.argmax = written<uint8_t>(pooled_size(), 77, [&](uint8_t* argmax) {
        first_conv_pool_forward(w, x.data(), weights.data(), bias.data(), relu, rows, scratch.data(), y, argmax);
      });
    });
    return p;
  }
  /// Gradients of the weights, then of the bias.
  std::vector<float> gradient(const std::vector<float>& dy, const uint8_t* argmax) const {
    std::vector<float> scratch(static_cast<size_t>(first_conv_gradient_workspace(w, argmax != nullptr, rows, kSlots)),
                               NAN);
    std::vector<float> dbias;
    std::vector<float> all = written_floats(w.weights(), [&](float* dweights) {
      dbias = written_floats(w.out_channels, [&](float* to) {
        first_conv_backward_weights(w, x.data(), dy.data(), argmax, rows, scratch.data(), dweights, to);
      });
    });
    all.insert(all.end(), dbias.begin(), dbias.end());
    return all;
  }
};

/// The output after the pooling's own kernels, which have separate tests.
FirstProblem::Pooled pool_of(const FirstProblem& problem, const std::vector<float>& y, bool relu) {
  FirstProblem::Pooled p{std::vector<float>(static_cast<size_t>(problem.pooled_size())),
                         std::vector<uint8_t>(static_cast<size_t>(problem.pooled_size()))};
  max_pool_forward({}, DType::kF32, problem.pool(), y.data(), problem.rows, p.y.data(), p.argmax.data());
  for (size_t i = 0; relu && i < p.y.size(); ++i)
    if (p.y[i] <= 0.0F) p.y[i] = 0.0F, p.argmax[i] = kNoArgmax;
  return p;
}

std::vector<float> expanded(const FirstProblem& problem, const std::vector<float>& dy,
                            const std::vector<uint8_t>& argmax) {
  std::vector<float> masked = dy, full(static_cast<size_t>(problem.rows * out_size(problem.w)));
  std::vector<uint8_t> position = argmax;
  for (size_t i = 0; i < masked.size(); ++i)
    if (argmax[i] == kNoArgmax) masked[i] = 0.0F, position[i] = 0;
  max_pool_backward({}, DType::kF32, problem.pool(), masked.data(), position.data(), nullptr, problem.rows,
                    full.data());
  return full;
}

void check(const FirstProblem& problem) {
  const ConvWindow& w = problem.w;
  const std::vector<double> y = naive_conv(w, problem.x, problem.weights, problem.bias, problem.rows);
  std::vector<double> rectified = y;
  for (double& value : rectified) value = std::max(value, 0.0);
  const auto dy = random_floats(problem.rows * out_size(w), 5), dpooled = random_floats(problem.pooled_size(), 6);
  const auto gradient = naive_weight_gradient(w, problem.x, dy, problem.rows);
  on_every_target([&] {
    use_threads(1);
    // Up to 200 products of size two, rounded to their sum of about 20; gradients have some thousand.
    const auto found = problem.forward(false);
    expect_near(y, found, 1e-6, 4e-5);
    expect_near(rectified, problem.forward(true), 1e-6, 4e-5);
    const auto found_gradient = problem.gradient(dy, nullptr);
    expect_near(gradient, found_gradient, 1e-6, 1e-3);
    for (const bool relu : {false, true}) {
      const auto pooled = problem.pooled(relu);
      EXPECT_EQ(pooled, pool_of(problem, problem.forward(false), relu)) << "pooled, relu " << relu;
      const auto from_pooled = problem.gradient(dpooled, pooled.where());
      expect_near(naive_weight_gradient(w, problem.x, expanded(problem, dpooled, pooled.argmax), problem.rows),
                  from_pooled, 1e-6, 1e-3);
      use_threads(3);
      EXPECT_EQ(pooled, problem.pooled(relu));
      EXPECT_EQ(from_pooled, problem.gradient(dpooled, pooled.where()));
      use_threads(1);
    }
    use_threads(3);
    EXPECT_EQ(found, problem.forward(false));
    EXPECT_EQ(found_gradient, problem.gradient(dy, nullptr));
    use_threads(1);
  });
}

struct FirstConvCase {
  ConvWindow w;
  int64_t rows;
};

class FirstConvKernel : public testing::TestWithParam<FirstConvCase> {};

TEST_P(FirstConvKernel, EqualsTheNaiveLoops) { check({GetParam().w, GetParam().rows}); }

//                         h   w  in out k  s  pads
const FirstConvCase kFirstConvCases[] = {
    {conv_window(28, 28, 1, 32, 3, 1, 0, 0), 2}, {conv_window(13, 27, 1, 37, 3, 1, 1, 1), 3},
    {conv_window(24, 24, 3, 64, 5, 1, 2, 2), 1}, {conv_window(9, 31, 3, 24, 3, 1, 1, 1), 2},
    {conv_window(17, 23, 3, 40, 7, 2, 3, 3), 2}, {conv_window(12, 10, 4, 5, 3, 2, 0, 1), 3},
    {conv_window(9, 14, 9, 32, 3, 1, 1, 1), 2},  {conv_window(11, 14, 2, 16, 5, 2, 2, 2), 1},
    {conv_window(8, 9, 1, 3, 7, 1, 3, 3), 5},    {conv_window(3, 3, 1, 1, 3, 1, 0, 0), 1},
    {conv_window(7, 5, 2, 33, 1, 1, 0, 0), 2},   {conv_window(40, 6, 4, 17, 5, 1, 0, 4), 2},
    {conv_window(5, 70, 1, 130, 3, 1, 1, 1), 1}, {conv_window(5, 6, 3, 20, 2, 3, 0, 0), 2}};

INSTANTIATE_TEST_SUITE_P(Shapes, FirstConvKernel, testing::ValuesIn(kFirstConvCases));

/// The sums of a sample have the same bits in every batch, in every pass that writes samples.
TEST(FirstConvKernel, RowsAreIndependent) {
  const FirstProblem all(conv_window(19, 21, 3, 24, 3, 1, 1, 1), 7);
  FirstProblem one(all.w, 1);
  one.weights = all.weights;
  one.bias = all.bias;
  const auto part = [](const std::vector<float>& v, int64_t sample, int64_t size) {
    return std::vector<float>(v.begin() + sample * size, v.begin() + (sample + 1) * size);
  };
  one.x = part(all.x, 4, in_size(all.w));
  EXPECT_EQ(one.forward(true), part(all.forward(true), 4, out_size(all.w)));
  EXPECT_EQ(one.pooled(true).y, part(all.pooled(true).y, 4, one.pooled_size()));
}

TEST(FirstConvKernel, NoBiasIsAZeroBias) {
  FirstProblem problem(conv_window(6, 7, 3, 20, 3, 1, 1, 1), 2);
  const auto without = problem.forward(false, false);
  problem.bias.assign(problem.bias.size(), 0.0F);
  EXPECT_EQ(without, problem.forward(false));
}

/// Cache-line-aligned memory: kernels use non-temporal stores only at such addresses.
std::unique_ptr<float[], void (*)(void*)> aligned_floats(int64_t n) {
  const size_t bytes = static_cast<size_t>(n) * sizeof(float);
  return {static_cast<float*>(std::aligned_alloc(64, (bytes + 63) / 64 * 64)), std::free};
}

/// Outputs larger than the caches use non-temporal stores and have the same bits.
TEST(FirstConvKernel, LargeOutputs) {
  if (dptrain::test::kThreadSanitizer) GTEST_SKIP() << "one thread; a minute";
  const FirstProblem problem(conv_window(96, 96, 1, 32, 3, 1, 1, 1), 72);
  const int64_t n = problem.rows * out_size(problem.w), pooled = problem.pooled_size();
  ASSERT_GT(pooled * static_cast<int64_t>(sizeof(float)), bytes_found_in_caches());
  std::vector<float> scratch(static_cast<size_t>(first_conv_workspace(problem.w, kSlots)));
  const auto y = aligned_floats(n), y_pooled = aligned_floats(pooled);
  std::vector<uint8_t> argmax(static_cast<size_t>(pooled));
  on_every_target([&] {
    const std::vector<float> written = problem.forward(true);  // guarded, hence not aligned to a line
    std::fill(y.get(), y.get() + n, NAN);
    first_conv_forward(problem.w, problem.x.data(), problem.weights.data(), problem.bias.data(), true, problem.rows,
                       scratch.data(), y.get());
    EXPECT_TRUE(std::equal(written.begin(), written.end(), y.get()));
    const FirstProblem::Pooled expected = problem.pooled(true);
    std::fill(y_pooled.get(), y_pooled.get() + pooled, NAN);
    first_conv_pool_forward(problem.w, problem.x.data(), problem.weights.data(), problem.bias.data(), true,
                            problem.rows, scratch.data(), y_pooled.get(), argmax.data());
    EXPECT_TRUE(std::equal(expected.y.begin(), expected.y.end(), y_pooled.get()));
    EXPECT_EQ(expected.argmax, argmax);
  });
}

TEST(FirstConvKernel, NothingToDo) {
  FirstProblem problem(conv_window(5, 5, 1, 8, 3, 1, 0, 0), 0);
  EXPECT_EQ(problem.gradient({}, nullptr), std::vector<float>(static_cast<size_t>(problem.w.weights() + 8)));
  const FirstProblem thin(conv_window(3, 6, 1, 8, 3, 1, 0, 0), 2);  // one line: no pair of lines to pool
  EXPECT_EQ(thin.pooled(true).y.size(), 0U);
  const std::vector<uint8_t> nothing(1);
  EXPECT_EQ(thin.gradient({}, nothing.data()), std::vector<float>(static_cast<size_t>(thin.w.weights() + 8)));
}

/// Random small shapes on the best instruction set: fixed in change tests, new ones each night.
TEST(FirstConvKernel, RandomShapes) {
  std::mt19937 generator(tier::case_seed(7));
  const auto pick = [&](int64_t low, int64_t high) {
    return low + static_cast<int64_t>(generator() % static_cast<uint32_t>(high - low + 1));
  };
  for (int i = 0; i < tier::how_many(100, 1000); ++i) {
    ConvWindow w{};
    w.in_channels = pick(1, 5);
    w.out_channels = pick(1, 40);
    w.kernel_h = pick(1, 7), w.kernel_w = pick(1, 7);
    w.stride_h = pick(1, 3), w.stride_w = pick(1, 3);
    w.in_h = pick(1, 10), w.in_w = pick(1, 24);
    w.pad_top = pick(0, w.kernel_h - 1), w.pad_left = pick(0, w.kernel_w - 1);
    const int64_t below = pick(0, w.kernel_h - 1), right = pick(0, w.kernel_w - 1);
    w.out_h = (w.in_h + w.pad_top + below - w.kernel_h) / w.stride_h + 1;
    w.out_w = (w.in_w + w.pad_left + right - w.kernel_w) / w.stride_w + 1;
    if (w.in_h + w.pad_top + below < w.kernel_h || w.in_w + w.pad_left + right < w.kernel_w) continue;
    SCOPED_TRACE(testing::Message() << "shape " << i);
    const FirstProblem problem(w, pick(1, 3), static_cast<uint32_t>(i));
    const bool relu = pick(0, 1) == 1;
    use_threads(static_cast<int>(pick(1, 3)));
    auto y = naive_conv(w, problem.x, problem.weights, problem.bias, problem.rows);
    const auto plain = problem.forward(false);
    expect_near(y, plain, 1e-6, 1e-4);
    const auto pooled = problem.pooled(relu);
    EXPECT_EQ(pooled, pool_of(problem, plain, relu));
    const auto dy = random_floats(problem.rows * out_size(w), 5), dpooled = random_floats(problem.pooled_size(), 6);
    expect_near(naive_weight_gradient(w, problem.x, dy, problem.rows), problem.gradient(dy, nullptr), 1e-6, 1e-3);
    expect_near(naive_weight_gradient(w, problem.x, expanded(problem, dpooled, pooled.argmax), problem.rows),
                problem.gradient(dpooled, pooled.where()), 1e-6, 1e-3);
    if (testing::Test::HasFailure()) break;
  }
  use_threads(1);
}

}  // namespace
}  // namespace dptrain::kernels::cpu
