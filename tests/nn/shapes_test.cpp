// Output shapes, weights, and inputs of backward, layer by layer; expected values are Keras's.

#include "nn/example.h"
#include "nn/geometry.h"

namespace dptrain::nn {
namespace {

const Shape kOdd{7, 5, 3};

TEST(Shapes, Conv2D) {
  EXPECT_EQ(output_of("Conv2D: {filters: 4, kernel_size: 3}", {kOdd}), (Shape{5, 3, 4}));
  EXPECT_EQ(output_of("Conv2D: {filters: 4, kernel_size: [3, 2], strides: 2, padding: same}", {kOdd}),
            (Shape{4, 3, 4}));
  EXPECT_EQ(output_of("Conv2D: {filters: 4, kernel_size: 3, dilation_rate: 2}", {kOdd}), (Shape{3, 1, 4}));
  EXPECT_EQ(weights_of("Conv2D: {filters: 4, kernel_size: [3, 2]}", {kOdd}), "kernel 3x2x3x4, bias 4");
  EXPECT_EQ(weights_of("Conv2D: {filters: 9, kernel_size: 1, groups: 3, use_bias: false}", {kOdd}), "kernel 1x1x1x9");
  EXPECT_EQ(reads_of("Conv2D: {filters: 4, kernel_size: 3}"), "; input to train");
  EXPECT_EQ(reads_of("Conv2D: {filters: 4, kernel_size: 3, activation: relu}"), "output; input to train");
}

TEST(Shapes, Conv2DRejectsInvalidShapes) {
  EXPECT_EQ(shape_error("Conv2D: {filters: 4, kernel_size: [3, 9]}", {kOdd}),
            "window 3x9 is larger than the input 7x5");
  EXPECT_EQ(shape_error("Conv2D: {filters: 4, kernel_size: 3, dilation_rate: 3}", {kOdd}),
            "window 7x7 is larger than the input 7x5");
  EXPECT_EQ(shape_error("Conv2D: {filters: 4, kernel_size: 1, groups: 2}", {kOdd}),
            "groups 2 do not divide the input's 3 channels");
  EXPECT_EQ(shape_error("Conv2D: {filters: 4, kernel_size: 1, groups: 3}", {kOdd}), "groups 3 do not divide filters 4");
  EXPECT_EQ(shape_error("Conv2D: {filters: 4, kernel_size: 2, strides: 2, dilation_rate: 2}", {kOdd}),
            "strides > 1 cannot be combined with dilation_rate > 1");
  EXPECT_EQ(read_layer("Conv2D: {filters: 0, kernel_size: 3}").errors, "Conv2D: filters must be >= 1, found 0\n");
  EXPECT_EQ(read_layer("Conv2D: {filters: 3}").errors, "Conv2D: missing argument 'kernel_size'\n");
  EXPECT_EQ(read_layer("Conv2D: {filters: 3, kernel_size: 3, padding: sam}").errors,
            "Conv2D: padding must be valid or same, found 'sam'; did you mean 'same'?\n");
}

TEST(Shapes, DepthwiseConv2D) {
  EXPECT_EQ(output_of("DepthwiseConv2D: 3", {kOdd}), (Shape{5, 3, 3}));
  EXPECT_EQ(output_of("DepthwiseConv2D: {kernel_size: [3, 2], strides: 2, padding: same, depth_multiplier: 4}", {kOdd}),
            (Shape{4, 3, 12}));
  EXPECT_EQ(weights_of("DepthwiseConv2D: {kernel_size: [3, 2], depth_multiplier: 4}", {kOdd}),
            "depthwise_kernel 3x2x3x4, bias 12");
  EXPECT_EQ(weights_of("DepthwiseConv2D: {kernel_size: 5, padding: same, use_bias: false}", {kOdd}),
            "depthwise_kernel 5x5x3x1");
  EXPECT_EQ(reads_of("DepthwiseConv2D: 3"), "; input to train");
  EXPECT_EQ(reads_of("DepthwiseConv2D: {kernel_size: 3, activation: relu}"), "output; input to train");
  EXPECT_EQ(shape_error("DepthwiseConv2D: [3, 9]", {kOdd}), "window 3x9 is larger than the input 7x5");
  EXPECT_EQ(shape_error("DepthwiseConv2D: {kernel_size: 2, strides: [1, 2], dilation_rate: [2, 1]}", {kOdd}),
            "strides > 1 cannot be combined with dilation_rate > 1");
  EXPECT_EQ(shape_error("DepthwiseConv2D: {kernel_size: 1, depth_multiplier: 16777216}", {kOdd}),
            "depth_multiplier 16777216 makes 50331648 channels of 3, more than 16777216");
  EXPECT_EQ(read_layer("DepthwiseConv2D: {kernel_size: 3, filters: 8}").errors.substr(0, 42),
            "DepthwiseConv2D: unknown argument 'filters");
}

TEST(Shapes, SeparableConv2D) {
  EXPECT_EQ(output_of("SeparableConv2D: {filters: 8, kernel_size: 3}", {kOdd}), (Shape{5, 3, 8}));
  EXPECT_EQ(output_of("SeparableConv2D: {filters: 8, kernel_size: 3, strides: 2, padding: same}", {kOdd}),
            (Shape{4, 3, 8}));
  EXPECT_EQ(weights_of("SeparableConv2D: {filters: 8, kernel_size: [3, 2], depth_multiplier: 2}", {kOdd}),
            "depthwise_kernel 3x2x3x2, pointwise_kernel 1x1x6x8, bias 8");
  EXPECT_EQ(weights_of("SeparableConv2D: {filters: 8, kernel_size: 3, use_bias: false}", {kOdd}),
            "depthwise_kernel 3x3x3x1, pointwise_kernel 1x1x3x8");
  EXPECT_EQ(reads_of("SeparableConv2D: {filters: 8, kernel_size: 3, activation: tanh}"), "output; input to train");
  EXPECT_EQ(shape_error("SeparableConv2D: {filters: 8, kernel_size: 3, dilation_rate: 3}", {kOdd}),
            "window 7x7 is larger than the input 7x5");
  EXPECT_EQ(shape_error("SeparableConv2D: {filters: 8, kernel_size: 2, strides: 2, dilation_rate: 2}", {kOdd}),
            "strides > 1 cannot be combined with dilation_rate > 1");
  EXPECT_EQ(read_layer("SeparableConv2D: {kernel_size: 3}").errors, "SeparableConv2D: missing argument 'filters'\n");
}

TEST(Shapes, Dense) {
  EXPECT_EQ(output_of("Dense: 4", {{6}}), (Shape{4}));
  EXPECT_EQ(output_of("Dense: {units: 4}", {kOdd}), (Shape{7, 5, 4}));
  EXPECT_EQ(weights_of("Dense: {units: 4}", {kOdd}), "kernel 3x4, bias 4");
  EXPECT_EQ(weights_of("Dense: {units: 4, use_bias: false}", {{6}}), "kernel 6x4");
  EXPECT_EQ(reads_of("Dense: {units: 4, activation: tanh}"), "output; input to train");
}

TEST(Shapes, Pooling) {
  for (const std::string type : {"MaxPooling2D", "AveragePooling2D"}) {
    EXPECT_EQ(output_of(type, {kOdd}), (Shape{3, 2, 3})) << type;
    EXPECT_EQ(output_of(type + ": {pool_size: 3, strides: 2, padding: same}", {kOdd}), (Shape{4, 3, 3})) << type;
    EXPECT_EQ(output_of(type + ": [3, 1]", {kOdd}), (Shape{2, 5, 3})) << type;
    EXPECT_EQ(shape_error(type + ": {pool_size: 9}", {{4, 4, 1}}), "window 9x9 is larger than the input 4x4") << type;
    EXPECT_EQ(reads_of(type), "") << type;
    EXPECT_EQ(output_of("Global" + type, {kOdd}), (Shape{3})) << type;
    EXPECT_EQ(output_of("Global" + type + ": {keepdims: true}", {kOdd}), (Shape{1, 1, 3})) << type;
  }
}

TEST(Shapes, Window) {
  // 224 pixels, window 3, stride 2: TensorFlow pads after, not before.
  const WindowAxis axis = window_axis(224, 3, 2, 1, Padding::kSame);
  EXPECT_EQ(axis.out, 112);
  EXPECT_EQ(axis.pad_before, 0);
  EXPECT_EQ(axis.pad_after, 1);
  const WindowAxis wide = window_axis(7, 3, 1, 2, Padding::kSame);
  EXPECT_EQ(wide.pad_before, 2);
  EXPECT_EQ(wide.pad_after, 2);
  EXPECT_EQ(window_axis(5, 2, 7, 1, Padding::kSame).pad_after, 0);  // a stride beyond the window needs no padding
}

TEST(Shapes, FlattenAndReshape) {
  EXPECT_EQ(output_of("Flatten", {kOdd}), (Shape{105}));
  EXPECT_EQ(output_of("Reshape: [5, 21]", {kOdd}), (Shape{5, 21}));
  EXPECT_EQ(output_of("Reshape: {target_shape: [3, -1, 5]}", {kOdd}), (Shape{3, 7, 5}));
  EXPECT_EQ(shape_error("Reshape: [4, -1]", {kOdd}),
            "{0} is 7x5x3 with 105 elements, which do not fill target_shape 4x-1");
  EXPECT_EQ(shape_error("Reshape: [16777216, 16777216, 16777216]", {kOdd}),
            "{0} is 7x5x3 with 105 elements, which do not fill target_shape 16777216x16777216x16777216");
  EXPECT_EQ(read_layer("Reshape: [-1, -1]").errors, "Reshape: target_shape may hold -1 only once\n");
  EXPECT_EQ(read_layer("Reshape: [3, 0]").errors, "Reshape: target_shape must not hold 0\n");
  EXPECT_TRUE(type_of(layer_of("Flatten")).is_view);
  EXPECT_TRUE(type_of(layer_of("Reshape: [1]")).is_view);
}

TEST(Shapes, ZeroPadding2D) {
  EXPECT_EQ(output_of("ZeroPadding2D", {kOdd}), (Shape{9, 7, 3}));
  EXPECT_EQ(output_of("ZeroPadding2D: 3", {kOdd}), (Shape{13, 11, 3}));
  EXPECT_EQ(output_of("ZeroPadding2D: [1, 2]", {kOdd}), (Shape{9, 9, 3}));
  EXPECT_EQ(output_of("ZeroPadding2D: {padding: [[0, 1], [2, 3]]}", {kOdd}), (Shape{8, 10, 3}));
  EXPECT_EQ(read_layer("ZeroPadding2D: [1, 2, 3]").errors,
            "ZeroPadding2D: padding must be n, [height, width] or [[top, bottom], [left, right]], found a list\n");
  EXPECT_EQ(read_layer("ZeroPadding2D: -1").errors, "ZeroPadding2D: padding must be >= 0, found -1\n");
  for (const std::string text : {"3", "[1, 2]", "[[0, 1], [2, 3]]"}) {
    const config::Typed layer = layer_of("ZeroPadding2D: " + text);
    const config::Typed again = layer_of(config::to_yaml(layer.write()));
    EXPECT_TRUE(config::same(layer.write(), again.write())) << text;
  }
}

TEST(Shapes, Cropping2D) {
  EXPECT_EQ(output_of("Cropping2D", {kOdd}), kOdd);
  EXPECT_EQ(output_of("Cropping2D: 1", {kOdd}), (Shape{5, 3, 3}));
  EXPECT_EQ(output_of("Cropping2D: {cropping: [[0, 1], [2, 0]]}", {kOdd}), (Shape{6, 3, 3}));
  EXPECT_EQ(shape_error("Cropping2D: [3, 3]", {kOdd}), "cropping takes 6 rows and 6 columns, {0} has 7 and 5");
  EXPECT_EQ(read_layer("Cropping2D: -1").errors, "Cropping2D: cropping must be >= 0, found -1\n");
}

TEST(Shapes, UpSampling2D) {
  EXPECT_EQ(output_of("UpSampling2D", {kOdd}), (Shape{14, 10, 3}));
  EXPECT_EQ(output_of("UpSampling2D: {size: [1, 3], interpolation: bilinear}", {kOdd}), (Shape{7, 15, 3}));
  EXPECT_EQ(shape_error("UpSampling2D: 16777216", {kOdd}),
            "size 16777216x16777216 makes 117440512x83886080 of 7x5, more than 16777216");
  EXPECT_EQ(read_layer("UpSampling2D: {interpolation: bicubic}").errors,
            "UpSampling2D: interpolation must be nearest or bilinear, found 'bicubic'\n");
}

/// Keras's deconv_output_length.
TEST(Shapes, Conv2DTranspose) {
  const auto extents = [](const std::string& arguments) {
    return output_of("Conv2DTranspose: {filters: 4, " + arguments + "}", {kOdd});
  };
  EXPECT_EQ(extents("kernel_size: 3"), (Shape{9, 7, 4}));
  EXPECT_EQ(extents("kernel_size: 3, strides: 2"), (Shape{15, 11, 4}));
  EXPECT_EQ(extents("kernel_size: 2, strides: 3"), (Shape{21, 15, 4}));
  EXPECT_EQ(extents("kernel_size: 3, strides: 2, padding: same"), (Shape{14, 10, 4}));
  EXPECT_EQ(extents("kernel_size: 3, strides: 2, padding: same, output_padding: [0, 1]"), (Shape{13, 10, 4}));
  EXPECT_EQ(extents("kernel_size: 3, strides: 2, output_padding: 1"), (Shape{16, 12, 4}));
  EXPECT_EQ(extents("kernel_size: 3, dilation_rate: 2"), (Shape{11, 9, 4}));
  EXPECT_EQ(weights_of("Conv2DTranspose: {filters: 4, kernel_size: [3, 2]}", {kOdd}), "kernel 3x2x4x3, bias 4");
  EXPECT_EQ(reads_of("Conv2DTranspose: {filters: 4, kernel_size: 3, activation: relu}"), "output; input to train");
}

TEST(Shapes, Conv2DTransposeRejectsInvalidShapes) {
  const auto message = [](const std::string& arguments) {
    return shape_error("Conv2DTranspose: {filters: 4, " + arguments + "}", {kOdd});
  };
  EXPECT_EQ(message("kernel_size: 3, strides: 2, output_padding: 2"),
            "output_padding 2 must be smaller than the stride 2");
  EXPECT_EQ(message("kernel_size: 4, strides: 2, padding: same, output_padding: 0"),
            "output_padding 0 with kernel 4, stride 2 and padding same gives an extent of 12, which no convolution "
            "maps back to 7");
  EXPECT_EQ(message("kernel_size: 2, strides: 2, dilation_rate: 2"),
            "strides > 1 cannot be combined with dilation_rate > 1");
}

TEST(Shapes, LayerNormalization) {
  EXPECT_EQ(output_of("LayerNormalization", {kOdd}), kOdd);
  EXPECT_EQ(weights_of("LayerNormalization", {kOdd}), "gamma 3, beta 3");
  EXPECT_EQ(weights_of("LayerNormalization: {axis: 3, center: false}", {kOdd}), "gamma 3");
  EXPECT_EQ(weights_of("LayerNormalization: {axis: [1, 2, 3], scale: false}", {kOdd}), "beta 7x5x3");
  EXPECT_EQ(weights_of("LayerNormalization: {axis: [-1, -2]}", {kOdd}), "gamma 5x3, beta 5x3");
  for (const char* axis : {"1", "[1, 3]", "[0, 1, 2, 3]", "4", "[3, 3]", "[]"})
    EXPECT_NE(shape_error(std::string("LayerNormalization: {axis: ") + axis + "}", {kOdd}), "") << axis;
  EXPECT_EQ(shape_error("LayerNormalization: {axis: [1, 3]}", {kOdd}),
            "axis [1, 3] is not supported: only the last axis is (-1 or 3), or the last few");
  EXPECT_EQ(reads_of("LayerNormalization"), "input");
}

TEST(Shapes, GroupNormalization) {
  EXPECT_EQ(output_of("GroupNormalization: 3", {kOdd}), kOdd);
  EXPECT_EQ(weights_of("GroupNormalization: {groups: -1, axis: 3}", {kOdd}), "gamma 3, beta 3");
  EXPECT_EQ(weights_of("GroupNormalization: {groups: 1, scale: false, center: false}", {kOdd}), "");
  EXPECT_EQ(shape_error("GroupNormalization", {kOdd}), "groups 32 do not divide the input's 3 channels");
  EXPECT_EQ(shape_error("GroupNormalization: {groups: 1, axis: 1}", {kOdd}),
            "axis 1 is not supported: only the last axis is, -1 or 3");
  EXPECT_EQ(read_layer("GroupNormalization: 0").errors,
            "GroupNormalization: groups must be -1 (as many as channels) or >= 1, found 0\n");
  EXPECT_EQ(read_layer("GroupNormalization: -2").errors, "GroupNormalization: groups must be >= -1, found -2\n");
}

TEST(Shapes, Elementwise) {
  for (const char* type : {"Activation: relu", "ReLU", "LeakyReLU", "Softmax", "Dropout: 0.5", "Rescaling: 2",
                           "BatchNormalization", "LocalResponseNormalization"})
    EXPECT_EQ(output_of(type, {kOdd}), kOdd) << type;
  EXPECT_EQ(weights_of("BatchNormalization", {kOdd}),
            "gamma 3, beta 3, moving_mean 3 statistic, moving_variance 3 statistic");
  EXPECT_EQ(weights_of("BatchNormalization: {scale: false, center: false}", {kOdd}),
            "moving_mean 3 statistic, moving_variance 3 statistic");
  EXPECT_EQ(output_of("BatchNormalization: {axis: 3}", {kOdd}), kOdd);
  EXPECT_EQ(shape_error("BatchNormalization: {axis: 1}", {kOdd}),
            "axis 1 is not supported: only the last axis is, -1 or 3");
  EXPECT_EQ(output_of("Softmax: 1", {{4}}), (Shape{4}));
  EXPECT_EQ(shape_error("Softmax: -2", {kOdd}), "axis -2 is not supported: only the last axis is, -1 or 3");
  EXPECT_TRUE(is_random(layer_of("Dropout: 0.5")));
  EXPECT_EQ(read_layer("Dropout: 1").errors, "Dropout: rate must be >= 0 and < 1, found 1\n");
}

TEST(Shapes, Merging) {
  const std::vector<Shape> two{{7, 5, 3}, {7, 1, 3}};
  for (const char* type : {"Add", "Multiply"}) {
    EXPECT_EQ(output_of(type, two), kOdd);
    EXPECT_EQ(output_of(type, {kOdd, {3}, {1, 1, 1}}), kOdd);
    EXPECT_EQ(shape_error(type, {{28, 28, 128}, {56, 56, 64}}), "inputs differ: {0} is 28x28x128, {1} is 56x56x64");
  }
  EXPECT_EQ(output_of("Concatenate", {{7, 5, 3}, {7, 5, 2}, {7, 5, 1}}), (Shape{7, 5, 6}));
  EXPECT_EQ(output_of("Concatenate: 2", {{7, 5, 3}, {7, 4, 3}}), (Shape{7, 9, 3}));
  EXPECT_EQ(output_of("Concatenate: {axis: -3}", {{7, 5, 3}, {2, 5, 3}}), (Shape{9, 5, 3}));
  EXPECT_EQ(shape_error("Concatenate", {{7, 5, 3}, {7, 4, 3}}), "inputs differ: {0} is 7x5x3, {1} is 7x4x3");
  EXPECT_EQ(shape_error("Concatenate: 0", {{7}, {7}}), "axis 0 is not one of the inputs' axes: -1 to -1, or 1 to 1");
  EXPECT_EQ(reads_of("Add"), "");
  EXPECT_EQ(reads_of("Multiply"), "input");
}

TEST(Shapes, BackwardReads) {
  EXPECT_EQ(reads_of("Activation: relu"), "output");
  EXPECT_EQ(reads_of("Activation: gelu"), "input");
  EXPECT_EQ(reads_of("Activation: swish"), "input");
  EXPECT_EQ(reads_of("Activation: mish"), "input");
  EXPECT_EQ(reads_of("Activation: hard_swish"), "input");
  EXPECT_EQ(reads_of("Activation: hard_sigmoid"), "output");
  EXPECT_EQ(reads_of("Activation: log_softmax"), "output");
  EXPECT_EQ(reads_of("Activation: linear"), "");
  EXPECT_EQ(reads_of("ReLU: 6"), "input");
  EXPECT_EQ(reads_of("LeakyReLU"), "output");
  EXPECT_EQ(reads_of("Softmax"), "output");
  EXPECT_EQ(reads_of("BatchNormalization"), "; input to train");
  EXPECT_EQ(reads_of("LocalResponseNormalization"), "input");
  EXPECT_EQ(reads_of("Dropout: 0.1"), "");
}

TEST(Shapes, InputRejectsInvalidShapes) {
  EXPECT_EQ(output_of("Input: [4, 4, 1]", {}), (Shape{4, 4, 1}));
  EXPECT_EQ(read_layer("Input: {shape: [4, 0]}").errors, "Input: shape must be >= 1, found 0\n");
  EXPECT_EQ(read_layer("Input").errors, "Input: missing argument 'shape'\n");
}

TEST(Layer, AnUnknownActivationNamesTheNearest) {
  EXPECT_EQ(read_layer("Dense: {units: 3, activation: rleu}").errors,
            "Dense: activation must be a known name, found 'rleu'; did you mean 'relu'?\n");
  const std::string errors = read_layer("Dense: {units: 3, activation: zzzzzz}").errors;
  EXPECT_EQ(errors.rfind("Dense: activation must be linear, relu, ", 0), 0U) << errors;
}

TEST(Layer, ActivationCanBeRemoved) {
  for (const char* yaml : {"Conv2D: {filters: 4, kernel_size: 3, activation: gelu}",
                           "Dense: {units: 4, activation: gelu}", "DepthwiseConv2D: {kernel_size: 3, activation: gelu}",
                           "SeparableConv2D: {filters: 4, kernel_size: 3, activation: gelu}",
                           "Conv2DTranspose: {filters: 4, kernel_size: 3, activation: gelu}"}) {
    const config::Typed layer = layer_of(yaml);
    EXPECT_EQ(activation_of(layer), Activation::kGelu);
    const config::Typed bare = without_activation(layer);
    EXPECT_EQ(activation_of(bare), Activation::kLinear);
    EXPECT_EQ(activation_of(layer), Activation::kGelu) << "the original is unchanged";
    EXPECT_EQ(type_of(bare).backward_reads(bare.spec()).output, false);
  }
  EXPECT_EQ(activation_of(layer_of("Flatten")), std::nullopt);
  EXPECT_EQ(without_activation(layer_of("Flatten")).name(), "Flatten");
}

TEST(Layer, EveryLayerWritesWhatItReads) {
  for (const char* yaml :
       {"Conv2D: {filters: 4, kernel_size: [3, 2], strides: 2, kernel_initializer: {TruncatedNormal: {stddev: 1/192}}, "
        "kernel_regularizer: {L2: 0.002}, bias_initializer: {Constant: 0.1}, activation: silu}",
        "Dense: {units: 3, kernel_regularizer: l1_l2}", "LayerNormalization: {axis: [-2, -1], epsilon: 1e-6}",
        "GroupNormalization: {groups: -1, center: false, gamma_regularizer: l2}",
        "Conv2DTranspose: {filters: 4, kernel_size: 3, strides: 2, output_padding: [1, 0], kernel_regularizer: l2}",
        "UpSampling2D: {size: [2, 3], interpolation: bilinear}", "Cropping2D: [[0, 1], [2, 3]]",
        "DepthwiseConv2D: {kernel_size: [3, 2], depth_multiplier: 2, depthwise_regularizer: l2, activation: relu6}",
        "SeparableConv2D: {filters: 4, kernel_size: 3, padding: same, dilation_rate: 2, pointwise_initializer: "
        "he_normal}",
        "LeakyReLU: {alpha: 0.2}", "ReLU: {max_value: 6, threshold: 0.5}",
        "BatchNormalization: {momentum: 0.9, epsilon: 1.001e-5}",
        "LocalResponseNormalization: {depth_radius: 4, alpha: 0.001/9}", "Rescaling: {scale: 1/255, offset: -0.5}",
        "MaxPooling2D: {pool_size: 3, strides: [2, 1]}"}) {
    const config::Typed layer = layer_of(yaml);
    for (const bool minimal : {false, true}) {
      const config::Typed again = layer_of(config::to_yaml(layer.write(minimal)));
      EXPECT_TRUE(config::same(layer.write(), again.write())) << yaml;
    }
  }
  EXPECT_EQ(config::to_yaml(layer_of("Activation: silu").write()), "Activation: {activation: swish}\n");
}

}  // namespace
}  // namespace dptrain::nn
