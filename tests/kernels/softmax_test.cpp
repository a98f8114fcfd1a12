#include "kernels/cpu/softmax.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "kernels/cpu/loss.h"
#include "kernels/support.h"

namespace dptrain::kernels::cpu {
namespace {

using test::agrees;
using test::at;
using test::random_floats;
using test::written_floats;

struct SoftmaxShape {
  int64_t rows, classes;
};

// Both algorithms of softmax (up to 32 classes and above), rows that do not fill a group, several pieces.
constexpr SoftmaxShape kSoftmaxShapes[] = {{3, 5},  {1, 1},  {16, 10},  {1037, 10}, {37, 2},
                                           {7, 32}, {5, 33}, {9, 1000}, {300, 65}};

std::vector<double> softmax(const std::vector<float>& x, int64_t row, int64_t classes) {
  std::vector<double> p;
  double most = -1e300, sum = 0.0;
  for (int64_t c = 0; c < classes; ++c) most = std::max(most, at(x, row * classes + c));
  for (int64_t c = 0; c < classes; ++c) p.push_back(std::exp(at(x, row * classes + c) - most));
  for (const double e : p) sum += e;
  for (double& e : p) e /= sum;
  return p;
}

TEST(Softmax, ForwardAndBackward) {
  for (const SoftmaxShape& shape : kSoftmaxShapes) {
    const int64_t rows = shape.rows, classes = shape.classes;
    SCOPED_TRACE(testing::Message() << rows << " x " << classes);
    const int64_t n = rows * classes;
    const std::vector<float> x = random_floats(n, 1, -30.0F, 30.0F), dy = random_floats(n, 2);
    std::vector<double> y, dx;
    for (int64_t row = 0; row < rows; ++row) {
      const std::vector<double> p = softmax(x, row, classes);
      double dot = 0.0;
      for (int64_t c = 0; c < classes; ++c) dot += p[static_cast<size_t>(c)] * at(dy, row * classes + c);
      for (int64_t c = 0; c < classes; ++c) dx.push_back(p[static_cast<size_t>(c)] * (at(dy, row * classes + c) - dot));
      y.insert(y.end(), p.begin(), p.end());
    }
    // The difference x - max is rounded: up to 60 x 6e-8 in the exponent.
    agrees(y, 6e-6, 1e-30, [&] {
      return written_floats(n, [&](float* out) { softmax_forward({}, DType::kF32, x.data(), rows, classes, out); });
    });
    agrees(y, 6e-6, 1e-30, [&] {
      std::vector<float> in_place = x;
      softmax_forward({}, DType::kF32, in_place.data(), rows, classes, in_place.data());
      return in_place;
    });
    agrees(dx, 1e-5, 2e-6, [&] {
      const std::vector<float> p(y.begin(), y.end());
      return written_floats(
          n, [&](float* out) { softmax_backward({}, DType::kF32, p.data(), dy.data(), rows, classes, out); });
    });
  }
}

TEST(LogSoftmax, ForwardAndBackward) {
  for (const SoftmaxShape& shape : kSoftmaxShapes) {
    const int64_t rows = shape.rows, classes = shape.classes;
    SCOPED_TRACE(testing::Message() << rows << " x " << classes);
    const int64_t n = rows * classes;
    const std::vector<float> x = random_floats(n, 11, -90.0F, 90.0F), dy = random_floats(n, 12);
    std::vector<double> y, dx;
    for (int64_t row = 0; row < rows; ++row) {
      double most = -1e300, sum = 0.0, gradients = 0.0;
      for (int64_t c = 0; c < classes; ++c) most = std::max(most, at(x, row * classes + c));
      for (int64_t c = 0; c < classes; ++c) sum += std::exp(at(x, row * classes + c) - most);
      for (int64_t c = 0; c < classes; ++c) gradients += at(dy, row * classes + c);
      for (int64_t c = 0; c < classes; ++c) {
        y.push_back(at(x, row * classes + c) - most - std::log(sum));
        dx.push_back(at(dy, row * classes + c) - std::exp(y.back()) * gradients);
      }
    }
    // Differences of up to 180 are rounded by at most 8e-6. If the largest probability is near 1, its logarithm is that
    // of a rounded sum.
    agrees(y, 3e-7, 5e-7, [&] {
      return written_floats(n, [&](float* out) { log_softmax_forward({}, DType::kF32, x.data(), rows, classes, out); });
    });
    agrees(y, 3e-7, 5e-7, [&] {
      std::vector<float> in_place = x;
      log_softmax_forward({}, DType::kF32, in_place.data(), rows, classes, in_place.data());
      return in_place;
    });
    const std::vector<float> rounded(y.begin(), y.end());
    // e^y of a rounded y, times a rounded sum of 1000 gradients.
    const double absolute = 1e-6 * (1 + std::sqrt(static_cast<double>(classes)));
    agrees(dx, 1e-5, absolute, [&] {
      return written_floats(
          n, [&](float* out) { log_softmax_backward({}, DType::kF32, rounded.data(), dy.data(), rows, classes, out); });
    });
    agrees(dx, 1e-5, absolute, [&] {
      std::vector<float> in_place = dy;
      log_softmax_backward({}, DType::kF32, rounded.data(), in_place.data(), rows, classes, in_place.data());
      return in_place;
    });
  }
}

TEST(LogSoftmax, KeepsNan) {
  test::on_every_target([] {
    for (const int64_t classes : {int64_t{3}, int64_t{40}}) {
      std::vector<float> x(static_cast<size_t>(2 * classes), 1.0F);
      x[1] = NAN;
      log_softmax_forward({}, DType::kF32, x.data(), 2, classes, x.data());
      for (int64_t i = 0; i < 2 * classes; ++i) EXPECT_EQ(std::isnan(x[static_cast<size_t>(i)]), i < classes) << i;
    }
  });
}

struct SoftmaxReference {
  std::vector<double> loss, gradient, hit;
};

/// From the definition: y' smoothed, loss = -sum y' log p, gradient = scale (p sum y' - y').
SoftmaxReference reference(const std::vector<float>& x, int64_t rows, int64_t classes, const std::vector<float>& dense,
                           double smoothing, double scale) {
  SoftmaxReference r;
  for (int64_t row = 0; row < rows; ++row) {
    const std::vector<double> p = softmax(x, row, classes);
    double loss = 0.0, mass = 0.0;
    std::vector<double> y;
    for (int64_t c = 0; c < classes; ++c) {
      y.push_back(at(dense, row * classes + c) * (1.0 - smoothing) + smoothing / static_cast<double>(classes));
      mass += y.back();
      if (y.back() != 0.0) loss -= y.back() * std::log(p[static_cast<size_t>(c)]);
    }
    for (size_t c = 0; c < p.size(); ++c) r.gradient.push_back(scale * (p[c] * mass - y[c]));
    r.loss.push_back(loss);
    const auto first = [classes, row](const std::vector<float>& v) {
      const auto begin = v.begin() + static_cast<std::ptrdiff_t>(row * classes);
      return std::max_element(begin, begin + static_cast<std::ptrdiff_t>(classes)) - begin;
    };
    r.hit.push_back(first(x) == first(dense) ? 1.0 : 0.0);
  }
  return r;
}

void check(const SoftmaxReference& expected, const std::vector<float>& x, int64_t rows, int64_t classes,
           const LossTargets& targets, float scale) {
  const auto run = [&](float* loss, float* gradient) {
    const std::vector<uint8_t> hit = test::written<uint8_t>(rows, 0xEE, [&](uint8_t* hits) {
      softmax_cross_entropy({}, DType::kF32, x.data(), rows, classes, targets,
                            {.loss = loss, .gradient = gradient, .gradient_scale = scale, .hit = hits});
    });
    test::expect_near(expected.hit, {hit.begin(), hit.end()}, 0.0, 0.0);
  };
  // Without vectors, 1000 terms are one chain of additions, each rounded by 6e-8.
  agrees(expected.loss, 3e-5, 2e-6, [&] { return written_floats(rows, [&](float* loss) { run(loss, nullptr); }); });
  agrees(expected.gradient, 1e-5, 1e-6 * static_cast<double>(scale),
         [&] { return written_floats(rows * classes, [&](float* gradient) { run(nullptr, gradient); }); });
  agrees(expected.gradient, 1e-5, 1e-6 * static_cast<double>(scale), [&] {  // over the logits
    std::vector<float> in_place = x;
    softmax_cross_entropy({}, DType::kF32, in_place.data(), rows, classes, targets,
                          {.gradient = in_place.data(), .gradient_scale = scale});
    return in_place;
  });
}

TEST(SoftmaxCrossEntropy, LabelsAndDenseTargets) {
  for (const SoftmaxShape& shape : kSoftmaxShapes) {
    const int64_t rows = shape.rows, classes = shape.classes;
    SCOPED_TRACE(testing::Message() << rows << " x " << classes);
    std::vector<float> x = random_floats(rows * classes, 3, -8.0F, 8.0F);
    for (float& z : x) z = std::round(z);  // ties: the first largest counts
    std::vector<float> one_hot(x.size()), dense = random_floats(rows * classes, 5, 0.0F, 1.0F);
    std::vector<int32_t> labels;
    for (int64_t row = 0; row < rows; ++row) {
      labels.push_back(static_cast<int32_t>(row * 7 % classes));
      one_hot[static_cast<size_t>(row * classes + labels.back())] = 1.0F;
    }
    for (const float smoothing : {0.0F, 0.1F}) {
      const float scale = 0.25F;
      const double s = static_cast<double>(smoothing);
      check(reference(x, rows, classes, one_hot, s, 0.25), x, rows, classes, {labels.data(), nullptr, smoothing},
            scale);
      check(reference(x, rows, classes, one_hot, s, 0.25), x, rows, classes, {nullptr, one_hot.data(), smoothing},
            scale);
      for (float& y : dense) y /= static_cast<float>(classes);  // scales the loss of 1000 classes to that of one
      check(reference(x, rows, classes, dense, s, 0.25), x, rows, classes, {nullptr, dense.data(), smoothing}, scale);
    }
  }
}

TEST(SoftmaxCrossEntropy, LabelOutOfRangeGivesNanOnlyInItsRow) {
  for (const int64_t classes : {int64_t{10}, int64_t{50}}) {
    const std::vector<float> x = random_floats(3 * classes, 6);
    for (const int32_t wrong : {-1, static_cast<int32_t>(classes)}) {
      const std::vector<int32_t> labels = {1, wrong, 2};
      test::on_every_target([&] {
        std::vector<float> loss(3), gradient(x.size());
        std::vector<uint8_t> hit(3, 9);
        softmax_cross_entropy({}, DType::kF32, x.data(), 3, classes, {labels.data()},
                              {.loss = loss.data(), .gradient = gradient.data(), .hit = hit.data()});
        for (size_t i = 0; i < x.size(); ++i)
          EXPECT_EQ(std::isnan(gradient[i]), i / static_cast<size_t>(classes) == 1) << i;
        EXPECT_TRUE(std::isfinite(loss[0]) && std::isnan(loss[1]) && std::isfinite(loss[2]));
        EXPECT_EQ(hit[1], 0);
      });
    }
  }
}

TEST(SoftmaxCrossEntropy, ExtremeLogits) {
  const float infinity = std::numeric_limits<float>::infinity();
  for (const int64_t classes : {int64_t{3}, int64_t{40}}) {
    std::vector<float> x(static_cast<size_t>(2 * classes), -infinity);
    x[0] = 1e30F;
    x[1] = -1e30F;
    x[static_cast<size_t>(classes)] = NAN;
    const std::vector<int32_t> labels = {0, 0};
    test::on_every_target([&] {
      std::vector<float> loss(2), gradient(x.size());
      softmax_cross_entropy({}, DType::kF32, x.data(), 2, classes, {labels.data()},
                            {.loss = loss.data(), .gradient = gradient.data()});
      EXPECT_EQ(loss[0], 0.0F);
      EXPECT_EQ(gradient[0], 0.0F);
      EXPECT_EQ(gradient[1], 0.0F);
      EXPECT_TRUE(std::isnan(loss[1])) << "NaN must not be lost";
    });
  }
}

}  // namespace
}  // namespace dptrain::kernels::cpu
