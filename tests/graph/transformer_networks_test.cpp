// ViT and Transformer, the bundled networks that are not from Keras Applications, compared with formulas and with the
// same networks written by hand in configs/bench.

#include <fstream>
#include <sstream>

#include "core/text.h"
#include "graph/example.h"
#include "graph/network.h"
#include "support/test_data.h"

namespace dptrain::graph {
namespace {

std::string errors(const std::string& steps) { return build_text("layers: [" + steps + "]").errors; }

/// The model of a file of configs/bench, with `written` replaced by `other`.
Graph of_bench(const std::string& file, const std::string& written = "", const std::string& other = "") {
  std::ifstream in(test::test_data("../configs/bench/" + file));
  std::ostringstream all;
  all << in.rdbuf();
  std::string text = all.str();
  if (const std::size_t at = text.find(written); !written.empty() && at != std::string::npos)
    text.replace(at, written.size(), other);
  config::Diagnostics diagnostics;
  const config::Node config = config::load_text(text, file, ".", diagnostics);
  config::Reader reader(diagnostics);
  Graph graph = build(*config.find("model"), "test", reader);
  diagnostics.throw_if_errors();
  return graph;
}

TEST(TransformerNetworks, EqualTheHandWrittenOnesLayerByLayer) {
  const Graph vit = graph_of(R"(
layers:
  - ViT: {include_top: false, mlp_dim: 768, layer_norm_epsilon: 1e-3, pooling: none}
  - GlobalAveragePooling1D
  - Dense: 10
)");
  const Graph hand = of_bench("vit_tiny.yaml", "initializer: Zeros", "initializer: {RandomNormal: {stddev: 0.02}}");
  EXPECT_EQ(describe_graph(vit), describe_graph(hand));
  const Graph transformer = graph_of(R"(
layers:
  - Transformer:
      include_top: false
      activation: gelu
      layer_norm_epsilon: 1e-3
      normalize_first: true
      position_embedding: false
      pooling: none
  - GlobalAveragePooling1D
  - Dense: 10
)");
  EXPECT_EQ(describe_graph(transformer), describe_graph(of_bench("transformer.yaml")));
}

/// Parameters of a block: two normalizations, four projections with biases, two dense layers.
std::int64_t block(std::int64_t features, std::int64_t inner) {
  return 4 * features + 4 * (features * features + features) + (features * inner + inner) +
         (inner * features + features);
}

TEST(TransformerNetworks, ViTHasTheParametersOfTheFormula) {
  const auto expected = [](std::int64_t steps, std::int64_t patch, std::int64_t features, std::int64_t inner,
                           std::int64_t layers) {
    return patch * features + features + steps * features + layers * block(features, inner) + 2 * features;
  };
  EXPECT_EQ(parameters_of(graph_of("layers: [ViT]")), expected(64, 4 * 4 * 3, 192, 384, 6) + 192 * 1000 + 1000);
  const Graph other = graph_of(
      "layers: [{ViT: {input_shape: [24, 40, 1], patch_size: 8, num_layers: 3, num_heads: 5, hidden_dim: 20, "
      "mlp_dim: 7, dropout_rate: 0.1, attention_dropout: 0.2, pooling: max, classes: 4}}]");
  EXPECT_EQ(parameters_of(other), expected(15, 8 * 8, 20, 7, 3) + 20 * 4 + 4);
  EXPECT_EQ(tensor_of(other, other.outputs.at(0)).shape, Shape({4}));
  expect_round_trip(other);
}

TEST(TransformerNetworks, TransformerHasTheParametersOfTheFormula) {
  const std::int64_t stack = 4 * block(256, 1024), positions = 128 * 256, top = 256 * 1000 + 1000;
  EXPECT_EQ(parameters_of(graph_of("layers: [Transformer]")), positions + stack + top);
  EXPECT_EQ(parameters_of(graph_of("layers: [{Transformer: {normalize_first: true}}]")),
            positions + stack + 2 * 256 + top);
  const Graph other = graph_of(
      "layers: [{Input: [9, 6]}, {Transformer: {num_layers: 2, num_heads: 3, intermediate_dim: 5, dropout: 0.1, "
      "position_embedding: false, pooling: none, classes: 4}}]");
  EXPECT_EQ(parameters_of(other), 2 * block(6, 5) + 6 * 4 + 4);
  EXPECT_EQ(tensor_of(other, other.outputs.at(0)).shape, Shape({9, 4}));  // the top has an output per step
  expect_round_trip(other);
}

TEST(TransformerNetworks, NormalizationIsBeforeOrAfter) {
  const auto of = [](const std::string& arguments) {
    return wiring(
        graph_of("layers: [{Input: {name: x, shape: [9, 6]}}, {Transformer: {num_layers: 1, num_heads: 2, "
                 "position_embedding: false, include_top: false, " +
                 arguments + "}}]"));
  };
  EXPECT_EQ(of("pooling: max"),
            "x, block1_heads <- x, block1_attended <- x block1_heads, block1_norm1 <- block1_attended, "
            "block1_wide <- block1_norm1, block1_narrow <- block1_wide, block1_sum <- block1_norm1 block1_narrow, "
            "block1_norm2 <- block1_sum, max <- block1_norm2");
  EXPECT_EQ(of("normalize_first: true, dropout: 0.1, pooling: none"),
            "x, block1_norm1 <- x, block1_heads <- block1_norm1, block1_heads_drop <- block1_heads, "
            "block1_attended <- x block1_heads_drop, block1_norm2 <- block1_attended, block1_wide <- block1_norm2, "
            "block1_narrow <- block1_wide, block1_drop <- block1_narrow, "
            "block1_sum <- block1_attended block1_drop, norm <- block1_sum");
}

TEST(TransformerNetworks, ReadThePreviousStep) {
  const Graph graph = graph_of(R"(
layers:
  - Input: {shape: [7], dtype: int32}
  - Embedding: {name: words, input_dim: 11, output_dim: 8}
  - Transformer: {name: encoder, num_layers: 1, num_heads: 2, trainable: false, include_top: false}
  - Dense: {name: kinds, units: 2}
)");
  for (const char* name : {"encoder_positions", "encoder_block1_heads", "encoder_mean"}) {
    const auto layer =
        std::find_if(graph.layers.begin(), graph.layers.end(), [&](const Layer& l) { return l.name == name; });
    ASSERT_NE(layer, graph.layers.end()) << name;
    EXPECT_FALSE(layer->trainable) << name;
  }
  EXPECT_TRUE(graph.networks.empty());  // no weights trained on images with a preprocessing
}

TEST(TransformerNetworks, AcceptsAValueThatTheFileOmits) {  // the defaults are those of the file, not of all networks
  EXPECT_EQ(layer_names(graph_of("layers: [{ViT: {include_top: false, pooling: none}}]")).back(), "norm");
  EXPECT_EQ(layer_names(graph_of("layers: [{ViT: {include_top: false, input_shape: null}}]")).back(), "mean");
  EXPECT_EQ(parameters_of(graph_of("layers: [{MobileNet: {dropout: 0}}]")), 4253864);
}

TEST(TransformerNetworks, RejectsInvalidInputs) {
  EXPECT_EQ(errors("{Input: [128, 64]}, ViT"),
            "1:30 ViT: 'input_layer' must be an image [height, width, channels], found 128x64; Transformer expects "
            "sequences [steps, features]\n");
  EXPECT_EQ(errors("{Input: [32, 32, 3]}, Transformer"),
            "1:32 Transformer: 'input_layer' must be a sequence [steps, features], found 32x32x3; ViT expects images, "
            "a Reshape above makes steps of them\n");
  EXPECT_EQ(errors("{Input: [128]}, Transformer"),
            "1:26 Transformer: 'input_layer' must be a sequence [steps, features], found 128; an Embedding above makes "
            "vectors of ids, a Reshape steps of numbers\n");
  EXPECT_EQ(errors("{ViT: {input_shape: [128, 64]}}"),
            "1:30 ViT: input_shape must be an image [height, width, channels], found 128x64; Transformer expects "
            "sequences [steps, features]\n");
  EXPECT_EQ(errors("{Input: [128, 64]}, VGG16"),
            "1:30 VGG16: 'input_layer' must be an image [height, width, channels] of at least 32x32, found 128x64; "
            "Transformer expects sequences [steps, features]\n");
}

TEST(TransformerNetworks, RejectsInvalidArguments) {
  EXPECT_EQ(errors("{ViT: {hidden_dim: 200}}"),
            "1:29 ViT: num_heads must divide hidden_dim, found 3 for 200; take a divisor, or as hidden_dim a multiple "
            "of num_heads, such as 64 features for each head\n");
  EXPECT_EQ(errors("{Input: [30, 32, 3]}, ViT"),
            "1:32 ViT: patch_size must divide the image's height and width, found 4 for 30x32; take a divisor of both, "
            "or put a Resizing above\n");
  EXPECT_EQ(
      errors("{ViT: {num_heads: 5, patch_size: 64}}"),
      "1:43 ViT: patch_size must divide the image's height and width, found 64 for 32x32; take a divisor of both, "
      "or put a Resizing above\n"
      "1:28 ViT: num_heads must divide hidden_dim, found 5 for 192; take a divisor, or as hidden_dim a multiple "
      "of num_heads, such as 64 features for each head\n");
  EXPECT_EQ(errors("{Input: [128, 64]}, {Transformer: {num_heads: 3}}"),
            "1:56 Transformer: num_heads must divide the features of a step, found 3 for 64; take a divisor, or put a "
            "Dense above that gives other features\n");
  EXPECT_EQ(
      errors("{Transformer: {num_layers: 0, dropout: 1, activation: gleu, heads: 2}}"),
      "1:70 Transformer: unknown argument 'heads'; Transformer has the arguments include_top, input_shape, num_layers, "
      "num_heads, intermediate_dim, dropout, activation, layer_norm_epsilon, normalize_first, position_embedding, "
      "pooling, classes, classifier_activation\n"
      "1:37 Transformer: num_layers must be >= 1, found 0\n"
      "1:49 Transformer: dropout must be >= 0 and < 1, found 1\n"
      "1:64 Transformer: activation must be a known name, found 'gleu'; did you mean 'gelu'?\n");
  EXPECT_EQ(
      build_text(R"(
blocks:
  eyes:
    params: {heads: required}
    layers:
      - ViT: {name: vit, num_heads: $heads}
layers:
  - Input: [32, 32, 3]
  - eyes: {heads: 5}
)")
          .errors,
      "6:37 ViT: num_heads must divide hidden_dim, found 5 for 192; take a divisor, or as hidden_dim a multiple of "
      "num_heads, such as 64 features for each head\n  in block 'eyes', used at net.yaml:9:5\n");
  EXPECT_EQ(
      errors("{VGG16: {num_heads: 3}}"),
      "1:19 VGG16: unknown argument 'num_heads'; VGG16 has the arguments include_top, input_shape, pooling, classes, "
      "classifier_activation\n");
}

}  // namespace
}  // namespace dptrain::graph
