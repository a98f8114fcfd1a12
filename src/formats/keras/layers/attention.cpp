#include "nn/attention.h"
#include "formats/keras/keras_layer.h"
#include "nn/embedding.h"

namespace dptrain::formats::keras {
namespace {

config::Node list_or_null(const std::vector<std::int64_t>& extents) {
  return extents.empty() ? config::Node() : config::Value<std::vector<std::int64_t>>::write(extents);
}

const RegisteredLayer kMultiHeadAttention =
    layer<nn::MultiHeadAttentionSpec>()
        .apart()
        .in_call("use_causal_mask")
        .writes("output_shape", [](const nn::MultiHeadAttentionSpec& s) { return list_or_null(s.output_shape); })
        .writes("attention_axes", [](const nn::MultiHeadAttentionSpec& s) { return list_or_null(s.attention_axes); })
        .unset({"activity_regularizer", "kernel_constraint", "bias_constraint"});

/// Keras 3 takes the text "dot" in an .h5 for its function of that name, and then refuses the layer.
const RegisteredLayer kAttention =
    layer<nn::AttentionSpec>()
        .in_call("use_causal_mask")
        .leaves_out_where("score_mode", [](const nn::AttentionSpec& s) { return s.score_mode == nn::ScoreMode::kDot; });
const RegisteredLayer kAdditiveAttention = layer<nn::AdditiveAttentionSpec>().in_call("use_causal_mask");

/// KerasHub's, under the name that it registers the class by.
const RegisteredLayer kPositionEmbedding = layer<nn::PositionEmbeddingSpec>()
                                               .class_name("keras_hub>PositionEmbedding")
                                               .custom_objects("scripts/interop/position_embedding.py");

}  // namespace
}  // namespace dptrain::formats::keras
