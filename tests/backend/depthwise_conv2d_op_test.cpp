#include "nn/convolutions.h"

#include <gtest/gtest.h>

#include "backend/depthwise_reference.h"
#include "backend/fusion_examples.h"

namespace dptrain::test {
namespace {

using nn::Activation;
using nn::DepthwiseConv2DSpec;
using nn::Padding;

DepthwiseConv2DSpec depthwise(Size2 kernel, Padding padding = Padding::kValid, Size2 strides = {1, 1},
                              std::int64_t multiplier = 1) {
  DepthwiseConv2DSpec spec;
  spec.kernel_size = kernel;
  spec.padding = padding;
  spec.strides = strides;
  spec.depth_multiplier = multiplier;
  return spec;
}

Case with(const DepthwiseConv2DSpec& spec, const Shape& in) {
  Case c;
  c.layer = layer(spec);
  c.inputs = {in};
  return c;
}

void check_depthwise(const Case& c) {
  const auto spec = c.layer.as<DepthwiseConv2DSpec>();
  agrees(c, [spec](const std::vector<Tensor>& in, const std::vector<Tensor>& weights) {
    const Tensor y = naive_depthwise(spec, in[0], weights[0]);
    return spec.use_bias ? with_bias(y, weights[1]) : y;
  });
}

TEST(DepthwiseConv2DOp, ValidOddSizes) { check_depthwise(with(depthwise({3, 3}), {7, 6, 5})); }

TEST(DepthwiseConv2DOp, SameOfManyChannels) { check_depthwise(with(depthwise({3, 3}, Padding::kSame), {3, 11, 17})); }

TEST(DepthwiseConv2DOp, SameWithStridesPadsUnevenly) {
  check_depthwise(with(depthwise({3, 3}, Padding::kSame, {2, 2}), {8, 6, 8}));
  check_depthwise(with(depthwise({3, 2}, Padding::kSame, {2, 3}), {7, 8, 3}));
}

TEST(DepthwiseConv2DOp, FiveByFive) {
  check_depthwise(with(depthwise({5, 5}, Padding::kSame), {6, 7, 5}));
  check_depthwise(with(depthwise({5, 5}, Padding::kSame, {2, 2}), {7, 9, 4}));
}

TEST(DepthwiseConv2DOp, SeveralFiltersPerChannel) {
  check_depthwise(with(depthwise({3, 3}, Padding::kSame, {1, 1}, 2), {5, 4, 3}));
  check_depthwise(with(depthwise({2, 3}, Padding::kValid, {2, 2}, 3), {6, 7, 4}));
}

TEST(DepthwiseConv2DOp, Dilated) {
  DepthwiseConv2DSpec spec = depthwise({3, 3}, Padding::kSame);
  spec.dilation_rate = {2, 1};
  check_depthwise(with(spec, {9, 6, 4}));
}

TEST(DepthwiseConv2DOp, WithoutBias) {
  DepthwiseConv2DSpec spec = depthwise({3, 3}, Padding::kSame);
  spec.use_bias = false;
  check_depthwise(with(spec, {4, 5, 6}));
}

const FusionExample kDepthwiseActivation([] {
  Case c = with(depthwise({3, 3}, Padding::kSame), {4, 5, 3});
  c.tail = tail_of(Activation::kRelu);
  return c;
});

TEST(DepthwiseConv2DOp, Activations) {
  for (const Activation f : {Activation::kRelu, Activation::kRelu6, Activation::kTanh}) {
    Case c = with(depthwise({3, 3}, Padding::kSame), {4, 5, 3});
    c.tail = tail_of(f);
    check_depthwise(c);
  }
  Case c = with(depthwise({3, 3}), {4, 5, 3});
  c.tail = tail_of(Activation::kRelu);
  c.undone = true;
  check_depthwise(c);
}

}  // namespace
}  // namespace dptrain::test
