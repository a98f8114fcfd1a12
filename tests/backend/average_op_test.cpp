#include "nn/merging.h"

#include <gtest/gtest.h>

#include "backend/merge_reference.h"

namespace dptrain::test {
namespace {

void check_average(const std::vector<Shape>& inputs, const Shape& out) {
  Case c;
  c.layer = layer(nn::AverageSpec{});
  c.inputs = inputs;
  agrees(c, [&](const std::vector<Tensor>& in, const std::vector<Tensor>& weights) {
    Tensor y = merged(inputs, out, std::plus<>())(in, weights);
    for (double& value : y.values) value /= static_cast<double>(inputs.size());
    return y;
  });
}

TEST(AverageOp, Equal) { check_average({{3, 2, 5}, {3, 2, 5}}, {3, 2, 5}); }
TEST(AverageOp, Three) { check_average({{7}, {7}, {7}}, {7}); }
TEST(AverageOp, Broadcast) {
  check_average({{3, 2, 5}, {1, 1, 5}}, {3, 2, 5});
  check_average({{3, 1, 5}, {1, 4, 1}, {3, 4, 5}}, {3, 4, 5});
}

}  // namespace
}  // namespace dptrain::test
