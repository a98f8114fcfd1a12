// Shapes, weights and errors of attention and of learned positions.

#include "nn/example.h"

namespace dptrain::nn {
namespace {

const std::string kHeads = "MultiHeadAttention: {num_heads: 2, key_dim: 3}";

TEST(AttentionLayers, MultiHeadAttention) {
  EXPECT_EQ(output_of(kHeads, {{7, 5}}), (Shape{7, 5}));
  EXPECT_EQ(output_of(kHeads, {{7, 5}, {4, 6}}), (Shape{7, 5}));
  EXPECT_EQ(output_of("MultiHeadAttention: {num_heads: 2, key_dim: 3, output_shape: 9}", {{7, 5}}), (Shape{7, 9}));
  EXPECT_EQ(weights_of(kHeads, {{7, 5}}),
            "query/kernel 5x2x3, query/bias 2x3, key/kernel 5x2x3, key/bias 2x3, value/kernel 5x2x3, value/bias 2x3, "
            "attention_output/kernel 2x3x5, attention_output/bias 5");
  EXPECT_EQ(weights_of("MultiHeadAttention: {num_heads: 2, key_dim: 3, value_dim: 4, use_bias: false}",
                       {{7, 5}, {4, 6}, {4, 8}}),
            "query/kernel 5x2x3, key/kernel 8x2x3, value/kernel 6x2x4, attention_output/kernel 2x4x5");
}

TEST(AttentionLayers, MultiHeadAttentionReportsInputsThatDoNotFit) {
  EXPECT_EQ(shape_error(kHeads, {{7}}), "expected inputs of 2 axes (steps, features), {0} is 7");
  EXPECT_EQ(shape_error(kHeads, {{7, 5}, {4, 6, 2}}), "expected inputs of 2 axes (steps, features), {1} is 4x6x2");
  EXPECT_EQ(shape_error(kHeads, {{7, 5}, {4, 6}, {3, 6}}),
            "value and key must have the same number of steps, {1} is 4x6 and {2} 3x6");
  EXPECT_EQ(shape_error("MultiHeadAttention: {num_heads: 4096, key_dim: 8192}", {{7, 5}}),
            "4096 heads of 8192 numbers are more than 16777216 together");
  EXPECT_EQ(read_layer("MultiHeadAttention: {num_heads: 2, key_dim: 3, output_shape: [4, 5]}").errors,
            "MultiHeadAttention: output_shape must be one extent, the features of the output; put a Reshape after the "
            "layer for more axes\n");
  EXPECT_EQ(read_layer("MultiHeadAttention: {num_heads: 2, key_dim: 3, attention_axes: [1, 2]}").errors,
            "MultiHeadAttention: attention_axes must be 1, the steps, or left out: inputs are [steps, features]\n");
  EXPECT_EQ(read_layer("MultiHeadAttention: {num_heads: 2, key_dim: 3, attention_axes: 1}").errors, "");
}

TEST(AttentionLayers, AttentionWithoutProjections) {
  EXPECT_EQ(output_of("Attention", {{7, 5}, {4, 5}}), (Shape{7, 5}));
  EXPECT_EQ(output_of("Attention", {{7, 5}, {4, 2}, {4, 5}}), (Shape{7, 2}));
  EXPECT_EQ(weights_of("Attention", {{7, 5}, {4, 5}}), "");
  EXPECT_EQ(weights_of("Attention: {use_scale: true, score_mode: concat}", {{7, 5}, {4, 5}}),
            "scale scalar, concat_score_weight scalar");
  EXPECT_EQ(weights_of("AdditiveAttention", {{7, 5}, {4, 5}}), "scale 5");
  EXPECT_EQ(weights_of("AdditiveAttention: {use_scale: false}", {{7, 5}, {4, 5}}), "");
  EXPECT_EQ(shape_error("Attention", {{7, 5}, {4, 6}}),
            "query and key must have the same number of features, {0} is 7x5 and {1} 4x6");
  EXPECT_EQ(shape_error("AdditiveAttention", {{7, 5}, {4, 6}, {3, 5}}),
            "value and key must have the same number of steps, {1} is 4x6 and {2} 3x5");
}

TEST(AttentionLayers, AreRandomWithDropout) {
  EXPECT_FALSE(is_random(layer_of(kHeads)));
  EXPECT_TRUE(is_random(layer_of("MultiHeadAttention: {num_heads: 2, key_dim: 3, dropout: 0.1}")));
  EXPECT_TRUE(is_random(layer_of("Attention: {dropout: 0.1}")));
  EXPECT_TRUE(is_random(layer_of("AdditiveAttention: {dropout: 0.1}")));
}

TEST(AttentionLayers, PositionEmbedding) {
  EXPECT_EQ(output_of("PositionEmbedding: 9", {{7, 5}}), (Shape{7, 5}));
  EXPECT_EQ(weights_of("PositionEmbedding: 9", {{7, 5}}), "embeddings 9x5");
  EXPECT_EQ(shape_error("PositionEmbedding: 6", {{7, 5}}), "{0} is 7x5, it has more steps than sequence_length, 6");
}

}  // namespace
}  // namespace dptrain::nn
