#pragma once

// Normalization layers for every backend: indices of their weights, shapes, and what their ops save.

#include <cstddef>
#include <cstdint>
#include <string>

#include "backend/device.h"
#include "core/error.h"
#include "core/format.h"
#include "kernels/geometry.h"
#include "nn/merging.h"
#include "nn/normalization.h"
#include "plan/tail.h"

namespace dptrain::backend {

/// Index of a weight that a layer does not have.
inline constexpr std::size_t kNoWeight = ~std::size_t{0};
/// The weight at `index`, or null if the layer does not have it.
inline const float* weight_or_null(const OpArgs& a, std::size_t index) {
  return index == kNoWeight ? nullptr : a.weights[index];
}
/// Null if the gradient is not needed.
inline float* gradient_or_null(const OpArgs& a, std::size_t index) {
  return index < a.weight_gradients.size() ? a.weight_gradients[index] : nullptr;
}

/// Indices of a BatchNormalization's weights among its arguments, in Keras's order.
struct BatchNormWeights {
  explicit BatchNormWeights(const nn::BatchNormalizationSpec& spec)
      : gamma(spec.scale ? 0 : kNoWeight),
        beta(spec.center ? std::size_t{spec.scale} : kNoWeight),
        moving_mean(std::size_t{spec.scale} + std::size_t{spec.center}),
        moving_variance(moving_mean + 1) {}

  std::size_t gamma, beta;  ///< kNoWeight if absent
  std::size_t moving_mean, moving_variance;
};

/// Base of the ops of BatchNormalization.
class BatchNormLayer {
 protected:
  BatchNormLayer(const nn::BatchNormalizationSpec& spec, const OpContext& context, const Device& device)
      : channels_(context.input(0).back()),
        spatial_(context.input(0).elements() / channels_),
        epsilon_(static_cast<float>(spec.epsilon)),
        unbiased_(device.options().bn_unbiased_running_var),
        activation_(plan::tail_activation(context.step).activation),
        masks_(activation_ != nn::Activation::kLinear && !plan::tail_activation(context.step).undone),
        adds_(plan::tail_has<nn::AddSpec>(context.step)),
        inference_mode_(context.step.inference_mode),
        replicas_(spec.synchronized && !inference_mode_ ? context.replicas : 1),
        weights_(spec) {}

  /// Op::implementation().
  std::string replicas_text() const { return replicas_ > 1 ? fmt::format("moments over {} replicas", replicas_) : ""; }

  /// For synchronized layers: throws Error{kInternal} if the call's collective has other replicas.
  void check_collective(const OpArgs& a) const {
    if (a.collective == nullptr || a.collective->size() != replicas_)
      throw Error(ErrorKind::kInternal,
                  fmt::format("synchronized BatchNormalization was made for {} replicas, found {}", replicas_,
                              a.collective == nullptr ? 1 : a.collective->size()));
  }

  std::int64_t channels_, spatial_;
  float epsilon_;
  bool unbiased_;
  nn::Activation activation_;  ///< none, a ReLU or, on CPUs, relu6
  bool masks_;                 ///< backward multiplies dy by its mask
  bool adds_, inference_mode_;
  int replicas_;  ///< number of replicas that share their moments; 1: not synchronized
  const BatchNormWeights weights_;
};

/// Base of the ops of GroupNormalization, LayerNormalization and RMSNormalization, which normalize groups of adjacent
/// channels within samples. Saved for backward: mean and 1 / deviation of every group.
class GroupNormLayer {
 protected:
  GroupNormLayer(const nn::GroupNormalizationSpec& spec, const OpContext& context)
      : GroupNormLayer({.spatial = context.input(0).elements() / context.input(0).back(),
                        .channels = context.input(0).back(),
                        .groups = nn::group_count(spec, context.input(0)),
                        .epsilon = static_cast<float>(spec.epsilon)},
                       spec.scale, spec.center, context) {}
  GroupNormLayer(const nn::LayerNormalizationSpec& spec, const OpContext& context)
      : GroupNormLayer(over_last_axes(spec, context, true), spec.scale, spec.center, context) {}
  GroupNormLayer(const nn::RMSNormalizationSpec& spec, const OpContext& context)
      : GroupNormLayer(over_last_axes(spec, context, false), true, false, context) {}

  std::int64_t statistics(std::int64_t rows) const { return rows * rows_of_sample_ * norm_.groups; }
  std::uint64_t saved_bytes() const {
    return has_backward_ ? 2 * static_cast<std::uint64_t>(statistics(rows_)) * sizeof(float) : 0;
  }
  /// Where forward writes the means, followed by 1 / deviation; null if there is no backward.
  float* saved_mean(const OpArgs& a) const {
    return has_backward_ && a.training ? static_cast<float*>(a.saved) : nullptr;
  }

  kernels::GroupNorm norm_;
  std::int64_t rows_of_sample_, rows_;  ///< a sample is rows_of_sample_ rows of the norm
  bool has_backward_;
  std::size_t gamma_, beta_;

 private:
  GroupNormLayer(const kernels::GroupNorm& norm, bool scale, bool center, const OpContext& context)
      : norm_(norm),
        rows_of_sample_(context.input(0).elements() / (norm.spatial * norm.channels)),
        rows_(context.rows),
        has_backward_(context.step.has_backward),
        gamma_(scale ? 0 : kNoWeight),
        beta_(center ? std::size_t{scale} : kNoWeight) {}

  /// The normalized axes are one group; the axes before them are rows.
  template <class Spec>
  static kernels::GroupNorm over_last_axes(const Spec& spec, const OpContext& context, bool centered) {
    return {.spatial = 1,
            .channels = nn::normalized_shape(spec.axis, context.input(0)).elements(),
            .groups = 1,
            .epsilon = static_cast<float>(spec.epsilon),
            .centered = centered};
  }
};

}  // namespace dptrain::backend
