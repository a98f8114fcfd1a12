#include "nn/merging.h"

#include <gtest/gtest.h>

#include <cmath>

#include "backend/harness.h"
#include "support/output_shape.h"

namespace dptrain::test {
namespace {

/// Element k of line l of sample n.
double element(const nn::DotOperand& o, const Tensor& x, std::int64_t n, std::int64_t l, std::int64_t k) {
  const std::int64_t at = n * o.lines * o.length + l * o.line_stride + k * o.stride;
  return x.values[static_cast<std::size_t>(at)];
}

double length_of(const nn::DotOperand& o, const Tensor& x, std::int64_t n, std::int64_t l) {
  double squares = 0;
  for (std::int64_t k = 0; k < o.length; ++k) squares += element(o, x, n, l, k) * element(o, x, n, l, k);
  return std::sqrt(squares);
}

void check_dot(const nn::DotSpec& spec, const Shape& first, const Shape& second) {
  SCOPED_TRACE(first.str() + " and " + second.str());
  Case c;
  c.layer = layer(spec);
  c.inputs = {first, second};
  c.low = -0.25;                                // products do not cancel, so that 16 bits are tested too
  c.values = [](std::vector<Tensor>& inputs) {  // tensors of one size have equal draws
    for (double& value : inputs[1].values) value = 0.625 - value / 2;
  };
  c.gradient_tolerance = 2e-5;
  agrees(c, [&](const std::vector<Tensor>& x, const std::vector<Tensor>&) {
    const nn::DotOperand a = nn::dot_operand(spec, first, 0), b = nn::dot_operand(spec, second, 1);
    Tensor y = batch(x[0].dim(0), output_shape(c.layer, c.inputs));
    std::size_t to = 0;
    for (std::int64_t n = 0; n < x[0].dim(0); ++n)
      for (std::int64_t i = 0; i < a.lines; ++i)
        for (std::int64_t j = 0; j < b.lines; ++j) {
          double sum = 0;
          for (std::int64_t k = 0; k < a.length; ++k) sum += element(a, x[0], n, i, k) * element(b, x[1], n, j, k);
          if (spec.normalize) sum /= length_of(a, x[0], n, i) * length_of(b, x[1], n, j);
          y.values[to++] = sum;
        }
    return y;
  });
}

TEST(DotOp, AxesInAnyOrder) {
  for (const bool normalize : {false, true}) {
    check_dot({.axes = {1, 1}, .normalize = normalize}, {7}, {7});
    check_dot({.axes = {-1, -1}, .normalize = normalize}, {3, 5}, {4, 5});
    check_dot({.axes = {2, 1}, .normalize = normalize}, {3, 5}, {5, 4});
    check_dot({.axes = {1, 2}, .normalize = normalize}, {5, 3}, {4, 5});
    check_dot({.axes = {1, 1}, .normalize = normalize}, {5, 3}, {5, 4});
    check_dot({.axes = {1, 2}, .normalize = normalize}, {6}, {4, 6});
    check_dot({.axes = {1, 1}, .normalize = normalize}, {6, 3}, {6});
  }
}

}  // namespace
}  // namespace dptrain::test
