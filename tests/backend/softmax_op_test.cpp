#include "nn/activations.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "backend/harness.h"

namespace dptrain::test {
namespace {

void check_softmax(const Shape& in) {
  Case c;
  c.layer = layer(nn::SoftmaxSpec{});
  c.inputs = {in};
  c.low = -20;
  c.high = 20;
  agrees(c, [&](const std::vector<Tensor>& inputs, const std::vector<Tensor>&) {
    Tensor y = inputs[0];
    for (auto row = y.values.begin(); row != y.values.end(); row += in.back()) {
      const double most = *std::max_element(row, row + in.back());
      double sum = 0;
      for (auto x = row; x != row + in.back(); ++x) sum += * x = std::exp(*x - most);
      for (auto x = row; x != row + in.back(); ++x) *x /= sum;
    }
    return y;
  });
}

TEST(SoftmaxOp, Classes) { check_softmax({10}); }
TEST(SoftmaxOp, ManyClasses) { check_softmax({101}); }
TEST(SoftmaxOp, LastAxis) { check_softmax({2, 3, 5}); }

}  // namespace
}  // namespace dptrain::test
