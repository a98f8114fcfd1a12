// Shapes, weights, refusals and Keras's config of the layers that change little: noise, slopes, merges, moves.

#include <nlohmann/json.hpp>

#include "layers/example.h"

namespace dptrain::layers {
namespace {

using nlohmann::json;

const Shape kOddShape{7, 5, 3};

json exported_small(const std::string& yaml, const std::vector<Shape>& inputs) {
  return json::parse(keras_of(yaml, inputs));
}

TEST(SmallLayers, KeepTheShape) {
  for (const char* type : {"ELU", "PReLU", "GaussianNoise: 0.1", "SpatialDropout2D: 0.5"})
    EXPECT_EQ(output_of(type, {kOddShape}), kOddShape) << type;
}

TEST(SmallLayers, ELU) {
  EXPECT_EQ(reads_of("ELU: 0.5"), "output");
  EXPECT_EQ(read_layer("ELU: -1").errors, "ELU: alpha must be >= 0, found -1\n");
  EXPECT_EQ(exported_small("ELU", {kOddShape}), json::parse(R"({"alpha": 1.0})"));
}

TEST(SmallLayers, PReLU) {
  EXPECT_EQ(weights_of("PReLU", {kOddShape}), "alpha 7x5x3");
  EXPECT_EQ(weights_of("PReLU: {shared_axes: [1, 2]}", {kOddShape}), "alpha 1x1x3");
  EXPECT_EQ(weights_of("PReLU: {shared_axes: 1}", {{6}}), "alpha 1");
  EXPECT_EQ(reads_of("PReLU"), "input");
  EXPECT_EQ(refusal("PReLU: {shared_axes: [1, 4]}", {kOddShape}),
            "shared_axes 4 is not one of the axes of {0}, which is 7x5x3: 1 to 3");
  EXPECT_EQ(read_layer("PReLU: {shared_axes: [0]}").errors, "PReLU: shared_axes must be >= 1, found 0\n");
  EXPECT_EQ(exported_small("PReLU: {shared_axes: [1, 2]}", {kOddShape}),
            json::parse(R"({"alpha_initializer": "zeros", "alpha_regularizer": null, "alpha_constraint": null,
                            "shared_axes": [1, 2]})"));
  EXPECT_EQ(exported_small("PReLU: {alpha_initializer: {Constant: 0.25}}", {kOddShape}),
            json::parse(R"({"alpha_initializer": {"class_name": "Constant", "config": {"value": 0.25}},
                            "alpha_regularizer": null, "alpha_constraint": null, "shared_axes": null})"));
}

TEST(SmallLayers, RandomOnes) {
  for (const char* type : {"GaussianNoise: 0.1", "SpatialDropout2D: 0.5"}) {
    EXPECT_TRUE(is_random(layer_of(type))) << type;
    EXPECT_EQ(reads_of(type), "") << type;
  }
  EXPECT_EQ(read_layer("GaussianNoise: 1.5").errors, "GaussianNoise: stddev must be >= 0 and <= 1, found 1.5\n");
  EXPECT_EQ(read_layer("SpatialDropout2D: 1").errors, "SpatialDropout2D: rate must be >= 0 and < 1, found 1\n");
  EXPECT_EQ(exported_small("GaussianNoise: 0.5", {kOddShape}), json::parse(R"({"stddev": 0.5})"));
  // Keras 3's constructor takes these keys and no other, `trainable` neither.
  EXPECT_EQ(exported_small("SpatialDropout2D: 0.5", {kOddShape}),
            json::parse(R"({"rate": 0.5, "data_format": "channels_last"})"));
  EXPECT_FALSE(type_of(layer_of("SpatialDropout2D: 0.5")).keras_trainable);
  EXPECT_TRUE(type_of(layer_of("Dropout: 0.5")).keras_trainable);
}

TEST(SmallLayers, Merging) {
  for (const char* type : {"Average", "Maximum", "Minimum", "Subtract"}) {
    EXPECT_EQ(output_of(type, {{7, 5, 3}, {7, 1, 3}}), kOddShape) << type;
    EXPECT_EQ(refusal(type, {{28, 28, 128}, {56, 56, 64}}), "inputs differ: {0} is 28x28x128, {1} is 56x56x64") << type;
    EXPECT_EQ(exported_small(type, {kOddShape, kOddShape}), json::object()) << type;
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
  EXPECT_EQ(refusal("Permute: [2, 1]", {kOddShape}), "{0} is 7x5x3 with 3 axes, dims names 2");
  EXPECT_EQ(refusal("Permute: [2, 1]", {{4}}), "{0} is 4 with 1 axis, dims names 2");
  EXPECT_EQ(read_layer("Permute: [1, 3]").errors, "Permute: dims must hold each of 1 to 2 once\n");
  EXPECT_EQ(read_layer("Permute: [2, 2]").errors, "Permute: dims must hold each of 1 to 2 once\n");
  EXPECT_EQ(read_layer("Permute: []").errors, "Permute: dims must not be empty\n");
  EXPECT_EQ(read_layer("Permute: [0, 1]").errors, "Permute: dims must be >= 1, found 0\n");
  EXPECT_EQ(exported_small("Permute: [3, 1, 2]", {kOddShape}), json::parse(R"({"dims": [3, 1, 2]})"));
}

TEST(SmallLayers, RepeatVector) {
  EXPECT_EQ(output_of("RepeatVector: 4", {{3}}), (Shape{4, 3}));
  EXPECT_EQ(type_of(layer_of("RepeatVector: 4")).input_rank, 1);
  EXPECT_EQ(read_layer("RepeatVector: 0").errors, "RepeatVector: n must be >= 1, found 0\n");
  EXPECT_EQ(exported_small("RepeatVector: 4", {{3}}), json::parse(R"({"n": 4})"));
}

}  // namespace
}  // namespace dptrain::layers
