// Every layer has a form in ONNX files or a documented reason, and ONNX's checker with shape inference accepts a file
// of each. scripts/interop/onnx_outputs.py compares the results with onnxruntime.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "formats/exporter.h"
#include "formats/onnx/onnx_layer.h"
#include "formats/onnx_reader.h"
#include "graph/example.h"
#include "nn/layer.h"
#include "support/folder.h"

namespace dptrain::formats::onnx {
namespace {

struct OnnxExample {
  std::string of;  ///< types of the layers
  std::string input;
  std::vector<std::string> layers;
};

const std::string kImage = "[9, 8, 4]", kSteps = "[7, 4]", kVolume = "[6, 7, 8, 4]",
                  kIds = "{shape: [6], dtype: int32}";

std::vector<OnnxExample> examples() {
  std::vector<OnnxExample> all;
  const auto add = [&](std::string of, const std::string& input, std::vector<std::string> layers) {
    all.push_back({std::move(of), input, std::move(layers)});
  };
  for (const auto& [kind, input] :
       {std::pair<std::string, std::string>{"1D", kSteps}, {"2D", kImage}, {"3D", kVolume}}) {
    const std::string window = "kernel_size: 3, padding: same, strides: 2, activation: gelu";
    for (const std::string& name : {"Conv" + kind, "Conv" + kind + "Transpose"})
      add(name, input, {std::string(name) + ": {filters: 5, " + window + "}"});
    if (kind != "3D") {
      add("SeparableConv" + kind, input, {"SeparableConv" + kind + ": {filters: 5, " + window + "}"});
      add("DepthwiseConv" + kind, input, {"DepthwiseConv" + kind + ": {depth_multiplier: 2, " + window + "}"});
    }
    for (const char* name : {"MaxPooling", "AveragePooling"})
      add(name + kind, input, {name + kind + ": {pool_size: 3, strides: 2, padding: same}"});
    for (const char* name : {"GlobalMaxPooling", "GlobalAveragePooling"})
      add(name + kind, input, {"Conv" + kind + ": {filters: 3, kernel_size: 2}", name + kind + ": {keepdims: true}"});
    for (const char* name : {"ZeroPadding", "Cropping", "UpSampling"}) add(name + kind, input, {name + kind});
    add("SpatialDropout" + kind, input, {"SpatialDropout" + kind + ": 0.3"});
  }
  for (const char* name : {"Flatten", "BatchNormalization", "LayerNormalization", "RMSNormalization",
                           "LocalResponseNormalization", "ReLU", "LeakyReLU", "ELU", "PReLU", "Softmax"})
    add(name, kImage, {name});
  add("Rescaling", kImage, {"Rescaling: {scale: 2, offset: 1}"});
  add("Rescaling", kImage, {"Rescaling: {scale: [1, 2, 0.5, -1], offset: [1, 2, 3, 4]}"});
  add("GroupNormalization", kImage, {"GroupNormalization: 2"});
  add("Normalization", kImage, {"Normalization"});
  add("LayerScale", kImage, {"LayerScale: {init_values: 0.5, projection_dim: 4}"});
  add("StochasticDepth", kSteps, {"StochasticDepth: 0.2", "Dense: 3"});
  add("CustomScaleLayer", kSteps, {"Dense: {units: 4, name: a}", "CustomScaleLayer: {scale: 0.2, inputs: [in, a]}"});
  add("Normalization", kImage, {"Normalization: {mean: [0.5], variance: [2]}"});
  add("UpSampling2D", kImage, {"UpSampling2D: {size: 2, interpolation: bilinear}"});
  add("Resizing", kImage, {"Resizing: {height: 5, width: 11}"});
  add("Reshape", kImage, {"Reshape: [4, -1]"});
  add("Permute", kImage, {"Permute: [3, 1, 2]"});
  add("RepeatVector", "[4]", {"RepeatVector: 3"});
  add("Dense", kSteps, {"Dense: 3", "Flatten", "Dense: 2"});
  add("Activation", kSteps,
      {"Activation: mish", "Activation: selu", "Activation: log_softmax", "Activation: hard_silu"});
  for (const char* name : {"Dropout", "GaussianDropout", "GaussianNoise"})
    add(name, kSteps, {std::string(name) + ": 0.2", "Dense: 3"});
  for (const char* name : {"Add", "Subtract", "Multiply", "Average", "Maximum", "Minimum", "Concatenate"})
    add(name, kSteps, {"Dense: {units: 4, name: a}", std::string(name) + ": {inputs: [in, a]}"});
  for (const char* name : {"Multiply", "Maximum", "Minimum"})
    add(name, kIds,
        {"Embedding: {input_dim: 5, output_dim: 3, mask_zero: true, name: a}",
         std::string(name) + ": {inputs: [a, a]}"});
  add("Dot", kSteps, {"Dense: {units: 4, name: a}", "Dot: {axes: 2, normalize: true, inputs: [in, a]}"});
  add("Embedding", kIds, {"Embedding: {input_dim: 5, output_dim: 3}"});
  add("PositionEmbedding", kSteps, {"PositionEmbedding: 9"});
  add("Masking", kSteps, {"Masking", "GlobalAveragePooling1D"});
  for (const char* name : {"LSTM", "GRU", "SimpleRNN"}) {
    add(name, kSteps, {std::string(name) + ": {units: 3, return_sequences: true, go_backwards: true}"});
    add(name, kIds, {"Embedding: {input_dim: 5, output_dim: 3, mask_zero: true}", std::string(name) + ": 3"});
  }
  add("Bidirectional", kSteps, {"Bidirectional: {layer: {LSTM: {units: 3, return_sequences: true}}}"});
  add("ConvLSTM2D", "[5, 6, 7, 2]", {"ConvLSTM2D: {filters: 3, kernel_size: 3}"});
  add("TimeDistributed", "[5, 6, 7, 2]", {"TimeDistributed: {layer: {Conv2D: {filters: 3, kernel_size: 3}}}"});
  add("MultiHeadAttention", kSteps, {"MultiHeadAttention: {num_heads: 2, key_dim: 3, use_causal_mask: true}"});
  add("Attention", kSteps, {"Dense: {units: 4, name: a}", "Attention: {use_scale: true, inputs: [in, a]}"});
  add("AdditiveAttention", kSteps, {"Dense: {units: 4, name: a}", "AdditiveAttention: {inputs: [in, a]}"});
  return all;
}

graph::Model model_of(const OnnxExample& example) {
  std::string yaml = "layers:\n  - Input: ";
  yaml += example.input.starts_with("{") ? "{name: in, " + example.input.substr(1)
                                         : "{name: in, shape: " + example.input + "}";
  for (const std::string& layer : example.layers) yaml += "\n  - " + layer;
  return graph::make_model(graph::graph_of(yaml + "\n"), 1);
}

TEST(OnnxRegistration, EveryLayerHasAForm) {
  for (const config::TypeDef* type : nn::layer_family().types()) {
    if (type->name.starts_with("Test")) continue;  // a layer of these tests
    SCOPED_TRACE(type->name);
    const Form* form = forms().find(type->type);
    ASSERT_NE(form, nullptr) << "no form: src/formats/onnx/layers/";
    EXPECT_TRUE(form->uses_masks || !static_cast<const nn::LayerType*>(type)->uses_masks);
  }
}

TEST(OnnxRegistration, OnnxsCheckerAcceptsAFileOfEveryLayer) {
  const test::Folder folder;
  std::set<std::string> seen{"Input"};
  for (const OnnxExample& example : examples())
    for (const int opset : {13, 17}) {
      SCOPED_TRACE(example.of + " with opset " + std::to_string(opset));
      seen.insert(example.of);
      const graph::Model model = model_of(example);
      exporter_of("a.onnx").write(folder / "a.onnx", {.model = model, .opset = opset});
      const OnnxFileInfo read = read_file(folder / "a.onnx");
      EXPECT_EQ(read.checker_error, "");
      EXPECT_EQ(read.opset, opset);
      // The declared shape is the graph's; the checker has compared it with the inferred one.
      const Shape& out = model.graph.nodes.back().output();
      std::string shape = "[batch";
      for (const std::int64_t extent : out.dims()) shape += "," + std::to_string(extent);
      EXPECT_THAT(read.outputs.back(), ::testing::HasSubstr(shape + "] 1"));
    }
  for (const config::TypeDef* type : nn::layer_family().types())
    EXPECT_TRUE(seen.contains(type->name) || type->name.starts_with("Test")) << "no example of " << type->name;
}

}  // namespace
}  // namespace dptrain::formats::onnx
