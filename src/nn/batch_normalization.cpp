#include "nn/batch_normalization.h"

#include "core/format.h"
#include "nn/normalization_weights.h"

namespace dptrain::nn {
namespace {

Shape output(const BatchNormalizationSpec& spec, std::span<const Shape> in) {
  // Keras counts the batch as axis 0, so the last axis of a sample has the number of its rank.
  if (in[0].rank() == 0 || (spec.axis != -1 && spec.axis != in[0].rank()))
    throw LayerError(fmt::format("axis {} is not supported: only the last axis is, -1 or {}", spec.axis, in[0].rank()));
  return in[0];
}

std::vector<WeightDef> weights(const BatchNormalizationSpec& spec, std::span<const Shape> in) {
  const Shape channels{in[0].back()};
  std::vector<WeightDef> all = gamma_and_beta(spec, channels);
  all.push_back({.name = "moving_mean",
                 .shape = channels,
                 .initializer = spec.moving_mean_initializer,
                 .trainable = false,
                 .momentum = spec.momentum,
                 .constant = spec.inference_mode});
  all.push_back({.name = "moving_variance",
                 .shape = channels,
                 .initializer = spec.moving_variance_initializer,
                 .trainable = false,
                 .momentum = spec.momentum,
                 .constant = spec.inference_mode});
  return all;
}

const Registered kBatchNormalization =
    layer<BatchNormalizationSpec>("BatchNormalization")
        .positional(key("axis", &BatchNormalizationSpec::axis))
        .key(key("momentum", &BatchNormalizationSpec::momentum).at_least(0).at_most(1))
        .key(key("epsilon", &BatchNormalizationSpec::epsilon).above(0))
        .key(key("center", &BatchNormalizationSpec::center))
        .key(key("scale", &BatchNormalizationSpec::scale))
        .key(key("beta_initializer", &BatchNormalizationSpec::beta_initializer))
        .key(key("gamma_initializer", &BatchNormalizationSpec::gamma_initializer))
        .key(key("moving_mean_initializer", &BatchNormalizationSpec::moving_mean_initializer))
        .key(key("moving_variance_initializer", &BatchNormalizationSpec::moving_variance_initializer))
        .key(key("beta_regularizer", &BatchNormalizationSpec::beta_regularizer))
        .key(key("gamma_regularizer", &BatchNormalizationSpec::gamma_regularizer))
        .key(key("inference_mode", &BatchNormalizationSpec::inference_mode))
        .key(key("synchronized", &BatchNormalizationSpec::synchronized))
        .inputs(1)
        .masks(MaskRule::kHeeds)
        .output(output)
        .weights(weights)
        .backward_reads(BackwardReads{.input_to_train = true});

}  // namespace
}  // namespace dptrain::nn
