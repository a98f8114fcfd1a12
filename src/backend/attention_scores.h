#pragma once

// What the ops of Attention and AdditiveAttention on all devices make of their layer: the kind of scores, and which
// weights they read. Plain arithmetic, any thread.

#include <cstdint>
#include <optional>

#include "backend/op.h"
#include "kernels/geometry.h"
#include "nn/attention.h"

namespace dptrain::backend {

struct AttentionScores {
  kernels::AttentionShape shape;
  float dropout = 0;
  std::optional<std::size_t> scale;    ///< the weight that is a factor in the scores
  std::optional<std::size_t> weights;  ///< the one that additive scores are weighed by; nothing: by 1

  AttentionScores(const nn::AttentionSpec& spec, const OpContext& context)
      : AttentionScores(spec.dropout, spec.use_causal_mask, context) {
    if (spec.use_scale) scale = 0;
    if (spec.score_mode == nn::ScoreMode::kDot) return;
    shape.additive = shape.one_weight = true;
    weights = spec.use_scale ? 1 : 0;
  }
  AttentionScores(const nn::AdditiveAttentionSpec& spec, const OpContext& context)
      : AttentionScores(spec.dropout, spec.use_causal_mask, context) {
    shape.additive = true;
    shape.one_weight = !spec.use_scale;
    if (spec.use_scale) weights = 0;
  }
  /// The gradient of `weights` has so many numbers.
  std::int64_t weight_numbers() const { return shape.one_weight ? 1 : shape.key_dim; }

 private:
  AttentionScores(float rate, bool causal, const OpContext& context) : dropout(rate) {
    shape.queries = context.input(0)[0];
    shape.keys = context.input(1)[0];
    shape.key_dim = context.input(0)[1];
    shape.value_dim = context.input(1)[1];
    shape.causal = causal;
    shape.blind_scores_count = true;
  }
};

}  // namespace dptrain::backend
