#pragma once

// Attention layers for every backend: shapes, masks and dropout, and projections that are computed as one product.

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "backend/op.h"
#include "core/random.h"
#include "kernels/geometry.h"
#include "nn/attention.h"

namespace dptrain::backend {

/// Base of the ops of all attention layers.
class AttentionLayer {
 protected:
  AttentionLayer(float rate, bool causal, const OpContext& context)
      : rows_(context.rows),
        has_backward_(context.step.has_backward),
        rate_(rate),
        seed_(static_cast<std::uint32_t>(context.seed ^ context.seed >> 32)),
        stream_(static_cast<std::uint32_t>(Purpose::kDropout) + context.stream()) {
    shape_.queries = context.input(0)[0];
    shape_.causal = causal;
  }

  /// `Dropout`: that of the device's kernels. On GPUs, which read the step from device memory, it has no step.
  template <class Dropout>
  Dropout dropout(const OpArgs& a) const {
    Dropout of_call{};
    of_call.rate = a.training ? rate_ : 0.0F;
    of_call.seed = seed_;
    of_call.layer = stream_;
    if constexpr (requires { of_call.step; }) of_call.step = static_cast<std::uint64_t>(a.step);
    of_call.first_row = a.first_row;
    return of_call;
  }

  static const std::uint8_t* mask_of(const OpArgs& a, std::optional<std::size_t> mask) {
    return mask ? a.in<std::uint8_t>(*mask) : nullptr;
  }

  /// Multiply-adds times two of the scores and of the weighted sums of values, of one sample.
  std::pair<double, double> score_flops() const {
    const double scores = 2.0 * static_cast<double>(shape_.heads * shape_.queries) * static_cast<double>(shape_.keys);
    const double key_dim = static_cast<double>(shape_.key_dim), value_dim = static_cast<double>(shape_.value_dim);
    return {scores * (key_dim + value_dim), scores * (3 * key_dim + 2 * value_dim)};
  }

  kernels::AttentionShape shape_;
  std::int64_t rows_;
  bool has_backward_;

 private:
  float rate_;
  std::uint32_t seed_, stream_;
};

/// Base of the ops of Attention and AdditiveAttention.
class SingleHeadAttention : protected AttentionLayer {
 protected:
  SingleHeadAttention(const nn::AttentionSpec& spec, const OpContext& context)
      : SingleHeadAttention(spec.dropout, spec.use_causal_mask, context) {
    if (spec.use_scale) scale_ = 0;
    if (spec.score_mode == nn::ScoreMode::kDot) return;
    shape_.additive = shape_.one_weight = true;
    weights_ = spec.use_scale ? 1 : 0;
  }
  SingleHeadAttention(const nn::AdditiveAttentionSpec& spec, const OpContext& context)
      : SingleHeadAttention(spec.dropout, spec.use_causal_mask, context) {
    shape_.additive = true;
    shape_.one_weight = !spec.use_scale;
    if (spec.use_scale) weights_ = 0;
  }
  /// Number of elements in the gradient of `weights_`.
  std::int64_t weight_numbers() const { return shape_.one_weight ? 1 : shape_.key_dim; }

  std::optional<std::size_t> scale_;    ///< index of the weight that scales the scores
  std::optional<std::size_t> weights_;  ///< index of the weight of additive scores; nullopt: 1
  std::size_t key_;                     ///< index of the key in the inputs
  std::optional<std::size_t> query_mask_, value_mask_;

 private:
  SingleHeadAttention(float rate, bool causal, const OpContext& context)
      : AttentionLayer(rate, causal, context),
        key_(context.inputs() - 1),
        query_mask_(context.mask(0)),
        value_mask_(context.mask(1)) {
    shape_.keys = context.input(1)[0];
    shape_.key_dim = context.input(0)[1];
    shape_.value_dim = context.input(1)[1];
    shape_.fully_masked_scores_count = true;
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

/// Base of the ops of MultiHeadAttention.
class MultiHeadAttention : protected AttentionLayer {
 protected:
  MultiHeadAttention(const nn::MultiHeadAttentionSpec& spec, const OpContext& context)
      : AttentionLayer(spec.dropout, spec.use_causal_mask, context),
        spec_(spec),
        projections_(spec, context),
        weights_{spec.use_bias},
        heads_width_(spec.num_heads * spec.value_width()),
        trains_(context.trains()),
        reaches_heads_(trains_) {
    shape_.heads = spec.num_heads;
    shape_.keys = projections_.all()[projections_.place(kKey)].steps;
    shape_.key_dim = spec.key_dim;
    shape_.value_dim = spec.value_width();
    shape_.scale = static_cast<float>(1 / std::sqrt(static_cast<double>(spec.key_dim)));
    const auto sources = nn::attention_sources(context.inputs());
    for (std::size_t role = 0; role < sources.size(); ++role) masks_[role] = context.mask(sources[role]);
    if (sources[kKey] == sources[kValue]) masks_[kKey].reset();
    for (const AttentionProjection& p : projections_.all()) {
      wants_dx_.push_back(std::ranges::any_of(p.inputs, [&](std::size_t input) { return context.wants_dx(input); }));
      reaches_heads_ = reaches_heads_ || wants_dx_.back();
    }
  }

  const std::uint8_t* mask(const OpArgs& a, AttentionRole role) const { return mask_of(a, masks_[role]); }

  const nn::MultiHeadAttentionSpec spec_;
  AttentionProjections projections_;
  AttentionWeights weights_;
  std::int64_t heads_width_;
  bool trains_, reaches_heads_;  ///< reaches_heads_: whether backward needs gradients of the heads
  std::array<std::optional<std::size_t>, 3> masks_;
  std::vector<bool> wants_dx_;  ///< per projection
};

}  // namespace dptrain::backend
