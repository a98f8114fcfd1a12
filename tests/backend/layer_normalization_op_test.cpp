#include "nn/normalization.h"

#include <gtest/gtest.h>

#include <cmath>

#include "backend/group_norm_reference.h"

namespace dptrain::test {
namespace {

using nn::LayerNormalizationSpec;

void check_layer_normalization(const LayerNormalizationSpec& spec, const Shape& in, std::int64_t rows = 3) {
  Case c;
  c.layer = layer(spec);
  c.inputs = {in};
  c.rows = rows;
  c.tolerance = 5e-6;  // differences from the mean, divided by a standard deviation of about 0.6
  c.gradient_tolerance = 1e-5;
  agrees(c, [spec, in](const std::vector<Tensor>& x, const std::vector<Tensor>& weights) {
    return naive_group_norm(x[0], 1, nn::normalized_shape(spec.axis, in).elements(), 1, spec.epsilon,
                            spec.scale ? &weights[0] : nullptr, spec.center ? &weights.back() : nullptr);
  });
}

TEST(LayerNormalizationOp, LastAxis) {
  for (const std::int64_t width : {5, 8, 37, 300}) check_layer_normalization({}, {width});
  check_layer_normalization({}, {4, 3, 7});
}

TEST(LayerNormalizationOp, SeveralAxes) {
  LayerNormalizationSpec spec;
  spec.axis = {-2, -1};
  check_layer_normalization(spec, {3, 4, 5});
  spec.axis = {1, 2, 3};
  check_layer_normalization(spec, {3, 4, 5});
}

TEST(LayerNormalizationOp, WithoutScaleOrCenter) {
  LayerNormalizationSpec spec;
  spec.scale = false;
  check_layer_normalization(spec, {4, 6});
  spec.center = false;
  spec.epsilon = 1e-5;
  check_layer_normalization(spec, {4, 6});
  spec.scale = true;
  check_layer_normalization(spec, {4, 6});
}

TEST(LayerNormalizationOp, ManyRows) { check_layer_normalization({}, {20, 9}, 11); }

void check_rms_normalization(const nn::RMSNormalizationSpec& spec, const Shape& in, std::int64_t rows = 3) {
  Case c;
  c.layer = layer(spec);
  c.inputs = {in};
  c.rows = rows;
  c.tolerance = 5e-6;  // values divided by a root mean square of about 0.6
  c.gradient_tolerance = 1e-5;
  agrees(c, [spec, in](const std::vector<Tensor>& inputs, const std::vector<Tensor>& weights) {
    Tensor x = inputs[0];
    const auto width = static_cast<std::size_t>(nn::normalized_shape(spec.axis, in).elements());
    for (std::size_t row = 0; row < x.values.size(); row += width) {
      double squares = 0;
      for (std::size_t i = 0; i < width; ++i) squares += x.values[row + i] * x.values[row + i];
      const double root = std::sqrt(squares / static_cast<double>(width) + spec.epsilon);
      for (std::size_t i = 0; i < width; ++i) x.values[row + i] *= weights[0].values[i] / root;
    }
    return x;
  });
}

TEST(RMSNormalizationOp, LastAxis) {
  for (const std::int64_t width : {5, 8, 37, 300}) check_rms_normalization({}, {width});
  check_rms_normalization({.epsilon = 0.1}, {4, 3, 7}, 11);
}

TEST(RMSNormalizationOp, SeveralAxes) {
  check_rms_normalization({.axis = {-2, -1}}, {3, 4, 5});
  check_rms_normalization({.axis = {1, 2, 3}}, {3, 4, 5});
}

}  // namespace
}  // namespace dptrain::test
