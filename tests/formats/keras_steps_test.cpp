// Layers over steps, and layers with a weight per channel, in Keras's model_config, both ways.

#include <fstream>
#include <sstream>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "formats/checkpoint/checkpoint.h"
#include "formats/keras/keras_config.h"
#include "formats/keras/keras_import.h"
#include "graph/example.h"
#include "support/test_data.h"

namespace dptrain::formats {
namespace {

graph::Graph steps_graph(const std::string& model_config, const KerasWriter& writer) {
  return graph::graph_of(config::to_yaml(import_model_config("m.h5", model_config, std::nullopt, writer).model));
}

constexpr const char* kStepsModel = R"(
layers:
  - Input: {name: x, shape: [24, 4]}
  - Conv1D: {name: a, filters: 6, kernel_size: 3, padding: causal, dilation_rate: 2, groups: 2, activation: relu,
             kernel_regularizer: {L1L2: {l2: 0.01}}}
  - SpatialDropout1D: {name: b, rate: 0.25}
  - DepthwiseConv1D: {name: c, kernel_size: 3, strides: 2, padding: same, depth_multiplier: 2, use_bias: false}
  - SeparableConv1D: {name: d, filters: 4, kernel_size: 2, activation: tanh}
  - Conv1DTranspose: {name: e, filters: 5, kernel_size: 4, strides: 3, output_padding: 1, padding: same}
  - MaxPooling1D: {name: f, pool_size: 3, strides: 2, padding: same}
  - AveragePooling1D: {name: g, strides: 2}
  - ZeroPadding1D: {name: h, padding: [2, 0]}
  - Cropping1D: {name: i}
  - UpSampling1D: {name: j, size: 3}
  - GaussianDropout: {name: k, rate: 0.125}
  - Normalization: {name: l, mean: [0.5, 1, 1.5, 2, 2.5], variance: [1, 2, 3, 4, 5]}
  - GlobalMaxPooling1D: {name: m, keepdims: true}
  - Normalization: {name: n, mean: 0.5, variance: 2, invert: true}
)";

TEST(KerasSteps, ReadsFilesOfKeras3) {
  std::ifstream file(test::test_data("golden/steps_model_config.json"));
  std::stringstream text;
  text << file.rdbuf();
  const graph::Graph expected = graph::graph_of(kStepsModel),
                     found = steps_graph(text.str(), keras_writer("3.15.1", false));
  EXPECT_EQ(graph::describe_graph(found), graph::describe_graph(expected));
}

TEST(KerasSteps, ReadsBackFilesForKeras2) {
  const graph::Graph graph = graph::graph_of(kStepsModel);
  const std::string text = keras::model_config(graph);
  EXPECT_EQ(graph::describe_graph(steps_graph(text, {})), graph::describe_graph(graph));
  EXPECT_EQ(graph::describe_graph(steps_graph(text, {.keras3 = true})), graph::describe_graph(graph));
}

}  // namespace
}  // namespace dptrain::formats
