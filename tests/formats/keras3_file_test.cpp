// `.keras` files: the groups that Keras 3 reads, the optimizer's variables in its order, and reading back.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "core/error.h"
#include "formats/checkpoint/optimizer_state.h"
#include "formats/checkpoint/weights.h"
#include "formats/checkpoint_sample.h"
#include "formats/contents.h"
#include "formats/exporter.h"
#include "formats/keras/keras_import.h"
#include "formats/keras3/keras3_config.h"
#include "graph/example.h"
#include "nn/optimizers.h"
#include "support/test_data.h"

namespace dptrain::formats {
namespace {

using namespace sample;
using nlohmann::json;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

const char* const kLayers = R"(
layers:
  - Input: {name: image, shape: [6, 4, 3]}
  - Conv2D: {name: first, filters: 2, kernel_size: 3, padding: same}
  - BatchNormalization: {name: norm}
  - Conv2D: {name: second, filters: 2, kernel_size: 1, activation: hard_sigmoid}
  - LeakyReLU: {name: leaky}
  - LayerNormalization: {name: layer_norm, axis: [2, 3]}
  - Reshape: {name: rows, target_shape: [6, 8]}
  - LSTM: {name: cells, units: 3, return_sequences: true}
  - Bidirectional: {name: both, layer: {GRU: {units: 2, return_sequences: true}}}
  - MultiHeadAttention: {name: attention, num_heads: 2, key_dim: 2}
  - TimeDistributed: {name: each, layer: {Dense: 3}}
  - Flatten: {name: flat}
  - Dense: {name: out, units: 4, activation: softmax}
)";

graph::Model model_with_values() {
  graph::Model model = graph::make_model(graph::graph_of(kLayers), 3);
  std::uint32_t seed = 0;
  for (graph::Weight& weight : model.weights) weight.values = numbers(weight.values.size(), ++seed);
  return model;
}

OptimizerState state_for(const config::Typed& optimizer, const graph::Model& model) {
  OptimizerState state{.iterations = 41};
  std::uint32_t seed = 900;
  for (const std::string& name : keras::slot_names(optimizer, model))
    for (const graph::Weight& weight : model.weights)
      if (name.ends_with("/" + weight.path(model.graph)))
        state.slots.push_back({name, weight.def.shape, numbers(weight.values.size(), ++seed)});
  return state;
}

std::string write(const test::Folder& folder, const Exported& exported, const std::string& name = "m.keras") {
  exporter_of(name).write(folder / name, exported);
  return folder / name;
}

TEST(Keras3File, HasTheGroupsThatKerasReads) {
  const test::Folder folder;
  const graph::Model model = model_with_values();
  const FileContents file =
      FileContents::open(write(folder, {.model = model, .class_names = {"a", "b"}, .fitted_state = "{}"}));
  EXPECT_EQ(file.keras_version(), "3.0.0");
  EXPECT_TRUE(file.by_dptrain());
  EXPECT_THAT(
      file.root.group("layers").names(),
      ElementsAre("batch_normalization", "bidirectional", "conv2d", "conv2d_1", "dense", "flatten", "input_layer",
                  "layer_normalization", "leaky_re_lu", "lstm", "multi_head_attention", "reshape", "time_distributed"));
  for (const auto& [path, shape] : std::map<std::string, Shape>{{"conv2d_1/vars/1", {2}},
                                                                {"batch_normalization/vars/3", {2}},
                                                                {"layer_normalization/vars/0", {4, 2}},
                                                                {"lstm/cell/vars/1", {3, 12}},
                                                                {"bidirectional/backward_layer/cell/vars/2", {2, 6}},
                                                                {"multi_head_attention/query_dense/vars/0", {4, 2, 2}},
                                                                {"multi_head_attention/output_dense/vars/1", {4}},
                                                                {"time_distributed/layer/vars/0", {4, 3}}}) {
    EXPECT_EQ(file.root.dataset("layers/" + path).shape(), shape) << path;
  }
  EXPECT_EQ(file.root.group("layers/multi_head_attention").names(),
            (std::vector<std::string>{"key_dense", "output_dense", "query_dense", "value_dense", "vars"}));
  EXPECT_EQ(file.root.group("layers/conv2d_1/vars").text("name"), "second");
  EXPECT_FALSE(file.root.contains("optimizer"));
  EXPECT_EQ(file.class_names(), ClassNames({"a", "b"}));
  EXPECT_EQ(file.fitted_state(), "{}");
}

TEST(Keras3File, ReadsBackUnchanged) {
  const test::Folder folder;
  const graph::Model model = model_with_values();
  const std::string path = write(folder, {.model = model});
  graph::Model again = graph::make_model(graph::graph_of(config::to_yaml(import_model(path, {}).model)), 0);
  load_weights(path, again);
  ASSERT_EQ(again.weights.size(), model.weights.size());
  for (std::size_t i = 0; i < model.weights.size(); ++i) {
    EXPECT_EQ(again.weights[i].path(again.graph), model.weights[i].path(model.graph));
    EXPECT_EQ(again.weights[i].values, model.weights[i].values) << model.weights[i].path(model.graph);
  }
  EXPECT_EQ(keras::keras3_config(again.graph, {}), keras::keras3_config(model.graph, {}));
}

TEST(Keras3File, HasTheConfigOfKeras3) {
  const graph::Model model = model_with_values();
  const json all = json::parse(keras::keras3_config(model.graph, sample::compiled()));
  EXPECT_EQ(all["module"], "keras.src.models.functional");
  const json& layers = all["config"]["layers"];
  EXPECT_EQ(layers[0]["config"]["batch_shape"], json::parse("[null, 6, 4, 3]"));
  EXPECT_FALSE(layers[0]["config"].contains("ragged"));
  std::map<std::string, json> by_name;
  for (const json& layer : layers) by_name[layer["name"]] = layer;
  EXPECT_EQ(by_name["second"]["config"]["activation"], "hard_sigmoid");
  EXPECT_TRUE(by_name["leaky"]["config"].contains("negative_slope"));
  EXPECT_EQ(by_name["layer_norm"]["config"]["axis"], json::parse("[2, 3]"));
  EXPECT_TRUE(by_name["norm"]["config"].contains("synchronized"));
  EXPECT_EQ(by_name["attention"]["inbound_nodes"][0]["args"].size(), 2U);
  EXPECT_EQ(by_name["out"]["module"], "keras.layers");
  EXPECT_EQ(by_name["out"]["inbound_nodes"][0]["args"][0]["config"]["keras_history"], json::parse(R"(["flat", 0, 0])"));
  const json& compile = all["compile_config"];
  EXPECT_EQ(compile["optimizer"]["class_name"], "Adam");
  EXPECT_EQ(compile["optimizer"]["config"]["learning_rate"], 0.002);
  EXPECT_EQ(compile["loss"], "categorical_crossentropy");
  EXPECT_EQ(compile["metrics"], json::parse(R"(["accuracy"])"));
  EXPECT_EQ(compile["loss_weights"], json());
  CompileConfig weighted = sample::compiled();
  weighted.outputs.front().weight = 2;
  const json twice = json::parse(keras::keras3_config(model.graph, weighted));
  EXPECT_EQ(twice["compile_config"]["loss_weights"], json::parse("[2.0]"));
}

/// Name and length of each optimizer variable in the file.
TEST(Keras3File, TheOptimizersVariablesReadBack) {
  const graph::Model model = model_with_values();
  nn::AdamSpec adam;
  adam.amsgrad = true;
  adam.use_ema = true;
  nn::RMSpropSpec rmsprop;
  rmsprop.momentum = 0.5;
  rmsprop.centered = true;
  for (const nn::Optimizer optimizer : {nn::optimizer_family().make(adam), nn::optimizer_family().make(rmsprop),
                                        nn::optimizer_family().make(nn::NadamSpec{})}) {
    SCOPED_TRACE(optimizer.name());
    const test::Folder folder;
    CompileConfig compiled = sample::compiled();
    compiled.optimizer = optimizer;
    const OptimizerState state = state_for(optimizer, model);
    const std::string path = write(folder, {.model = model, .compiled = compiled, .optimizer_state = state});
    EXPECT_EQ(FileContents::open(path).root.dataset("optimizer/vars/0").whole_number(), 41);
    const OptimizerState again = read_optimizer_state(path, optimizer, model);
    EXPECT_EQ(again.iterations, 41);
    ASSERT_EQ(again.slots.size(), state.slots.size());
    for (std::size_t i = 0; i < state.slots.size(); ++i) {
      EXPECT_EQ(again.slots[i].name, state.slots[i].name);
      EXPECT_EQ(again.slots[i].values, state.slots[i].values) << state.slots[i].name;
    }
  }
}

TEST(Keras3File, SlotsHaveTheOrderOfKeras) {
  const graph::Model model = small_dense();
  nn::AdamSpec adam;
  adam.amsgrad = true;
  adam.use_ema = true;
  EXPECT_THAT(
      keras::slot_names(nn::optimizer_family().make(adam), model),
      ElementsAre("average/out/kernel", "average/out/bias", "momentum/out/kernel", "velocity/out/kernel",
                  "momentum/out/bias", "velocity/out/bias", "velocity_hat/out/kernel", "velocity_hat/out/bias"));
}

std::string refusal(const std::string& path, const config::Typed& optimizer, const graph::Model& model) {
  try {
    read_optimizer_state(path, optimizer, model);
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kCheckpoint);
    return error.what();
  }
  return "taken";
}

TEST(Keras3File, RejectsACheckpointOfAnotherOptimizer) {
  const test::Folder folder;
  const graph::Model model = small_dense();
  const nn::Optimizer adam = nn::optimizer_family().make(nn::AdamSpec{});
  CheckpointState state;
  state.trainer = R"({"step": 3})";
  for (const char* const config :
       {"{train: {optimizer: {Adam: {learning_rate: 0.1}}}}", "{train: {optimizer: Adam}}"}) {
    state.resolved_config = config;
    save_checkpoint(folder / "last.h5", model, {}, state);
    EXPECT_EQ(read_optimizer_state(folder / "last.h5", adam, model).iterations, 3);
    EXPECT_THAT(refusal(folder / "last.h5", nn::optimizer_family().make(nn::NadamSpec{}), model),
                testing::HasSubstr("was trained with Adam, but the config's optimizer is Nadam"));
  }
}

TEST(Keras3File, RejectsAStateThatDoesNotFit) {
  const test::Folder folder;
  const graph::Model model = small_dense();
  const nn::Optimizer adam = nn::optimizer_family().make(nn::AdamSpec{}),
                      nadam = nn::optimizer_family().make(nn::NadamSpec{});
  CompileConfig compiled = sample::compiled();
  const std::string path =
      write(folder, {.model = model, .compiled = compiled, .optimizer_state = state_for(adam, model)});
  EXPECT_THAT(refusal(path, nadam, model), HasSubstr("was trained with Adam, but the config's optimizer is Nadam"));
  nn::AdamSpec amsgrad;
  amsgrad.amsgrad = true;
  EXPECT_THAT(refusal(path, nn::optimizer_family().make(amsgrad), model), HasSubstr("of the config need 6"));
  EXPECT_THAT(refusal(write(folder, {.model = model}, "bare.keras"), adam, model),
              HasSubstr("contains no optimizer state"));
  EXPECT_THAT(refusal(path, adam, tiny_cnn()), HasSubstr("is not of this model"));
}

TEST(Keras3File, WeightsFilesHaveTheSameTree) {
  const test::Folder folder;
  const graph::Model model = model_with_values();
  const std::string path = write(folder, {.model = model}, "m.weights.h5");
  EXPECT_FALSE(has_model(path));
  graph::Model again = graph::make_model(graph::graph_of(kLayers), 0);
  load_weights(path, again);
  for (std::size_t i = 0; i < model.weights.size(); ++i) EXPECT_EQ(again.weights[i].values, model.weights[i].values);
}

TEST(Compare, PairsFilesThatNumberWeightsWithFilesThatNameThem) {
  const test::Folder folder;
  graph::Model model = model_with_values();
  const std::string keras = write(folder, {.model = model}), h5 = write(folder, {.model = model}, "m.h5"),
                    tensors = write(folder, {.model = model}, "m.safetensors");
  for (const std::string& other : {h5, tensors}) {
    EXPECT_TRUE(compare_files(keras, other, 0).equal) << compare_files(keras, other, 0).report;
    EXPECT_TRUE(compare_files(other, keras, 0).equal) << compare_files(other, keras, 0).report;
  }
  model.weights[1].values[0] += 1;
  const FileDifference difference = compare_files(keras, write(folder, {.model = model}, "other.h5"), 0);
  EXPECT_FALSE(difference.equal);
  EXPECT_THAT(difference.report, HasSubstr("first/bias: max |A - B| 1"));
}

}  // namespace
}  // namespace dptrain::formats
