// Recurrent layers in Keras's files, both ways: a layer shared by two inputs, states as inputs and outputs, and files
// written by Keras 3 (tests/golden/keras3_recurrent.*; element k of weight i is i + k / 1024).

#include <fstream>
#include <functional>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "core/error.h"
#include "formats/checkpoint/checkpoint.h"
#include "formats/keras/keras_config.h"
#include "formats/keras/keras_import.h"
#include "graph/example.h"
#include "support/test_data.h"

namespace dptrain::formats {
namespace {

using nlohmann::json;

graph::Graph recurrent_again(const std::string& model_config) {
  return graph::graph_of(config::to_yaml(import_model_config("m.h5", model_config).model));
}

TEST(KerasRecurrent, ASharedLayerAsInTheWorkedExample) {
  graph::Graph graph = graph::graph_of(R"(
shared:
  shared_lstm: {LSTM: {units: 4}}
layers:
  - Input: {name: left, shape: [6, 3]}
  - Input: {name: right, shape: [6, 3]}
  - shared_lstm: {name: of_left, inputs: left}
  - shared_lstm: {name: of_right, inputs: right}
  - Concatenate: {name: merge, inputs: [of_left, of_right]}
  - Dense: {name: score, units: 1, activation: sigmoid}
)");
  graph.name = "siamese";
  std::ifstream file(test::test_data("golden/shared_lstm.json"));
  const json found = json::parse(keras::model_config(graph)), expected = json::parse(file);
  for (std::size_t i = 0; i < expected["config"]["layers"].size(); ++i)
    for (const auto& [key, value] : expected["config"]["layers"][i]["config"].items())
      EXPECT_EQ(found["config"]["layers"][i]["config"][key], value) << i << " " << key;
  EXPECT_EQ(found["config"]["layers"][2]["inbound_nodes"], expected["config"]["layers"][2]["inbound_nodes"]);
}

TEST(KerasRecurrent, ReadsOurOwnFiles) {
  const graph::Graph graph = graph::graph_of(R"(
layers:
  - Input: {name: x, shape: [7, 3]}
  - Input: {name: y, shape: [5, 2]}
  - LSTM: {name: encoder, units: 4, return_state: true, dropout: 0.25, inputs: x, kernel_regularizer: {L2: 0.5}}
  - LSTM: {name: decoder, units: 4, return_sequences: true, inputs: [y, encoder.state_h, encoder.state_c]}
  - GRU: {name: old, units: 3, reset_after: false, recurrent_activation: hard_sigmoid, go_backwards: true}
  - SimpleRNN: {name: plain, units: 4, return_state: true, recurrent_dropout: 0.25, inputs: [decoder, encoder.state_h]}
  - GRU: {name: last, units: 4, inputs: [decoder, plain.state_h]}
outputs: [old, last]
)");
  const std::string text = keras::model_config(graph);
  const graph::Graph again = recurrent_again(text);
  EXPECT_EQ(keras::model_config(again), text);
  EXPECT_EQ(graph::wiring(again),
            "x, y, encoder <- x, decoder <- y encoder.state_h encoder.state_c, plain <- decoder encoder.state_h, "
            "old <- decoder, last <- decoder plain.state_h");
}

/// Keras 3 passes a state only by keyword; see docs/reference/keras-files.md.
TEST(KerasRecurrent, PassesAStateByKeyword) {
  const graph::Graph graph = graph::graph_of(R"(
layers:
  - Input: {name: x, shape: [7, 3]}
  - Input: {name: h, shape: [4]}
  - GRU: {name: last, units: 4, inputs: [x, h]}
)");
  EXPECT_EQ(json::parse(keras::model_config(graph))["config"]["layers"][2]["inbound_nodes"], json::parse(R"([{
    "args": [{"class_name": "__keras_tensor__",
              "config": {"shape": [null, 7, 3], "dtype": "float32", "keras_history": ["x", 0, 0]}}],
    "kwargs": {"initial_state": [{"class_name": "__keras_tensor__",
              "config": {"shape": [null, 4], "dtype": "float32", "keras_history": ["h", 0, 0]}}]}}])"));
}

class KerasRecurrentFiles : public ::testing::TestWithParam<const char*> {};

TEST_P(KerasRecurrentFiles, AreRead) {
  const std::string models = test::test_data("golden/keras3_recurrent.keras");
  const std::string path = test::test_data(std::string("golden/keras3_recurrent.") + GetParam());
  const graph::Graph graph =
      graph::graph_of(config::to_yaml(import_model(std::string(GetParam()) == "weights.h5" ? models : path).model));
  EXPECT_EQ(graph::wiring(graph),
            "x, z, encoder <- x, decoder <- z encoder.state_h encoder.state_c, middle <- decoder, old <- decoder, "
            "all <- encoder middle old, kind <- all");
  graph::Model model = graph::undrawn_model(graph, 1);
  load_weights(path, model);
  std::size_t number = 0;
  for (const graph::Weight& weight : model.weights) {
    ASSERT_EQ(weight.values.size(), static_cast<std::size_t>(weight.def.shape.elements())) << number;
    for (std::size_t k = 0; k < weight.values.size(); ++k)
      ASSERT_EQ(weight.values[k], static_cast<float>(number) + static_cast<float>(k) / 1024)
          << weight.path(model.graph) << " " << k;
    ++number;
  }
}

/// From Keras 3 and Keras 2.15, with the same weights.
TEST(KerasRecurrent, ReadsBidirectionalFiles) {
  for (const char* file : {"golden/keras3_bidirectional.keras", "golden/keras2_bidirectional.h5"}) {
    SCOPED_TRACE(file);
    const std::string path = test::test_data(file);
    const graph::Graph graph = graph::graph_of(config::to_yaml(import_model(path).model));
    EXPECT_EQ(graph::wiring(graph),
              "x, z, encoder <- x, decoder <- z encoder.forward_state_h encoder.forward_state_c "
              "encoder.backward_state_h encoder.backward_state_c, middle <- decoder, last <- decoder, "
              "all <- encoder middle last, kind <- all");
    graph::Model model = graph::undrawn_model(graph, 1);
    load_weights(path, model);
    ASSERT_EQ(model.weights.size(), 24U);
    for (std::size_t number = 0; number < model.weights.size(); ++number)
      for (std::size_t k = 0; k < model.weights[number].values.size(); ++k)
        ASSERT_EQ(model.weights[number].values[k], static_cast<float>(number) + static_cast<float>(k) / 1024)
            << model.weights[number].path(model.graph) << " " << k;
  }
}

TEST(KerasRecurrent, ReadsBackOrRejectsBidirectional) {
  const graph::Graph graph = graph::graph_of(R"(
layers:
  - Input: {name: x, shape: [7, 3]}
  - Bidirectional: {name: all, layer: {LSTM: {units: 4, return_sequences: true, dropout: 0.25}}, merge_mode: mul}
  - Bidirectional: {name: last, layer: {GRU: {units: 3, reset_after: false}}}
)");
  const std::string text = keras::model_config(graph);
  EXPECT_EQ(keras::model_config(recurrent_again(text)), text);

  const auto message_of = [&](const std::function<void(json & config)>& change) -> std::string {
    json model = json::parse(text);
    change(model["config"]["layers"][1]["config"]);
    try {
      recurrent_again(model.dump());
    } catch (const Error& error) {
      return error.what();
    }
    return "";
  };
  const auto with_backward = [](json& config, bool backwards, int units) {
    config["backward_layer"] = config["layer"];
    config["backward_layer"]["config"]["name"] = "backward_lstm";
    config["backward_layer"]["config"]["go_backwards"] = backwards;
    config["backward_layer"]["config"]["units"] = units;
  };
  EXPECT_EQ(message_of([&](json& config) { with_backward(config, true, 4); }), "");
  EXPECT_EQ(message_of([&](json& config) { with_backward(config, true, 5); }),
            "'m.h5': the model cannot be built:\n  layer 'all' (Bidirectional): its backward_layer has other settings "
            "than its layer, which is not supported");
  EXPECT_EQ(message_of([](json& config) { config["merge_mode"] = nullptr; }),
            "'m.h5': the model cannot be built:\n  layer 'all' (Bidirectional): merge_mode None is not supported: "
            "dptrain's layer gives one output");
  EXPECT_EQ(message_of([](json& config) { config["layer"]["class_name"] = "ConvLSTM3D"; }),
            "'m.h5': the model cannot be built:\n  layer 'all' (Bidirectional): its layer is of class ConvLSTM3D, "
            "which dptrain does not support");
}

INSTANTIATE_TEST_SUITE_P(Formats, KerasRecurrentFiles, ::testing::Values("keras", "h5", "weights.h5"));

}  // namespace
}  // namespace dptrain::formats
