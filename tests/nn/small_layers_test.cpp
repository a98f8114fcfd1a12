// Shapes, weights and errors of small layers: noise, slopes, merges, permutations.

#include "nn/example.h"

namespace dptrain::nn {
namespace {

const Shape kOddShape{7, 5, 3};

TEST(SmallLayers, KeepTheShape) {
  for (const char* type :
       {"ELU", "PReLU", "GaussianNoise: 0.1", "GaussianDropout: 0.1", "SpatialDropout2D: 0.5", "StochasticDepth: 0.5",
        "LayerScale: {init_values: 1, projection_dim: 3}", "Rescaling: [1, 2, 3]"})
    EXPECT_EQ(output_of(type, {kOddShape}), kOddShape) << type;
}

TEST(SmallLayers, ELU) {
  EXPECT_EQ(reads_of("ELU: 0.5"), "output");
  EXPECT_EQ(read_layer("ELU: -1").errors, "ELU: alpha must be >= 0, found -1\n");
}

TEST(SmallLayers, PReLU) {
  EXPECT_EQ(weights_of("PReLU", {kOddShape}), "alpha 7x5x3");
  EXPECT_EQ(weights_of("PReLU: {shared_axes: [1, 2]}", {kOddShape}), "alpha 1x1x3");
  EXPECT_EQ(weights_of("PReLU: {shared_axes: 1}", {{6}}), "alpha 1");
  EXPECT_EQ(reads_of("PReLU"), "input");
  EXPECT_EQ(shape_error("PReLU: {shared_axes: [1, 4]}", {kOddShape}),
            "shared_axes 4 is not one of the axes of {0}, which is 7x5x3: 1 to 3");
  EXPECT_EQ(read_layer("PReLU: {shared_axes: [0]}").errors, "PReLU: shared_axes must be >= 1, found 0\n");
}

TEST(SmallLayers, Normalization) {
  EXPECT_EQ(output_of("Normalization: {mean: 0.5, variance: 2}", {kOddShape}), kOddShape);
  EXPECT_EQ(output_of("Normalization: {axis: 3, mean: [1, 2, 3], variance: [1, 2, 3]}", {kOddShape}), kOddShape);
  EXPECT_EQ(reads_of("Normalization: {mean: 0, variance: 1}"), "");
  EXPECT_EQ(shape_error("Normalization: {mean: [1, 2], variance: [1, 2]}", {kOddShape}),
            "mean and variance have 2 values, expected 1 or the 3 of the last axis of {0}");
  EXPECT_EQ(shape_error("Normalization: {mean: [1, 2, 3], variance: 1}", {kOddShape}),
            "mean has 3 values and variance 1, expected the same number");
  EXPECT_EQ(shape_error("Normalization: {axis: 1, mean: 1, variance: 1}", {kOddShape}),
            "axis 1 is not supported: only the last axis is, -1 or 3");
  EXPECT_EQ(weights_of("Normalization: {mean: 0.5, variance: 2}", {kOddShape}), "");
  EXPECT_EQ(weights_of("Normalization", {kOddShape}), "mean 3 constant, variance 3 constant, count scalar constant");
  EXPECT_EQ(shape_error("Normalization: {variance: 1}", {kOddShape}),
            "mean has 0 values and variance 1, expected the same number");
  EXPECT_EQ(read_layer("Normalization: {mean: 1, variance: -1}").errors,
            "Normalization: variance must be >= 0, found -1\n");
}

TEST(SmallLayers, OfKerasApplications) {
  EXPECT_EQ(weights_of("LayerScale: {init_values: 1e-6, projection_dim: 3}", {kOddShape}), "gamma 3");
  EXPECT_EQ(reads_of("LayerScale: {init_values: 1e-6, projection_dim: 3}"), "; input to train");
  EXPECT_EQ(shape_error("LayerScale: {init_values: 1e-6, projection_dim: 5}", {kOddShape}),
            "projection_dim is 5, expected the extent of the last axis of {0}, which is 7x5x3");
  EXPECT_EQ(output_of("CustomScaleLayer: 0.2", {kOddShape, kOddShape}), kOddShape);
  EXPECT_EQ(shape_error("CustomScaleLayer: 0.2", {kOddShape, {7, 5, 1}}), "inputs differ: {0} is 7x5x3, {1} is 7x5x1");
  EXPECT_EQ(reads_of("CustomScaleLayer: 0.2"), "");
  EXPECT_EQ(read_layer("StochasticDepth: 1").errors, "StochasticDepth: drop_path_rate must be >= 0 and < 1, found 1\n");
}

TEST(SmallLayers, Rescaling) {
  EXPECT_EQ(shape_error("Rescaling: [1, 2]", {kOddShape}),
            "scale has 2 values, expected 1 or as many as the last axis of {0}, which is 7x5x3");
  EXPECT_EQ(shape_error("Rescaling: {scale: 1, offset: [1, 2, 3, 4]}", {kOddShape}),
            "offset has 4 values, expected 1 or as many as the last axis of {0}, which is 7x5x3");
  EXPECT_EQ(read_layer("Rescaling: []").errors, "Rescaling: scale must not be empty\n");
}

TEST(SmallLayers, RandomLayers) {
  for (const char* type :
       {"GaussianNoise: 0.1", "GaussianDropout: 0.1", "SpatialDropout2D: 0.5", "StochasticDepth: 0.5"}) {
    EXPECT_TRUE(is_random(layer_of(type))) << type;
    EXPECT_EQ(reads_of(type), "") << type;
  }
  EXPECT_EQ(read_layer("GaussianNoise: 1.5").errors, "GaussianNoise: stddev must be >= 0 and <= 1, found 1.5\n");
  EXPECT_EQ(read_layer("GaussianDropout: 1").errors, "GaussianDropout: rate must be >= 0 and < 1, found 1\n");
  EXPECT_EQ(read_layer("SpatialDropout2D: 1").errors, "SpatialDropout2D: rate must be >= 0 and < 1, found 1\n");
}

TEST(SmallLayers, NoiseShape) {
  EXPECT_EQ(output_of("Dropout: {rate: 0.5, noise_shape: [null, 7, 1, 3]}", {kOddShape}), kOddShape);
  const std::string expected =
      " must have null or 1 for the batch, and null, 1 or the extent for each axis of {0}, which is 7x5x3";
  EXPECT_EQ(shape_error("Dropout: {rate: 0.5, noise_shape: [null, 1, 2, 3]}", {kOddShape}),
            "noise_shape [null, 1, 2, 3]" + expected);
  EXPECT_EQ(shape_error("Dropout: {rate: 0.5, noise_shape: [8, 1, 1, 3]}", {kOddShape}),
            "noise_shape [8, 1, 1, 3]" + expected);
  EXPECT_EQ(shape_error("Dropout: {rate: 0.5, noise_shape: [1, 3]}", {kOddShape}), "noise_shape [1, 3]" + expected);
  EXPECT_EQ(read_layer("Dropout: {rate: 0.5, noise_shape: [0, 3]}").errors,
            "Dropout: noise_shape must be >= 1, found 0\n");
}

TEST(SmallLayers, Resizing) {
  EXPECT_EQ(output_of("Resizing: {height: 4, width: 9}", {kOddShape}), (Shape{4, 9, 3}));
  EXPECT_EQ(reads_of("Resizing: {height: 4, width: 9}"), "");
  EXPECT_EQ(read_layer("Resizing: {height: 4}").errors, "Resizing: missing argument 'width'\n");
  EXPECT_EQ(read_layer("Resizing: {height: 4, width: 4, interpolation: bicubic}").errors,
            "Resizing: interpolation must be nearest or bilinear, found 'bicubic'\n");
}

TEST(SmallLayers, Dot) {
  EXPECT_EQ(output_of("Dot: 1", {{7}, {7}}), Shape{1});
  EXPECT_EQ(output_of("Dot: {axes: -1}", {{3, 5}, {4, 5}}), (Shape{3, 4}));
  EXPECT_EQ(output_of("Dot: {axes: [1, 2]}", {{5, 3}, {4, 5}}), (Shape{3, 4}));
  EXPECT_EQ(output_of("Dot: {axes: [1, 2]}", {{5}, {4, 5}}), Shape{4});
  EXPECT_EQ(reads_of("Dot: 1"), "input");
  EXPECT_EQ(reads_of("Dot: {axes: 1, normalize: true}"), "");
  EXPECT_EQ(shape_error("Dot: 2", {{3, 5}, {4, 6}}),
            "{0} is 3x5 and {1} 4x6: along axes 2 and 2 they have 5 and 6 values, expected the same number");
  EXPECT_EQ(shape_error("Dot: [2, 0]", {{3, 5}, {4, 5}}),
            "axis 0 is not one of {1}, which is 4x5: 1 to 2, or -1 for the last");
  EXPECT_EQ(shape_error("Dot: 1", {{3, 5, 2}, {3}}), "{0} is 3x5x2, expected a vector or a matrix");
  EXPECT_EQ(read_layer("Dot: [1, 2, 3]").errors, "Dot: axes must be an axis or [first, second], found a list\n");
}

TEST(SmallLayers, Merging) {
  for (const char* type : {"Average", "Maximum", "Minimum", "Subtract"}) {
    EXPECT_EQ(output_of(type, {{7, 5, 3}, {7, 1, 3}}), kOddShape) << type;
    EXPECT_EQ(shape_error(type, {{28, 28, 128}, {56, 56, 64}}), "inputs differ: {0} is 28x28x128, {1} is 56x56x64")
        << type;
    EXPECT_EQ(type_of(layer_of(type)).min_inputs, 2) << type;
  }
  EXPECT_EQ(output_of("Maximum", {kOddShape, {3}, {1, 1, 1}}), kOddShape);
  EXPECT_EQ(type_of(layer_of("Subtract")).max_inputs, 2);
  EXPECT_EQ(type_of(layer_of("Average")).max_inputs, -1);
  EXPECT_EQ(reads_of("Average"), "");
  EXPECT_EQ(reads_of("Subtract"), "");
  EXPECT_EQ(reads_of("Maximum"), "inputoutput");
  EXPECT_EQ(reads_of("Minimum"), "inputoutput");
}

TEST(SmallLayers, Permute) {
  EXPECT_EQ(output_of("Permute: [3, 1, 2]", {kOddShape}), (Shape{3, 7, 5}));
  EXPECT_EQ(output_of("Permute: {dims: [2, 1]}", {{4, 6}}), (Shape{6, 4}));
  EXPECT_EQ(shape_error("Permute: [2, 1]", {kOddShape}), "{0} is 7x5x3 with 3 axes, dims names 2");
  EXPECT_EQ(shape_error("Permute: [2, 1]", {{4}}), "{0} is 4 with 1 axis, dims names 2");
  EXPECT_EQ(read_layer("Permute: [1, 3]").errors, "Permute: dims must hold each of 1 to 2 once\n");
  EXPECT_EQ(read_layer("Permute: [2, 2]").errors, "Permute: dims must hold each of 1 to 2 once\n");
  EXPECT_EQ(read_layer("Permute: []").errors, "Permute: dims must not be empty\n");
  EXPECT_EQ(read_layer("Permute: [0, 1]").errors, "Permute: dims must be >= 1, found 0\n");
}

TEST(SmallLayers, RepeatVector) {
  EXPECT_EQ(output_of("RepeatVector: 4", {{3}}), (Shape{4, 3}));
  EXPECT_EQ(type_of(layer_of("RepeatVector: 4")).input_rank, 1);
  EXPECT_EQ(read_layer("RepeatVector: 0").errors, "RepeatVector: n must be >= 1, found 0\n");
}

}  // namespace
}  // namespace dptrain::nn
