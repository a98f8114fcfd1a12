#pragma once

// Attention: additive, dot-product, and with several heads.

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "config/typed.h"
#include "core/shape.h"
#include "nn/initializer.h"

namespace dptrain::nn {

enum class ScoreMode { kDot, kConcat };

/// Keras Attention: y = softmax(scores) v. The scores are q k', times a learned scale with use_scale. With kConcat they
/// are c times the sum over the features of tanh(scale (q + k)), with a learned c.
struct AttentionSpec {
  bool use_scale = false;
  ScoreMode score_mode = ScoreMode::kDot;
  float dropout = 0;             ///< rate for the weights after the softmax
  bool use_causal_mask = false;  ///< as Keras's call argument: query i attends to the keys [0, i]
};

/// Returns [query steps, value features]. Throws LayerError.
Shape attention_shape(std::span<const Shape> in);

/// Keras AdditiveAttention: as Attention, but a score is the sum over the features of scale * tanh(q + k). With
/// use_scale the layer learns one scale per feature.
struct AdditiveAttentionSpec {
  bool use_scale = true;
  float dropout = 0;             ///< rate for the weights after the softmax
  bool use_causal_mask = false;  ///< as Keras's call argument: query i attends to the keys [0, i]
};

/// Keras MultiHeadAttention: each head computes softmax(q k' / sqrt(key_dim)) v from projections q of the query, k of
/// the key and v of the value. The heads' outputs are concatenated and projected once more. Inputs are [steps,
/// features] each: one for all three, [query, value], or [query, value, key]. A query attends to the keys that the
/// causal mask and the masks of query, value and key allow. If they allow none, it takes the mean of all values.
struct MultiHeadAttentionSpec {
  std::int64_t num_heads = 0, key_dim = 0;
  std::optional<std::int64_t> value_dim;  ///< none: key_dim
  float dropout = 0;                      ///< rate for the weights after the softmax
  bool use_bias = true;
  std::vector<std::int64_t> output_shape{};    ///< one extent; empty: the query's features
  std::vector<std::int64_t> attention_axes{};  ///< empty or 1, the steps
  Initializer kernel_initializer{GlorotUniform{}}, bias_initializer{Zeros{}};
  Regularizer kernel_regularizer, bias_regularizer;
  bool use_causal_mask = false;  ///< as Keras's call argument: query i attends to the keys [0, i]

  std::int64_t value_width() const { return value_dim.value_or(key_dim); }
};

/// Indices of the inputs that are query, key and value, in the order of the weights.
std::array<std::size_t, 3> attention_sources(std::size_t inputs);
/// Number of features after the last projection.
std::int64_t attention_output(const MultiHeadAttentionSpec& spec, const Shape& query);

}  // namespace dptrain::nn

template <>
struct dptrain::config::EnumNames<dptrain::nn::ScoreMode> {
  static constexpr std::array names{std::pair{dptrain::nn::ScoreMode::kDot, "dot"},
                                    std::pair{dptrain::nn::ScoreMode::kConcat, "concat"}};
};
