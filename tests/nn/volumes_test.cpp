// Layers over volumes: shapes, weights and errors.

#include "nn/example.h"

namespace dptrain::nn {
namespace {

const Shape kVolume{4, 6, 5, 3};

TEST(Volumes, Conv3D) {
  EXPECT_EQ(output_of("Conv3D: {filters: 4, kernel_size: 3}", {kVolume}), (Shape{2, 4, 3, 4}));
  EXPECT_EQ(output_of("Conv3D: {filters: 4, kernel_size: 3, strides: [1, 2, 2], padding: same}", {kVolume}),
            (Shape{4, 3, 3, 4}));
  EXPECT_EQ(output_of("Conv3D: {filters: 4, kernel_size: 2, dilation_rate: [3, 1, 1]}", {kVolume}),
            (Shape{1, 5, 4, 4}));
  EXPECT_EQ(weights_of("Conv3D: {filters: 6, kernel_size: [1, 2, 3], groups: 3}", {kVolume}),
            "kernel 1x2x3x1x6, bias 6");
  EXPECT_EQ(reads_of("Conv3D: {filters: 4, kernel_size: 3, activation: relu}"), "output; input to train");
  EXPECT_EQ(shape_error("Conv3D: {filters: 4, kernel_size: [2, 7, 1]}", {kVolume}),
            "window 2x7x1 is larger than the input 4x6x5");
  EXPECT_EQ(shape_error("Conv3D: {filters: 4, kernel_size: 1, groups: 2}", {kVolume}),
            "groups 2 do not divide the input's 3 channels");
  EXPECT_EQ(
      shape_error("Conv3D: {filters: 4, kernel_size: 2, strides: [2, 1, 1], dilation_rate: [1, 1, 2]}", {kVolume}),
      "strides > 1 cannot be combined with dilation_rate > 1");
  EXPECT_EQ(read_layer("Conv3D: {filters: 4, kernel_size: [3, 3]}").errors,
            "Conv3D: kernel_size must be an integer or [depth, height, width], found a list\n");
}

TEST(Volumes, Conv3DTranspose) {
  EXPECT_EQ(output_of("Conv3DTranspose: {filters: 4, kernel_size: 3, strides: 2}", {kVolume}), (Shape{9, 13, 11, 4}));
  EXPECT_EQ(output_of("Conv3DTranspose: {filters: 4, kernel_size: 3, strides: [1, 2, 2], padding: same}", {kVolume}),
            (Shape{4, 12, 10, 4}));
  EXPECT_EQ(
      output_of("Conv3DTranspose: {filters: 4, kernel_size: 3, strides: 3, output_padding: [0, 1, 2]}", {kVolume}),
      (Shape{12, 19, 17, 4}));
  EXPECT_EQ(weights_of("Conv3DTranspose: {filters: 4, kernel_size: 5}", {kVolume}), "kernel 5x5x5x4x3, bias 4");
  EXPECT_EQ(
      shape_error("Conv3DTranspose: {filters: 4, kernel_size: 3, strides: [1, 2, 2], output_padding: 1}", {kVolume}),
      "output_padding 1 must be smaller than the stride 1");
}

TEST(Volumes, Pooling) {
  for (const std::string type : {"MaxPooling3D", "AveragePooling3D"}) {
    EXPECT_EQ(output_of(type, {kVolume}), (Shape{2, 3, 2, 3})) << type;
    EXPECT_EQ(output_of(type + ": [1, 2, 2]", {kVolume}), (Shape{4, 3, 2, 3})) << type;
    EXPECT_EQ(output_of(type + ": {pool_size: 3, strides: [1, 2, 2], padding: same}", {kVolume}), (Shape{4, 3, 3, 3}))
        << type;
    EXPECT_EQ(shape_error(type + ": [5, 1, 1]", {kVolume}), "window 5x1x1 is larger than the input 4x6x5") << type;
    EXPECT_EQ(read_layer(type + ": [2, 2]").errors,
              type + ": pool_size must be an integer or [depth, height, width], found a list\n");
    EXPECT_EQ(read_layer(type + ": [2, 0, 2]").errors, type + ": pool_size must be >= 1, found 0\n");
    EXPECT_EQ(output_of("Global" + type, {kVolume}), (Shape{3})) << type;
    EXPECT_EQ(output_of("Global" + type + ": {keepdims: true}", {kVolume}), (Shape{1, 1, 1, 3})) << type;
  }
}

TEST(Volumes, Rearranging) {
  EXPECT_EQ(output_of("ZeroPadding3D", {kVolume}), (Shape{6, 8, 7, 3}));
  EXPECT_EQ(output_of("ZeroPadding3D: [0, 1, 2]", {kVolume}), (Shape{4, 8, 9, 3}));
  EXPECT_EQ(output_of("ZeroPadding3D: [[0, 3], [1, 0], 2]", {kVolume}), (Shape{7, 7, 9, 3}));
  EXPECT_EQ(read_layer("ZeroPadding3D: [1, 2]").errors,
            "ZeroPadding3D: padding must be n, [depth, height, width] or [[before, after], [top, bottom], [left, "
            "right]], found a list\n");
  EXPECT_EQ(read_layer("ZeroPadding3D: [1, [0, -1], 2]").errors, "ZeroPadding3D: padding must be >= 0, found -1\n");
  EXPECT_EQ(output_of("Cropping3D", {kVolume}), (Shape{2, 4, 3, 3}));
  EXPECT_EQ(output_of("Cropping3D: [[0, 3], 0, [2, 1]]", {kVolume}), (Shape{1, 6, 2, 3}));
  EXPECT_EQ(shape_error("Cropping3D: [2, 1, 1]", {kVolume}),
            "cropping takes 4 frames, 2 rows and 2 columns, {0} has 4, 6 and 5");
  EXPECT_EQ(output_of("UpSampling3D: [1, 3, 2]", {kVolume}), (Shape{4, 18, 10, 3}));
  EXPECT_EQ(shape_error("UpSampling3D: [1, 1, 16777216]", {kVolume}),
            "size 1x1x16777216 makes 4x6x83886080 of 4x6x5, more than 16777216");
  EXPECT_EQ(output_of("SpatialDropout3D: 0.5", {kVolume}), kVolume);
  EXPECT_TRUE(is_random(layer_of("SpatialDropout3D: 0.5")));
}

std::string passes_text(const std::string& yaml) {
  const VolumePasses passes = passes_of(layer_of(yaml));
  return (passes.frames ? "frames " : "") + std::string(passes.depth ? "depth" : "");
}

/// A pass that changes nothing is omitted, but never both.
TEST(Volumes, Passes) {
  EXPECT_EQ(passes_text("MaxPooling3D: 2"), "frames depth");
  EXPECT_EQ(passes_text("MaxPooling3D: [1, 2, 2]"), "frames ");
  EXPECT_EQ(passes_text("AveragePooling3D: [2, 1, 1]"), "depth");
  EXPECT_EQ(passes_text("AveragePooling3D: {pool_size: 1, strides: [1, 1, 2]}"), "frames ");
  EXPECT_EQ(passes_text("MaxPooling3D: 1"), "frames ");
  EXPECT_EQ(passes_text("ZeroPadding3D: [0, 1, 1]"), "frames ");
  EXPECT_EQ(passes_text("Cropping3D: 1"), "frames depth");
  EXPECT_EQ(passes_text("UpSampling3D: [1, 2, 2]"), "frames ");
  EXPECT_EQ(passes_text("MaxPooling2D: 2"), "");
}

}  // namespace
}  // namespace dptrain::nn
