#include "nn/convolutions.h"

#include <gtest/gtest.h>

#include "backend/depthwise_reference.h"
#include "backend/fusion_examples.h"

namespace dptrain::test {
namespace {

using nn::Activation;
using nn::Padding;
using nn::SeparableConv2DSpec;

SeparableConv2DSpec separable(std::int64_t filters, Size2 kernel, Padding padding = Padding::kValid) {
  SeparableConv2DSpec spec;
  spec.filters = filters;
  spec.kernel_size = kernel;
  spec.padding = padding;
  return spec;
}

/// The pointwise kernel is [1, 1, in, filters].
Tensor naive(const SeparableConv2DSpec& s, const Tensor& x, const std::vector<Tensor>& weights) {
  const Tensor between = naive_depthwise(s, x, weights[0]);
  Tensor y({between.dim(0), between.dim(1), between.dim(2), s.filters});
  const std::size_t in = static_cast<std::size_t>(between.dim(3)), out = static_cast<std::size_t>(s.filters);
  for (std::size_t p = 0; p < y.values.size() / out; ++p)
    for (std::size_t i = 0; i < in; ++i)
      for (std::size_t o = 0; o < out; ++o)
        y.values[p * out + o] += between.values[p * in + i] * weights[1].values[i * out + o];
  return s.use_bias ? with_bias(y, weights[2]) : y;
}

Case with(const SeparableConv2DSpec& spec, const Shape& in) {
  Case c;
  c.layer = layer(spec);
  c.inputs = {in};
  // Two successive sums of a hundred products of size one.
  c.tolerance = 5e-6;
  c.gradient_tolerance = 1e-5;
  c.same_bits_on_all_threads = false;  // the gradient of the pointwise weights
  return c;
}

void check_separable(const Case& c) {
  const auto spec = c.layer.as<SeparableConv2DSpec>();
  agrees(c, [spec](const std::vector<Tensor>& in, const std::vector<Tensor>& weights) {
    return naive(spec, in[0], weights);
  });
}

TEST(SeparableConv2DOp, ValidOddSizes) { check_separable(with(separable(7, {3, 3}), {6, 5, 3})); }

TEST(SeparableConv2DOp, SameWithStrides) {
  SeparableConv2DSpec spec = separable(8, {3, 3}, Padding::kSame);
  spec.strides = {2, 2};
  check_separable(with(spec, {8, 7, 16}));
}

TEST(SeparableConv2DOp, SeveralFiltersPerChannel) {
  SeparableConv2DSpec spec = separable(5, {2, 3}, Padding::kSame);
  spec.depth_multiplier = 2;
  check_separable(with(spec, {4, 5, 3}));
}

TEST(SeparableConv2DOp, DilatedWithoutBias) {
  SeparableConv2DSpec spec = separable(4, {3, 3}, Padding::kSame);
  spec.dilation_rate = {2, 2};
  spec.use_bias = false;
  check_separable(with(spec, {6, 7, 5}));
}

const FusionExample kSeparableActivation([] {
  Case c = with(separable(5, {3, 3}, Padding::kSame), {5, 4, 4});
  c.tail = tail_of(Activation::kRelu);
  return c;
});

TEST(SeparableConv2DOp, Activations) {
  for (const Activation f : {Activation::kRelu, Activation::kTanh}) {
    Case c = with(separable(5, {3, 3}, Padding::kSame), {5, 4, 4});
    c.tail = tail_of(f);
    check_separable(c);
  }
}

TEST(SeparableConv2DOp, AllocatesForUnpreparedRows) {
  Case c = with(separable(8, {3, 3}, Padding::kSame), {9, 8, 16});
  for (const auto& device : devices()) {
    SCOPED_TRACE(device->description());
    c.prepares_rows = false;
    const auto found = train(*device, c);
    c.prepares_rows = true;
    const auto expected = train(*device, c);
    ASSERT_EQ(found.size(), expected.size());
    for (std::size_t i = 0; i < found.size(); ++i) EXPECT_EQ(found[i], expected[i]);
  }
}

}  // namespace
}  // namespace dptrain::test
