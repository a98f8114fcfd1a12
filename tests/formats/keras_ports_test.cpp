// Layers with several outputs, ids and masks in Keras's model_config, both ways.

#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "core/error.h"
#include "formats/checkpoint/checkpoint.h"
#include "formats/keras/keras_config.h"
#include "formats/keras/keras_import.h"
#include "graph/example.h"
#include "support/halves.h"
#include "support/test_data.h"

namespace dptrain::formats {
namespace {

using nlohmann::json;

json layer_called(const json& model, const std::string& name) {
  for (const json& layer : model.at("config").at("layers"))
    if (layer.at("name") == name) return layer;
  return {};
}

graph::Graph again(const std::string& model_config) {
  return graph::graph_of(config::to_yaml(import_model_config("m.h5", model_config).model));
}

TEST(KerasPorts, TheThirdNumberIsTheOutput) {
  const graph::Graph graph = graph::graph_of(R"(
layers:
  - Input: {name: x, shape: [5]}
  - TestHalves: {name: cut}
  - Dense: {name: left, units: 3}
  - Dense: {name: right, inputs: cut.high, units: 3}
  - Add: {name: sum, inputs: [left, right]}
outputs: [sum, cut.high]
)");
  const std::string text = keras::model_config(graph);
  const json model = json::parse(text);
  EXPECT_EQ(layer_called(model, "left").at("inbound_nodes"), json::parse(R"([[["cut", 0, 0, {}]]])"));
  EXPECT_EQ(layer_called(model, "right").at("inbound_nodes"), json::parse(R"([[["cut", 0, 1, {}]]])"));
  EXPECT_EQ(model.at("config").at("output_layers"), json::parse(R"([["sum", 0, 0], ["cut", 0, 1]])"));
  EXPECT_EQ(graph::wiring(again(text)), "x, cut <- x, left <- cut, right <- cut.high, sum <- left right");
  EXPECT_EQ(again(text).outputs.back().port, 1);
}

TEST(KerasPorts, InTheDialectOfKeras3) {
  const graph::Graph graph = again(R"({"class_name": "Functional", "config": {"name": "m", "layers": [
    {"class_name": "InputLayer", "name": "x", "config": {"batch_shape": [null, 5], "name": "x"}, "inbound_nodes": []},
    {"class_name": "TestHalves", "name": "cut", "config": {"name": "cut"}, "inbound_nodes": [{"args": [
      {"class_name": "__keras_tensor__", "config": {"keras_history": ["x", 0, 0]}}], "kwargs": {}}]},
    {"class_name": "Dense", "name": "high", "config": {"name": "high", "units": 2}, "inbound_nodes": [{"args": [
      {"class_name": "__keras_tensor__", "config": {"keras_history": ["cut", 0, 1]}}], "kwargs": {"mask": null}}]}],
    "input_layers": [["x", 0, 0]], "output_layers": [["high", 0, 0]]}})");
  EXPECT_EQ(graph::wiring(graph), "x, cut <- x, high <- cut.high");
}

TEST(KerasPorts, RejectsAnOutputThatALayerDoesNotHave) {
  EXPECT_THROW(again(R"({"class_name": "Functional", "config": {"name": "m", "layers": [
    {"class_name": "InputLayer", "name": "x", "config": {"batch_shape": [null, 5], "name": "x"}, "inbound_nodes": []},
    {"class_name": "Dense", "name": "d", "config": {"name": "d", "units": 2}, "inbound_nodes": [[["x", 0, 1, {}]]]}],
    "input_layers": [["x", 0, 0]], "output_layers": [["d", 0, 0]]}})"),
               std::runtime_error);
}

/// Output of Keras 3 for models with masks (tests/golden/masks_model_config.json): the operations that make a mask, and
/// the mask as a keyword of its layer.
TEST(KerasPorts, UsesTheMasksOfKeras) {
  std::ifstream file(test::test_data("golden/masks_model_config.json"));
  const json models = json::parse(file);
  EXPECT_EQ(graph::wiring(again(models[0].dump())), "x, a <- x, mean <- a, b <- x, out <- mean, sum <- a b");
  EXPECT_EQ(graph::wiring(again(models[1].dump())), "x, valid <- x, hidden <- valid, mean <- hidden");
  json joined = models[2];
  for (const bool module : {true, false}) {  // an .h5 has none
    EXPECT_EQ(graph::wiring(again(joined.dump())), "x, y, valid <- x, seen <- valid valid, both <- seen y, out <- both")
        << module;
    for (json& layer : joined.at("config").at("layers")) layer.erase("module");
  }
  json own = models[1];
  for (json& layer : own.at("config").at("layers"))
    if (layer.at("class_name") == "Any") layer["class_name"] = "Dense";
  EXPECT_THROW(again(own.dump()), Error);
}

TEST(KerasPorts, AnEmbeddingAlwaysReadsIds) {
  const graph::Graph graph = graph::graph_of(R"(
layers:
  - Input: {name: x, shape: [5], dtype: int32}
  - Embedding: {name: words, input_dim: 9, output_dim: 4, mask_zero: true, embeddings_initializer: Zeros}
  - Masking: {name: valid, mask_value: 0.5}
  - GlobalAveragePooling1D: {name: mean}
)");
  const std::string text = keras::model_config(graph);
  json model = json::parse(text);
  EXPECT_EQ(layer_called(model, "x").at("config").at("dtype"), "int32");
  EXPECT_EQ(layer_called(model, "words").at("config"), json::parse(R"({
    "name": "words", "trainable": true, "dtype": "float32", "input_dim": 9, "output_dim": 4,
    "embeddings_initializer": "zeros", "embeddings_regularizer": null, "activity_regularizer": null,
    "embeddings_constraint": null, "mask_zero": true, "input_length": null})"));
  EXPECT_EQ(graph::describe_graph(again(text)), graph::describe_graph(graph));
  for (json& layer : model.at("config").at("layers")) {
    if (layer.at("name") == "x") layer.at("config")["dtype"] = "float32";
    if (layer.at("name") == "words") layer.at("config")["input_length"] = 5;  // as in models of Keras 2
  }
  EXPECT_EQ(graph::describe_graph(again(model.dump())), graph::describe_graph(graph));
}

}  // namespace
}  // namespace dptrain::formats
