// Attention in Keras's files, both ways: positional and keyword inputs, arguments of calls, and files written by Keras
// 3 (tests/golden/keras3_attention.*, keras2_attention.keras; element k of weight i is i + k / 1024).

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

graph::Graph attention_again(const std::string& model_config) {
  return graph::graph_of(config::to_yaml(import_model_config("m.h5", model_config).model));
}

TEST(KerasAttention, ReadsOurOwnFiles) {
  const graph::Graph graph = graph::graph_of(R"(
layers:
  - Input: {name: x, shape: [7, 3]}
  - Input: {name: y, shape: [5, 2]}
  - MultiHeadAttention: {name: own, num_heads: 2, key_dim: 4, use_causal_mask: true, inputs: x}
  - MultiHeadAttention: {name: cross, num_heads: 1, key_dim: 3, value_dim: 2, dropout: 0.25, use_bias: false, inputs: [own, y]}
  - MultiHeadAttention: {name: three, num_heads: 1, key_dim: 3, output_shape: 6, inputs: [cross, own, x]}
  - Attention: {name: sums, use_scale: true, score_mode: concat, use_causal_mask: true, inputs: [three, three]}
  - AdditiveAttention: {name: last, use_scale: false, dropout: 0.25, inputs: [sums, three, sums]}
outputs: [last]
)");
  const std::string text = keras::model_config(graph);
  const graph::Graph again = attention_again(text);
  EXPECT_EQ(keras::model_config(again), text);
  EXPECT_EQ(graph::wiring(again),
            "x, y, own <- x, cross <- own y, three <- cross own x, sums <- three three, last <- sums three sums");
}

/// Keras 3 takes query and value as separate arguments, so a single input is written twice.
TEST(KerasAttention, WritesPositionalInputs) {
  const graph::Graph graph = graph::graph_of(R"(
layers:
  - Input: {name: x, shape: [7, 3]}
  - MultiHeadAttention: {name: own, num_heads: 2, key_dim: 4, use_causal_mask: true}
)");
  const json layer = json::parse(keras::model_config(graph))["config"]["layers"][1];
  const json tensor = json::parse(R"({"class_name": "__keras_tensor__",
      "config": {"shape": [null, 7, 3], "dtype": "float32", "keras_history": ["x", 0, 0]}})");
  EXPECT_EQ(layer["inbound_nodes"],
            json::array({{{"args", {tensor, tensor}}, {"kwargs", {{"use_causal_mask", true}}}}}));
  EXPECT_FALSE(layer["config"].contains("use_causal_mask"));
}

/// Keras 3 reads "dot" in an .h5 as its function of that name.
TEST(KerasAttention, DoesNotWriteDot) {
  const auto config = [](const std::string& arguments) {
    const graph::Graph graph =
        graph::graph_of("layers: [{Input: {name: x, shape: [7, 3]}}, {Attention: {inputs: [x, x]" + arguments + "}}]");
    return json::parse(keras::model_config(graph))["config"]["layers"][1]["config"];
  };
  EXPECT_FALSE(config("").contains("score_mode"));
  EXPECT_EQ(config(", score_mode: concat")["score_mode"], "concat");
}

/// KerasHub registers the class under the name of its package.
TEST(KerasAttention, WritesPositionsAsKerasHub) {
  const graph::Graph graph = graph::graph_of(R"(
layers:
  - Input: {name: x, shape: [7, 3]}
  - PositionEmbedding: {name: positions, sequence_length: 9, initializer: Zeros}
  - Add: {name: sum, inputs: [x, positions]}
)");
  const std::string text = keras::model_config(graph);
  EXPECT_EQ(json::parse(text)["config"]["layers"][1]["class_name"], "keras_hub>PositionEmbedding");
  EXPECT_EQ(keras::model_config(attention_again(text)), text);
}

/// A model of one layer with the calls `nodes`; x and z are [5, 3].
std::string called(const std::string& nodes, const std::string& type = "MultiHeadAttention",
                   const std::string& config = R"("num_heads": 2, "key_dim": 3)") {
  const auto input = [](const std::string& name) {
    return R"({"class_name": "InputLayer", "name": ")" + name + R"(", "config": {"batch_input_shape": [null, 5, 3]},
        "inbound_nodes": []})";
  };
  return R"({"class_name": "Functional", "config": {"name": "m", "layers": [)" + input("x") + "," + input("z") +
         R"(, {"class_name": ")" + type + R"(", "name": "heads", "config": {)" + config + R"(}, "inbound_nodes": )" +
         nodes + R"(}], "input_layers": [["x", 0, 0], ["z", 0, 0]], "output_layers": [["heads", 0, 0], ["z", 0, 0]]}})";
}

/// A tensor in the format of Keras 3.
std::string keras3(const std::string& name) {
  return R"({"class_name": "__keras_tensor__", "config": {"keras_history": [")" + name + R"(", 0, 0]}})";
}

/// The inputs of a call in the graph.
std::string read_call(const std::string& nodes) { return graph::wiring(attention_again(called(nodes))); }

TEST(KerasAttention, ReadsKeywordTensors) {
  const std::string x = keras3("x"), z = keras3("z");
  const std::string of_x = "x, z, heads <- x", of_both = "x, z, heads <- x z", of_three = "x, z, heads <- x z x";
  EXPECT_EQ(read_call(R"([{"args": [], "kwargs": {"value": )" + z + R"(, "query": )" + x + "}}]"), of_both);
  EXPECT_EQ(read_call(R"([{"args": [)" + x + R"(], "kwargs": {"key": )" + z + R"(, "value": )" + z + "}}]"), of_both);
  EXPECT_EQ(read_call(R"([{"args": [)" + x + "," + z + R"(], "kwargs": {"key": )" + x + "}}]"), of_three);
  EXPECT_EQ(read_call(R"([{"args": [)" + x + "," + x + R"(], "kwargs": {"training": true, "key": null}}])"), of_x);
  EXPECT_EQ(read_call(R"([[["x", 0, 0, {"value": ["z", 0, 0]}]]])"), of_both);  // Keras 2
  EXPECT_EQ(read_call(R"([[["x", 0, 0, {"value": ["x", 0, 0], "key": ["x", 0, 0]}]]])"), of_x);
}

TEST(KerasAttention, ReadsOrRejectsArgumentsOfCalls) {
  const auto yaml = [](const std::string& nodes) {
    return config::to_yaml(import_model_config("m.h5", called(nodes)).model);
  };
  const std::string both = R"([[["x", 0, 0, {"value": ["z", 0, 0], )";
  EXPECT_NE(yaml(both + R"("use_causal_mask": true}]]])").find("use_causal_mask: true"), std::string::npos);
  EXPECT_EQ(yaml(both + R"("use_causal_mask": false, "return_attention_scores": false}]]])").find("use_"),
            std::string::npos);
  const auto message_of = [&](const std::string& nodes, const std::string& type = "MultiHeadAttention",
                              const std::string& config = R"("num_heads": 2, "key_dim": 3)") -> std::string {
    try {
      import_model_config("m.h5", called(nodes, type, config));
    } catch (const Error& error) {
      return error.what();
    }
    return "";
  };
  const std::string start = "'m.h5': the model cannot be built: layer 'heads'";
  EXPECT_EQ(message_of(both + R"("return_attention_scores": true}]]])"),
            start + " is called with return_attention_scores: true, which dptrain does not support");
  EXPECT_EQ(message_of(both + R"("attention_mask": ["z", 0, 0]}]]])"),
            start + " is called with a tensor as 'attention_mask', which dptrain does not support");
  EXPECT_EQ(message_of(R"([{"args": [)" + keras3("x") + R"(, 2.5], "kwargs": {}}])", "Maximum", ""),
            start + " is called with 2.5, which is not a tensor");
  EXPECT_EQ(message_of(R"([[["x", 0, 0, {"value": ["z", 0, 0], "use_causal_mask": true}]],
                          [["x", 0, 0, {"value": ["z", 0, 0]}]]])"),
            start + R"( is called with different arguments: {"use_causal_mask":true} and {})");
}

/// Element k of weight i is i + k / 1024.
void expect_numbered(const std::string& path, const graph::Graph& graph) {
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

class KerasAttentionFiles : public ::testing::TestWithParam<const char*> {};

TEST_P(KerasAttentionFiles, AreRead) {
  const std::string models = test::test_data("golden/keras3_attention.keras");
  const std::string path = test::test_data(std::string("golden/keras3_attention.") + GetParam());
  const graph::Graph graph =
      graph::graph_of(config::to_yaml(import_model(std::string(GetParam()) == "weights.h5" ? models : path).model));
  EXPECT_EQ(graph::wiring(graph),
            "ids, z, table <- ids, heads <- table, cross <- heads z, sums <- cross z, additive <- sums z z, "
            "flat <- additive, kind <- flat");
  expect_numbered(path, graph);
}

/// Groups of Keras 2.15 have the names of its attributes: _query_dense and others.
TEST(KerasAttention, ReadsFilesOfKeras2) {
  const std::string path = test::test_data("golden/keras2_attention.keras");
  const graph::Graph graph = graph::graph_of(config::to_yaml(import_model(path).model));
  EXPECT_EQ(graph::wiring(graph), "x, heads <- x");
  expect_numbered(path, graph);
}

/// Four kernels of one layer are four arrays.
TEST(KerasAttention, DistinguishesProjections) {
  const std::string path = test::test_data("golden/keras3_attention.h5");
  const FileDifference difference = compare_files(path, path, 0);
  EXPECT_TRUE(difference.equal) << difference.report;
}

INSTANTIATE_TEST_SUITE_P(Formats, KerasAttentionFiles, ::testing::Values("keras", "h5", "weights.h5"));

}  // namespace
}  // namespace dptrain::formats
