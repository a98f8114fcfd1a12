#include "layers/attention.h"
#include "export/keras/keras_layer.h"
#include "layers/additive_attention.h"
#include "layers/multi_head_attention.h"
#include "layers/position_embedding.h"

namespace dptrain::exporting::keras {
namespace {

config::Node list_or_null(const std::vector<std::int64_t>& extents) {
  return extents.empty() ? config::Node() : config::Value<std::vector<std::int64_t>>::write(extents);
}

const RegisteredLayer kMultiHeadAttention =
    layer<layers::MultiHeadAttentionSpec>()
        .apart()
        .in_call("use_causal_mask")
        .writes("output_shape", [](const layers::MultiHeadAttentionSpec& s) { return list_or_null(s.output_shape); })
        .writes("attention_axes",
                [](const layers::MultiHeadAttentionSpec& s) { return list_or_null(s.attention_axes); })
        .unset({"activity_regularizer", "kernel_constraint", "bias_constraint"});

/// Keras 3 takes the text "dot" in an .h5 for its function of that name, and then refuses the layer.
const RegisteredLayer kAttention = layer<layers::AttentionSpec>()
                                       .in_call("use_causal_mask")
                                       .leaves_out_where("score_mode", [](const layers::AttentionSpec& s) {
                                         return s.score_mode == layers::ScoreMode::kDot;
                                       });
const RegisteredLayer kAdditiveAttention = layer<layers::AdditiveAttentionSpec>().in_call("use_causal_mask");

/// KerasHub's, under the name that it registers the class by.
const RegisteredLayer kPositionEmbedding = layer<layers::PositionEmbeddingSpec>()
                                               .class_name("keras_hub>PositionEmbedding")
                                               .custom_objects("scripts/interop/position_embedding.py");

}  // namespace
}  // namespace dptrain::exporting::keras
