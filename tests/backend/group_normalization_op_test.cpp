#include "nn/normalization.h"

#include <gtest/gtest.h>

#include "backend/group_norm_reference.h"

namespace dptrain::test {
namespace {

using nn::GroupNormalizationSpec;

void check_group_normalization(const GroupNormalizationSpec& spec, const Shape& in) {
  Case c;
  c.layer = layer(spec);
  c.inputs = {in};
  c.tolerance = 5e-6;  // differences from the mean, divided by a standard deviation of about 0.6
  c.gradient_tolerance = 1e-5;
  agrees(c, [spec, in](const std::vector<Tensor>& x, const std::vector<Tensor>& weights) {
    return naive_group_norm(x[0], in.elements() / in.back(), in.back(), nn::group_count(spec, in), spec.epsilon,
                            spec.scale ? &weights[0] : nullptr, spec.center ? &weights.back() : nullptr);
  });
}

TEST(GroupNormalizationOp, Groups) {
  for (const std::int64_t groups : {1, 2, 3, 6}) check_group_normalization({.groups = groups}, {4, 5, 6});
  check_group_normalization({.groups = 2}, {5, 3, 40});
  check_group_normalization({.groups = 4}, {64});
}

TEST(GroupNormalizationOp, OneGroupPerChannel) { check_group_normalization({.groups = -1}, {4, 5, 6}); }

TEST(GroupNormalizationOp, WithoutScaleOrCenter) {
  check_group_normalization({.groups = 2, .epsilon = 1e-5, .scale = false}, {3, 4, 6});
  check_group_normalization({.groups = 2, .center = false}, {3, 4, 6});
  check_group_normalization({.groups = 2, .center = false, .scale = false}, {3, 4, 6});
}

}  // namespace
}  // namespace dptrain::test
