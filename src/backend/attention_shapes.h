#pragma once

// Shapes of the attention layers for every backend: scores, and projections that are computed as one product.

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "backend/op.h"
#include "kernels/geometry.h"
#include "nn/attention.h"

namespace dptrain::backend {

struct AttentionScores {
  kernels::AttentionShape shape;
  float dropout = 0;
  std::optional<std::size_t> scale;    ///< index of the weight that scales the scores
  std::optional<std::size_t> weights;  ///< index of the weight of additive scores; nullopt: 1

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
  /// Number of elements in the gradient of `weights`.
  std::int64_t weight_numbers() const { return shape.one_weight ? 1 : shape.key_dim; }

 private:
  AttentionScores(float rate, bool causal, const OpContext& context) : dropout(rate) {
    shape.queries = context.input(0)[0];
    shape.keys = context.input(1)[0];
    shape.key_dim = context.input(0)[1];
    shape.value_dim = context.input(1)[1];
    shape.causal = causal;
    shape.fully_masked_scores_count = true;
  }
};

/// The three roles, in Keras's order of their weights.
enum AttentionRole : std::size_t { kQuery, kKey, kValue };

/// Indices of the layer's weights: kernel [features, heads, dim] and bias of each role. kOutputRole is the output
/// projection.
struct AttentionWeights {
  bool bias;
  std::size_t kernel_of(std::size_t role) const { return bias ? 2 * role : role; }
  std::size_t bias_of(std::size_t role) const { return 2 * role + 1; }
};
inline constexpr std::size_t kOutputRole = 3;

struct AttentionProjection {
  std::vector<std::size_t> inputs;  ///< all inputs that are this tensor; the first is read
  std::vector<std::size_t> roles;
  std::vector<std::int64_t> first;  ///< column of each role
  std::int64_t steps = 0, features = 0, columns = 0;

  bool fused() const { return roles.size() > 1; }
};

class AttentionProjections {
 public:
  AttentionProjections(const nn::MultiHeadAttentionSpec& spec, const OpContext& context) {
    const auto sources = nn::attention_sources(context.inputs());
    std::vector<int> tensors;  // by projection
    for (std::size_t role = 0; role < sources.size(); ++role) {
      const int tensor = context.step.inputs[sources[role]];
      std::size_t p = 0;
      while (p < tensors.size() && tensors[p] != tensor) ++p;
      if (p == tensors.size()) {
        const Shape shape = context.input(sources[role]);
        tensors.push_back(tensor);
        all_.push_back({.inputs = {}, .roles = {}, .first = {}, .steps = shape[0], .features = shape[1]});
      }
      AttentionProjection& projection = all_[p];
      if (projection.inputs.empty())
        for (std::size_t i = 0; i < context.inputs(); ++i)
          if (context.step.inputs[i] == tensor) projection.inputs.push_back(i);
      place_[role] = p;
      first_[role] = projection.columns;
      projection.roles.push_back(role);
      projection.first.push_back(projection.columns);
      projection.columns += width_of(spec, role);
    }
  }

  static std::int64_t width_of(const nn::MultiHeadAttentionSpec& spec, std::size_t role) {
    return spec.num_heads * (role == kValue ? spec.value_width() : spec.key_dim);
  }
  const std::vector<AttentionProjection>& all() const { return all_; }
  /// The index of a role's projection, and the role's first column in it.
  std::size_t place(std::size_t role) const { return place_[role]; }
  std::int64_t first(std::size_t role) const { return first_[role]; }

 private:
  std::vector<AttentionProjection> all_;
  std::array<std::size_t, 3> place_{};
  std::array<std::int64_t, 3> first_{};
};

}  // namespace dptrain::backend
