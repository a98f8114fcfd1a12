// Layers over steps: shapes, weights and errors.

#include "nn/example.h"

namespace dptrain::nn {
namespace {

const Shape kSteps{7, 3};

TEST(Steps, Conv1D) {
  EXPECT_EQ(output_of("Conv1D: {filters: 4, kernel_size: 3}", {kSteps}), (Shape{5, 4}));
  EXPECT_EQ(output_of("Conv1D: {filters: 4, kernel_size: [3], strides: [2], padding: same}", {kSteps}), (Shape{4, 4}));
  EXPECT_EQ(output_of("Conv1D: {filters: 4, kernel_size: 3, dilation_rate: 3}", {kSteps}), (Shape{1, 4}));
  // Longer than the input, which is an error with "valid".
  EXPECT_EQ(output_of("Conv1D: {filters: 4, kernel_size: 9, padding: causal}", {kSteps}), (Shape{7, 4}));
  EXPECT_EQ(output_of("Conv1D: {filters: 4, kernel_size: 3, padding: causal, strides: 3}", {kSteps}), (Shape{3, 4}));
  EXPECT_EQ(weights_of("Conv1D: {filters: 6, kernel_size: 2, groups: 3}", {kSteps}), "kernel 2x1x6, bias 6");
  EXPECT_EQ(reads_of("Conv1D: {filters: 4, kernel_size: 3, activation: relu}"), "output; input to train");
}

TEST(Steps, Conv1DRejectsInvalidShapes) {
  EXPECT_EQ(shape_error("Conv1D: {filters: 4, kernel_size: 9}", {kSteps}),
            "window 9 is larger than the 7 steps of {0}");
  EXPECT_EQ(shape_error("Conv1D: {filters: 4, kernel_size: 1, groups: 2}", {kSteps}),
            "groups 2 do not divide the input's 3 channels");
  EXPECT_EQ(shape_error("Conv1D: {filters: 4, kernel_size: 2, strides: 2, dilation_rate: 2}", {kSteps}),
            "strides > 1 cannot be combined with dilation_rate > 1");
  EXPECT_EQ(read_layer("Conv1D: {filters: 4, kernel_size: 0}").errors, "Conv1D: kernel_size must be >= 1, found 0\n");
  EXPECT_EQ(read_layer("Conv1D: {filters: 4, kernel_size: [3, 3]}").errors,
            "Conv1D: kernel_size must be n or [n], found a list\n");
  EXPECT_EQ(read_layer("Conv2D: {filters: 3, kernel_size: 3, padding: causal}").errors,
            "Conv2D: padding must be valid or same, found 'causal'\n");
  EXPECT_EQ(read_layer("SeparableConv1D: {filters: 3, kernel_size: 3, padding: causal}").errors,
            "SeparableConv1D: padding must be valid or same, found 'causal'\n");
}

TEST(Steps, OtherConvolutions) {
  EXPECT_EQ(output_of("DepthwiseConv1D: {kernel_size: 2, strides: 2, depth_multiplier: 4}", {kSteps}), (Shape{3, 12}));
  EXPECT_EQ(weights_of("DepthwiseConv1D: {kernel_size: 2, depth_multiplier: 4}", {kSteps}),
            "depthwise_kernel 2x3x4, bias 12");
  EXPECT_EQ(shape_error("DepthwiseConv1D: {kernel_size: 1, depth_multiplier: 16777216}", {kSteps}),
            "depth_multiplier 16777216 makes 50331648 channels of 3, more than 16777216");
  EXPECT_EQ(output_of("SeparableConv1D: {filters: 8, kernel_size: 3}", {kSteps}), (Shape{5, 8}));
  EXPECT_EQ(weights_of("SeparableConv1D: {filters: 8, kernel_size: 3, depth_multiplier: 2}", {kSteps}),
            "depthwise_kernel 3x3x2, pointwise_kernel 1x6x8, bias 8");
  EXPECT_EQ(output_of("Conv1DTranspose: {filters: 4, kernel_size: 3, strides: 2}", {kSteps}), (Shape{15, 4}));
  EXPECT_EQ(output_of("Conv1DTranspose: {filters: 4, kernel_size: 3, strides: 2, padding: same}", {kSteps}),
            (Shape{14, 4}));
  EXPECT_EQ(output_of("Conv1DTranspose: {filters: 4, kernel_size: 3, strides: 3, output_padding: 2}", {kSteps}),
            (Shape{23, 4}));
  EXPECT_EQ(weights_of("Conv1DTranspose: {filters: 4, kernel_size: 5}", {kSteps}), "kernel 5x4x3, bias 4");
  EXPECT_EQ(shape_error("Conv1DTranspose: {filters: 4, kernel_size: 3, output_padding: 1}", {kSteps}),
            "output_padding 1 must be smaller than the stride 1");
}

TEST(Steps, PoolingAndRearranging) {
  for (const std::string type : {"MaxPooling1D", "AveragePooling1D"}) {
    EXPECT_EQ(output_of(type, {kSteps}), (Shape{3, 3})) << type;
    EXPECT_EQ(output_of(type + ": {pool_size: 3, strides: 2, padding: same}", {kSteps}), (Shape{4, 3})) << type;
    EXPECT_EQ(shape_error(type + ": 9", {kSteps}), "window 9 is larger than the 7 steps of {0}") << type;
    EXPECT_EQ(output_of("Global" + type, {kSteps}), (Shape{3})) << type;
    EXPECT_EQ(output_of("Global" + type + ": {keepdims: true}", {kSteps}), (Shape{1, 3})) << type;
  }
  EXPECT_EQ(output_of("ZeroPadding1D", {kSteps}), (Shape{9, 3}));
  EXPECT_EQ(output_of("ZeroPadding1D: [0, 4]", {kSteps}), (Shape{11, 3}));
  EXPECT_EQ(output_of("Cropping1D", {kSteps}), (Shape{5, 3}));
  EXPECT_EQ(output_of("Cropping1D: [6, 0]", {kSteps}), (Shape{1, 3}));
  EXPECT_EQ(shape_error("Cropping1D: [3, 4]", {kSteps}), "cropping takes 7 steps, {0} has 7");
  EXPECT_EQ(read_layer("Cropping1D: [1, 2, 3]").errors,
            "Cropping1D: cropping must be n or [before, after], found a list\n");
  EXPECT_EQ(output_of("UpSampling1D: 3", {kSteps}), (Shape{21, 3}));
  EXPECT_EQ(output_of("SpatialDropout1D: 0.5", {kSteps}), kSteps);
  EXPECT_TRUE(is_random(layer_of("SpatialDropout1D: 0.5")));
}

}  // namespace
}  // namespace dptrain::nn
