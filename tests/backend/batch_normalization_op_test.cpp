#include "nn/normalization.h"

#include <gtest/gtest.h>

#include <cmath>

#include "backend/fusion_examples.h"
#include "nn/merging.h"

namespace dptrain::test {
namespace {

using nn::BatchNormalizationSpec;

struct Moments {
  Tensor mean, variance;  // biased
};

Moments moments(const Tensor& x) {
  const std::int64_t channels = x.dims.back(), positions = static_cast<std::int64_t>(x.values.size()) / channels;
  Moments m{Tensor({channels}), Tensor({channels})};
  const auto n = static_cast<double>(positions);
  for (std::size_t i = 0; i < x.values.size(); ++i) m.mean(static_cast<std::int64_t>(i) % channels) += x.values[i] / n;
  for (std::size_t i = 0; i < x.values.size(); ++i) {
    const std::int64_t c = static_cast<std::int64_t>(i) % channels;
    m.variance(c) += std::pow(x.values[i] - m.mean(c), 2) / n;
  }
  return m;
}

/// weights: gamma and beta if used, moving mean, moving variance.
Tensor normalized(const BatchNormalizationSpec& spec, const Tensor& x, const Tensor& mean, const Tensor& variance,
                  const std::vector<Tensor>& weights) {
  Tensor y = x;
  for (std::size_t i = 0; i < y.values.size(); ++i) {
    const std::int64_t c = static_cast<std::int64_t>(i) % x.dims.back();
    const double gamma = spec.scale ? weights[0](c) : 1, beta = spec.center ? weights[spec.scale ? 1 : 0](c) : 0;
    y.values[i] = gamma * (x.values[i] - mean(c)) / std::sqrt(variance(c) + spec.epsilon) + beta;
  }
  return y;
}

Case with(const BatchNormalizationSpec& spec, const Shape& in) {
  Case c;
  c.layer = layer(spec);
  c.inputs = {in};
  c.gradient_tolerance = 2e-5;  // differences of sums that cancel
  c.weights = [](std::vector<Tensor>& weights) {
    for (double& v : weights.back().values) v = std::abs(v) + 0.25;  // a moving variance
  };
  c.statistics = [in](const std::vector<Tensor>& inputs) {
    const Moments m = moments(inputs[0]);
    return std::vector<Tensor>{m.mean, m.variance};
  };
  return c;
}

/// Adds the addend, if any.
Tensor summed(Tensor y, const std::vector<Tensor>& in) {
  for (std::size_t i = 0; in.size() > 1 && i < y.values.size(); ++i) y.values[i] += in[1].values[i];
  return y;
}

void check_batch_normalization(Case c) {
  const auto spec = c.layer.as<BatchNormalizationSpec>();
  const Reference moving = [spec](const std::vector<Tensor>& in, const std::vector<Tensor>& w) {
    return summed(normalized(spec, in[0], w[w.size() - 2], w.back(), w), in);
  };
  c.inference = moving;
  agrees(c, c.inference_mode ? moving : Reference([spec](const std::vector<Tensor>& in, const std::vector<Tensor>& w) {
           const Moments m = moments(in[0]);
           return summed(normalized(spec, in[0], m.mean, m.variance, w), in);
         }));
}

TEST(BatchNormalizationOp, Images) { check_batch_normalization(with({}, {5, 3, 7})); }
TEST(BatchNormalizationOp, Volumes) { check_batch_normalization(with({}, {2, 3, 4, 5})); }
TEST(BatchNormalizationOp, Vectors) {
  Case c = with({}, {17});
  c.rows = 13;
  check_batch_normalization(c);
}

TEST(BatchNormalizationOp, WithoutScaleOrCenter) {
  for (const auto& [scale, center] : {std::pair(false, true), std::pair(true, false), std::pair(false, false)}) {
    BatchNormalizationSpec spec;
    spec.scale = scale;
    spec.center = center;
    check_batch_normalization(with(spec, {3, 4, 5}));
  }
}

TEST(BatchNormalizationOp, Relu) {
  Case c = with({}, {4, 3, 6});
  c.tail = tail_of(nn::Activation::kRelu);
  check_batch_normalization(c);
  c.undone = true;
  check_batch_normalization(c);
}

const FusionExample kBatchNormalizationRelu([] {
  Case c = with({}, {4, 3, 6});
  c.tail = tail_of(nn::Activation::kRelu);
  return c;
});
Case with_sum() {
  Case c = with({}, {4, 3, 6});
  c.inputs.push_back(c.inputs[0]);
  c.tail = {layer(nn::AddSpec{})};
  return c;
}
const FusionExample kBatchNormalizationSum(with_sum);
const FusionExample kBatchNormalizationSumRelu([] {
  Case c = with_sum();
  c.tail.push_back(tail_of(nn::Activation::kRelu).front());
  return c;
});

TEST(BatchNormalizationOp, FollowedByAnAdd) {
  for (const bool inference_mode : {false, true}) {
    for (const auto epilogue : {nn::Activation::kLinear, nn::Activation::kRelu}) {
      Case c = with({}, {4, 3, 6});
      c.inputs.push_back(c.inputs[0]);
      c.inference_mode = inference_mode;
      if (inference_mode) c.statistics = nullptr;
      c.tail = tail_of(epilogue);
      c.tail.insert(c.tail.begin(), layer(nn::AddSpec{}));
      check_batch_normalization(c);
      c.undone = epilogue == nn::Activation::kRelu;
      check_batch_normalization(c);
    }
  }
}

TEST(BatchNormalizationOp, InferenceModeKeepsStatistics) {
  for (const auto epilogue : {nn::Activation::kLinear, nn::Activation::kRelu}) {
    Case c = with({}, {4, 3, 6});
    c.inference_mode = true;
    c.tail = tail_of(epilogue);
    c.statistics = nullptr;
    check_batch_normalization(c);
  }
}

TEST(BatchNormalizationOp, MovingVarianceMayBeUnbiased) {
  Case c = with({}, {3, 2, 5});
  c.options.bn_unbiased_running_var = true;
  c.statistics = [](const std::vector<Tensor>& inputs) {
    Moments m = moments(inputs[0]);
    const double n = static_cast<double>(inputs[0].values.size()) / 5;
    for (double& v : m.variance.values) v *= n / (n - 1);
    return std::vector<Tensor>{m.mean, m.variance};
  };
  check_batch_normalization(c);
}

/// Values far from zero: the variance must not be a difference of large squares.
TEST(BatchNormalizationOp, LargeMean) {
  Case c = with({}, {5, 5, 3});
  c.low = 999;
  c.high = 1001;
  c.tolerance = 1e-4;  // inputs are rounded to 6e-5, outputs are about 1.7
  c.differentiable = false;
  c.types = {DType::kF32};  // 16 bits keep only the mean
  check_batch_normalization(c);
}

}  // namespace
}  // namespace dptrain::test
