// Building a model's steps: names, wiring, weights.

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "graph/definitions.h"
#include "graph/example.h"

namespace dptrain::graph {
namespace {

using testing::ElementsAre;

TEST(Names, SnakeCaseIsKeras) {
  for (const auto& [type, name] :
       std::vector<std::pair<std::string, std::string>>{{"Conv2D", "conv2d"},
                                                        {"BatchNormalization", "batch_normalization"},
                                                        {"DepthwiseConv2D", "depthwise_conv2d"},
                                                        {"ReLU", "re_lu"},
                                                        {"PReLU", "p_re_lu"},
                                                        {"LeakyReLU", "leaky_re_lu"},
                                                        {"LSTM", "lstm"},
                                                        {"MaxPooling2D", "max_pooling2d"},
                                                        {"GlobalAveragePooling2D", "global_average_pooling2d"},
                                                        {"Conv2DTranspose", "conv2d_transpose"},
                                                        {"ZeroPadding2D", "zero_padding2d"},
                                                        {"Dense", "dense"}})
    EXPECT_EQ(snake_case(type), name);
  EXPECT_EQ(automatic_base("Input"), "input_layer");
  EXPECT_EQ(repeated_name("conv", 2), "conv2");
  EXPECT_EQ(repeated_name("stage1", 2), "stage1_2");
}

TEST(Build, FashionMnist) {
  const Graph graph = graph_of(kFashionMnist);
  EXPECT_THAT(layer_names(graph), ElementsAre("input_layer", "conv2d", "max_pooling2d", "conv2d_1", "max_pooling2d_1",
                                              "conv2d_2", "flatten", "dense", "dense_1"));
  const Model model = make_model(graph, 42);
  EXPECT_EQ(model.parameters(), 93322);
  EXPECT_EQ(model.trainable_parameters(), 93322);
  EXPECT_EQ(model.weights[1].path(model.graph), "conv2d/bias");
  EXPECT_EQ(graph.outputs, std::vector<Port>{8});
  EXPECT_EQ(graph.nodes.back().output(), Shape{10});
  expect_round_trip(graph);
}

TEST(Build, Towers) {
  const Graph graph = graph_of(kTowers);
  EXPECT_EQ(make_model(graph, 0).parameters(), 1068298);
  EXPECT_THAT(layer_names(graph), testing::Contains("local_response_normalization_1"));
  expect_round_trip(graph);
}

TEST(Build, Residual) {
  const Graph graph = graph_of(kResidual);
  EXPECT_EQ(wiring(graph),
            "input_layer, stage1_1_conv1 <- input_layer, stage1_1_bn1 <- stage1_1_conv1, activation <- stage1_1_bn1, "
            "stage1_1_conv2 <- activation, stage1_1_bn2 <- stage1_1_conv2, stage1_1_proj <- input_layer, "
            "add <- stage1_1_bn2 stage1_1_proj, activation_1 <- add, "
            "stage1_2_conv1 <- activation_1, stage1_2_bn1 <- stage1_2_conv1, activation_2 <- stage1_2_bn1, "
            "stage1_2_conv2 <- activation_2, stage1_2_bn2 <- stage1_2_conv2, stage1_2_proj <- activation_1, "
            "add_1 <- stage1_2_bn2 stage1_2_proj, activation_3 <- add_1, "
            "stage1_3_conv1 <- activation_3, stage1_3_bn1 <- stage1_3_conv1, activation_4 <- stage1_3_bn1, "
            "stage1_3_conv2 <- activation_4, stage1_3_bn2 <- stage1_3_conv2, stage1_3_proj <- activation_3, "
            "add_2 <- stage1_3_bn2 stage1_3_proj, activation_5 <- add_2, "
            "stage2_conv1 <- activation_5, stage2_bn1 <- stage2_conv1, activation_6 <- stage2_bn1, "
            "stage2_conv2 <- activation_6, stage2_bn2 <- stage2_conv2, stage2_proj <- activation_5, "
            "add_3 <- stage2_bn2 stage2_proj, activation_7 <- add_3, "
            "global_average_pooling2d <- activation_7, dense <- global_average_pooling2d");
  EXPECT_EQ(graph.nodes[static_cast<std::size_t>(graph.nodes.size() - 3)].output(), (Shape{16, 16, 32}));
  expect_round_trip(graph);
}

TEST(Build, Vgg16HasTheNamesOfKeras) {
  const Graph graph = graph_of(vgg16("freeze: [block1_*, block2_*, block3_*, block4_*]\n"));
  EXPECT_THAT(layer_names(graph),
              ElementsAre("input_layer", "block1_conv1", "block1_conv2", "block1_pool", "block2_conv1", "block2_conv2",
                          "block2_pool", "block3_conv1", "block3_conv2", "block3_conv3", "block3_pool", "block4_conv1",
                          "block4_conv2", "block4_conv3", "block4_pool", "block5_conv1", "block5_conv2", "block5_conv3",
                          "block5_pool", "flatten", "predictions"));
  const Model model = make_model(graph, 7);
  EXPECT_EQ(model.trainable_parameters(), 7179780);
  EXPECT_EQ(model.parameters() - model.trainable_parameters(), 7635264);
  EXPECT_EQ(describe_graph(graph_of(vgg16("freeze: {up_to: block4_pool}\n"))).find("input_layer"), 0U);
  expect_round_trip(graph);
}

TEST(Build, FreezeUpToFreezesAllLayersBelowAStep) {
  const Graph graph = graph_of(R"(
layers:
  - Input: {shape: [4]}
  - Dense: {name: left, units: 3}
  - Dense: {name: right, units: 3, inputs: input_layer}
  - Dense: {name: further, units: 3}
  - Add: {inputs: [left, further]}
freeze: {up_to: further}
)");
  std::string frozen;
  for (const Layer& layer : graph.layers)
    if (!layer.trainable) frozen += layer.name + " ";
  EXPECT_EQ(frozen, "input_layer right further ");
}

TEST(Build, FreezeFindsUnnamedLayersBelowTheirBlock) {
  const Graph graph = graph_of(R"(
blocks:
  unit: {layers: [{Dense: 3}, BatchNormalization]}
layers:
  - Input: [4]
  - unit: {name: a}
  - unit: {name: b}
freeze: a_*
)");
  EXPECT_FALSE(graph.layers[1].trainable);
  EXPECT_FALSE(graph.layers[2].trainable);
  EXPECT_TRUE(graph.layers[3].trainable);
  EXPECT_TRUE(graph.layers[4].trainable);
}

TEST(Build, TrainableOnABlockAppliesToAllItsLayers) {
  const Graph graph = graph_of(R"(
blocks:
  unit: {layers: [{Dense: {units: 3, trainable: true}}, {Dense: {units: 3, trainable: false}}]}
layers:
  - Input: [4]
  - unit: {trainable: false}
  - unit
)");
  EXPECT_FALSE(graph.layers[1].trainable);
  EXPECT_FALSE(graph.layers[2].trainable);
  EXPECT_TRUE(graph.layers[3].trainable);
  EXPECT_FALSE(graph.layers[4].trainable);
}

TEST(Build, SharedLayerHasOneSetOfWeights) {
  const Graph graph = graph_of(R"(
shared:
  encoder: {Dense: {units: 5, activation: tanh}}
layers:
  - Input: {name: a, shape: [7]}
  - Input: {name: b, shape: [7]}
  - encoder: {name: encoded_a, inputs: a}
  - encoder: {name: encoded_b, inputs: b}
  - Concatenate: {name: merged, inputs: [encoded_a, encoded_b]}
  - Dense: {name: score, units: 1}
)");
  EXPECT_THAT(layer_names(graph), ElementsAre("a", "b", "encoder", "merged", "score"));
  EXPECT_EQ(wiring(graph), "a, b, encoded_a <- a, encoded_b <- b, merged <- encoded_a encoded_b, score <- merged");
  EXPECT_EQ(graph.nodes[3].layer, graph.nodes[2].layer);
  EXPECT_EQ(graph.nodes[2].call, 0);
  EXPECT_EQ(graph.nodes[3].call, 1);
  EXPECT_EQ(make_model(graph, 1).parameters(), 7 * 5 + 5 + 10 + 1);
  expect_round_trip(graph);
}

TEST(Build, SharedSubModel) {
  const Graph graph = graph_of(R"(
blocks:
  unit: {params: {units: required}, layers: [{Dense: {name: fc, units: $units}}, {Activation: relu}]}
shared:
  tower:
    - unit: {name: one, units: 6}
    - unit: {name: two, units: 7}
layers:
  - Input: {name: a, shape: [7]}
  - Input: {name: b, shape: [7]}
  - tower: {name: left, inputs: a}
  - tower: {inputs: b}
  - tower
  - Add: {inputs: [left, tower_1]}
)");
  EXPECT_THAT(layer_names(graph),
              ElementsAre("a", "b", "tower_one_fc", "activation", "tower_two_fc", "activation_1", "add"));
  EXPECT_EQ(wiring(graph),
            "a, b, left_one_fc <- a, left_one_activation <- left_one_fc, left_two_fc <- left_one_activation, "
            "left_two_activation_1 <- left_two_fc, "
            "tower_one_fc <- b, tower_one_activation <- tower_one_fc, tower_two_fc <- tower_one_activation, "
            "tower_two_activation_1 <- tower_two_fc, "
            "tower_1_one_fc <- tower_two_activation_1, tower_1_one_activation <- tower_1_one_fc, "
            "tower_1_two_fc <- tower_1_one_activation, tower_1_two_activation_1 <- tower_1_two_fc, "
            "add <- left_two_activation_1 tower_1_two_activation_1");
  EXPECT_EQ(make_model(graph, 1).parameters(), 7 * 6 + 6 + 6 * 7 + 7);
  expect_round_trip(graph);
}

TEST(Build, RepeatOfASharedLayerAppliesItAgain) {
  const Graph graph = graph_of(R"(
shared: {step: {layers: [{Dense: {name: fc, units: 4}}]}}
layers:
  - Input: [4]
  - step: {name: t, repeat: 3}
)");
  EXPECT_EQ(wiring(graph), "input_layer, t1_fc <- input_layer, t2_fc <- t1_fc, t3_fc <- t2_fc");
  EXPECT_EQ(graph.layers.size(), 2U);
  expect_round_trip(graph);
}

TEST(Build, RepeatIfAndParameters) {
  const Graph graph = graph_of(R"(
blocks:
  head:
    params: {width: required, half: $width / 2, top: true, n: x}
    layers:
      - Dense: {name: first, units: $width * 2}
      - Dense: {name: "w$n", units: 2 * $half, repeat: 2, if: $top}
      - Dropout: {rate: 0.5, if: false}
layers:
  - Input: [4]
  - head: {name: a, width: 2 + 4}
  - head: {width: 8, top: false, n: y}
  - head: 10
  - Dense: {units: 3, repeat: 2}
)");
  EXPECT_THAT(layer_names(graph), ElementsAre("input_layer", "a_first", "a_wx1", "a_wx2", "head_first", "head_1_first",
                                              "head_1_wx1", "head_1_wx2", "dense", "dense_1"));
  std::string units;
  for (const Node& node : graph.nodes) units += node.output().str() + " ";
  EXPECT_EQ(units, "4 12 6 6 16 20 10 10 3 3 ");
  expect_round_trip(graph);
}

TEST(Build, InputsOfABlock) {
  const Graph graph = graph_of(R"(
blocks:
  join: {layers: [Add, {Concatenate: {inputs: [input, add]}}]}
layers:
  - Input: {name: a, shape: [4]}
  - Input: {name: b, shape: [4]}
  - join: {inputs: [a, b]}
)");
  EXPECT_EQ(wiring(graph), "a, b, add <- a b, concatenate <- a b add");
}

TEST(Build, OutputsAndStepsInsideBlocksCanBeNamed) {
  const Graph graph = graph_of(R"(
blocks:
  two: {layers: [{Dense: {name: first, units: 3}}, {Dense: {name: second, units: 2}}]}
layers:
  - Input: [4]
  - two: {name: body}
  - Dense: {name: side, units: 1, inputs: body_first}
  - Dense: {name: main, units: 1, inputs: body}
outputs: [main, side]
)");
  EXPECT_EQ(
      wiring(graph),
      "input_layer, body_first <- input_layer, body_second <- body_first, side <- body_first, main <- body_second");
  EXPECT_EQ(graph.outputs, (std::vector<Port>{4, 3}));
  expect_round_trip(graph);
}

TEST(Build, AutomaticNamesSkipUsedOnes) {
  const Graph graph = graph_of("layers: [{Input: [4]}, {Dense: {name: dense, units: 3}}, {Dense: 2}, {Dense: 1}]");
  EXPECT_THAT(layer_names(graph), ElementsAre("input_layer", "dense", "dense_1", "dense_2"));
}

TEST(Build, SchemaHasTheLayersAndTheArgumentsOfEveryStep) {
  config::Node definitions = config::Node::map();
  define_steps(definitions);
  const nlohmann::json defined = nlohmann::json::parse(config::to_json(definitions));
  EXPECT_EQ(defined["step"]["anyOf"].back()["properties"]["Conv2D"]["$ref"], "#/$defs/step.Conv2D");
  const nlohmann::json& conv = defined["step.Conv2D"]["anyOf"][0];
  for (const char* key : {"filters", "name", "inputs", "repeat", "if"})
    EXPECT_TRUE(conv["properties"].contains(key)) << key;
  EXPECT_EQ(conv["required"], nlohmann::json({"filters", "kernel_size"}));
}

TEST(Build, KeepsTheDevice) {
  EXPECT_EQ(graph_of("layers: [{Input: {shape: [4], device: cpu}}, {Dense: {units: 3, device: cpu}}]").nodes[1].device,
            "cpu");
  EXPECT_EQ(graph_of("layers: [{Input: [4]}, {Dense: {units: 3, device: 'gpu:0'}}]").nodes[1].device, "gpu:0");
}

TEST(Build, EmptyNameAddsNoPrefix) {
  const Graph graph = graph_of(R"(
blocks:
  conv: {params: {filters: required}, layers: [{Conv2D: {filters: $filters, kernel_size: 1}}, ReLU]}
  pair: {params: {out: required}, layers: [{conv: {name: a, filters: 3}}, {Add: {name: $out, inputs: [a, a]}}]}
layers:
  - Input: [4, 4, 1]
  - pair: {name: "", out: low}
  - pair: {name: "", out: high}
  - pair: {name: deep, out: last}
  - Add: {inputs: [low, high, deep, deep_last, conv2d]}
)");
  EXPECT_EQ(
      wiring(graph),
      "input_layer, conv2d <- input_layer, re_lu <- conv2d, low <- re_lu re_lu, conv2d_1 <- low, re_lu_1 <- conv2d_1, "
      "high <- re_lu_1 re_lu_1, conv2d_2 <- high, re_lu_2 <- conv2d_2, deep_last <- re_lu_2 re_lu_2, "
      "add <- low high deep_last deep_last conv2d");
  const std::string pair = "blocks: {pair: {layers: [{Dense: {name: a, units: 2}}, {Dense: {name: b, units: 2}}]}}\n";
  EXPECT_EQ(build_text(pair + "layers: [{Input: [4]}, {pair: {name: ''}}, {pair: {name: ''}}]").errors,
            "1:27 Dense 'a': the name 'a' is taken\n  first used at net.yaml:1:27\n  in block 'pair', used at "
            "net.yaml:2:45\n"
            "1:57 Dense 'b': the name 'b' is taken\n  first used at net.yaml:1:57\n  in block 'pair', used at "
            "net.yaml:2:45\n");
  EXPECT_EQ(
      build_text("layers: [{Input: [4]}, {Dense: {name: '', units: 2}}]").errors,
      "1:39 Dense '': name must be 1 to 200 letters, digits, '_', '-' and '.', the first a letter or digit, found "
      "the text ''\n");
}

TEST(Build, ATypeCanBeAParameter) {
  const std::string block = R"(
blocks:
  wide: {layers: [{Dense: {name: w, units: 7}}]}
  pair: {params: {first: required, end: Flatten}, layers: [{$first: {name: a, units: 3}}, $end]}
layers:
  - Input: [4]
)";
  const Graph graph = graph_of(block + "  - pair: {first: Dense}\n  - pair: {first: Dense, end: wide}\n");
  EXPECT_EQ(wiring(graph),
            "input_layer, pair_a <- input_layer, flatten <- pair_a, pair_1_a <- flatten, "
            "pair_1_wide_w <- pair_1_a");
  EXPECT_EQ(build_text(block + "  - pair: {first: Conv2Dd}").errors,
            "4:61 unknown layer 'Conv2Dd'; did you mean 'Conv2D'?\n");
  EXPECT_EQ(build_text("layers: [{Input: [4]}, $tpye]").errors,
            "1:24 model: unknown variable '$tpye'; give it with --var tpye=... or in the environment\n");
}

TEST(Build, BlocksCanUseTheExtentsOfTheirInput) {
  const Graph graph = graph_of(R"(
blocks:
  widen:
    params: {by: 2}
    layers:
      - Conv2D: {filters: $by * $input_channels, kernel_size: 1}
      - ZeroPadding2D: {padding: [[$input_height - 2 * floor($input_height / 2), 1], [$input_width, 0]]}
      - Add: {inputs: [zero_padding2d, input], if: $input_channels == 7 and $input_height > 6}
  dense: {layers: [{Dense: $input_channels}]}
layers:
  - Input: [5, 4, 3]
  - widen
  - widen: {by: 1/2}
  - Flatten
  - dense
)");
  EXPECT_EQ(graph.nodes[2].output().str(), "7x8x6");
  EXPECT_EQ(graph.nodes[4].output().str(), "9x16x3");
  EXPECT_EQ(graph.nodes.back().output().str(), "432");
  EXPECT_EQ(build_text("blocks: {a: {layers: [{Dense: $input_height}]}}\nlayers: [{Input: [4]}, a]").errors,
            "1:31 Dense 'dense': unknown variable '$input_height'; give it with --var input_height=... or in the "
            "environment\n");
}

}  // namespace
}  // namespace dptrain::graph
