#include "nn/convolutions.h"

#include <gtest/gtest.h>

#include "backend/fusion_examples.h"

namespace dptrain::test {
namespace {

using nn::Activation;
using nn::DenseSpec;

void check_dense(std::int64_t units, const Shape& in, Activation epilogue = Activation::kLinear, bool use_bias = true) {
  DenseSpec spec;
  spec.units = units;
  spec.use_bias = use_bias;
  Case c;
  c.layer = layer(spec);
  c.inputs = {in};
  c.tail = tail_of(epilogue);
  c.tolerance = 5e-6;
  c.gradient_tolerance = 1e-5;
  c.same_bits_on_all_threads = false;
  agrees(c, [&](const std::vector<Tensor>& inputs, const std::vector<Tensor>& weights) {
    const Tensor &x = inputs[0], &kernel = weights[0];
    const std::int64_t width = kernel.dim(0), positions = static_cast<std::int64_t>(x.values.size()) / width;
    Tensor y({positions, spec.units});
    for (std::int64_t p = 0; p < positions; ++p)
      for (std::int64_t u = 0; u < spec.units; ++u) {
        y(p, u) = spec.use_bias ? weights[1](u) : 0.0;
        for (std::int64_t i = 0; i < width; ++i)
          y(p, u) += x.values[static_cast<std::size_t>(p * width + i)] * kernel(i, u);
      }
    return y;
  });
}

const FusionExample kDenseActivation([] {
  DenseSpec spec;
  spec.units = 5;
  Case c;
  c.layer = layer(spec);
  c.inputs = {{7}};
  c.tail = tail_of(Activation::kRelu);
  return c;
});

TEST(DenseOp, OddSizes) { check_dense(5, {13}); }
TEST(DenseOp, OneUnitWithoutBias) { check_dense(1, {7}, Activation::kLinear, false); }
TEST(DenseOp, ActsOnTheLastAxis) { check_dense(4, {3, 2, 6}); }
TEST(DenseOp, Relu) { check_dense(17, {33}, Activation::kRelu); }
TEST(DenseOp, Sigmoid) { check_dense(3, {5}, Activation::kSigmoid); }

}  // namespace
}  // namespace dptrain::test
