#include "nn/normalization.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "core/format.h"
#include "core/quantity.h"
#include "core/text.h"
#include "nn/geometry.h"
#include "nn/layer.h"
#include "nn/merging.h"

namespace dptrain::nn {
namespace {

/// Adds the keys of gamma and beta, in Keras's order.
template <class Spec>
LayerBuilder<Spec>&& add_gamma_and_beta(LayerBuilder<Spec>&& builder) {
  builder.key(key("center", &Spec::center).doc("whether to add a trained offset, beta"))
      .key(key("scale", &Spec::scale).doc("whether to multiply by a trained factor, gamma"))
      .key(key("beta_initializer", &Spec::beta_initializer).doc("initializer of the offset beta"))
      .key(key("gamma_initializer", &Spec::gamma_initializer).doc("initializer of the factor gamma"));
  if constexpr (requires { &Spec::moving_mean_initializer; })
    builder.key(key("moving_mean_initializer", &Spec::moving_mean_initializer).doc("initializer of the moving mean"))
        .key(key("moving_variance_initializer", &Spec::moving_variance_initializer)
                 .doc("initializer of the moving variance"));
  return builder
      .key(key("beta_regularizer", &Spec::beta_regularizer).doc("penalty on the offset beta, added to the loss"))
      .key(key("gamma_regularizer", &Spec::gamma_regularizer).doc("penalty on the factor gamma, added to the loss"));
}

template <class Spec>
std::vector<WeightDef> gamma_and_beta(const Spec& spec, const Shape& shape) {
  std::vector<WeightDef> all;
  if (spec.scale)
    all.push_back({.name = "gamma",
                   .shape = shape,
                   .initializer = spec.gamma_initializer,
                   .regularizer = spec.gamma_regularizer});
  if (spec.center)
    all.push_back(
        {.name = "beta", .shape = shape, .initializer = spec.beta_initializer, .regularizer = spec.beta_regularizer});
  return all;
}

std::vector<WeightDef> weights(const BatchNormalizationSpec& spec, std::span<const Shape> in) {
  const Shape channels{in[0].back()};
  std::vector<WeightDef> all = gamma_and_beta(spec, channels);
  for (const auto& [name, initializer] : {std::pair("moving_mean", &spec.moving_mean_initializer),
                                          std::pair("moving_variance", &spec.moving_variance_initializer)})
    all.push_back({.name = name,
                   .shape = channels,
                   .initializer = *initializer,
                   .trainable = false,
                   .momentum = spec.momentum,
                   .constant = spec.inference_mode});
  return all;
}

const Registered kBatchNormalization =
    add_gamma_and_beta(
        layer<BatchNormalizationSpec>("BatchNormalization")
            .doc("[..., C] -> same; normalizes each channel, in training with the moments of the batch, else with "
                 "moving statistics")
            .positional(key("axis", &BatchNormalizationSpec::axis).doc("only the last axis, the channels: -1"))
            .key(key("momentum", &BatchNormalizationSpec::momentum)
                     .between(0, 1)
                     .doc("share of the old moving statistics that each step keeps"))
            .key(
                key("epsilon", &BatchNormalizationSpec::epsilon).above(0).doc("added to the variance before the root")))
        .key(key("inference_mode", &BatchNormalizationSpec::inference_mode)
                 .doc("whether to use the moving statistics in training as well, without updating them, as Keras's "
                      "training=False"))
        .key(key("synchronized", &BatchNormalizationSpec::synchronized)
                 .doc("whether to compute moments over the batches of all replicas"))
        .inputs(1)
        .masks(MaskRule::kUnsupported)
        .output([](const BatchNormalizationSpec& spec, std::span<const Shape> in) {
          require_last_axis(spec.axis, in[0]);
          return in[0];
        })
        .weights(weights)
        .backward_reads(BackwardReads{.input_to_train = true})
        .example("", {{7, 6, 4}})
        .example("", {{7, 6, 5}});

Shape output(const GroupNormalizationSpec& spec, std::span<const Shape> in) {
  require_last_axis(spec.axis, in[0]);
  if (in[0].back() % group_count(spec, in[0]) != 0)
    throw LayerError(fmt::format("groups {} do not divide the input's {} channels", spec.groups, in[0].back()));
  return in[0];
}

const Registered kGroupNormalization =
    add_gamma_and_beta(
        layer<GroupNormalizationSpec>("GroupNormalization")
            .doc("[..., C] -> same; normalizes each sample over all positions and a group of channels")
            .positional(key("groups", &GroupNormalizationSpec::groups)
                            .at_least(-1)
                            .check([](std::int64_t groups) {
                              return groups == 0 ? std::string("must be -1 (as many as channels) or >= 1, found 0")
                                                 : ExtentCheck{}(groups);
                            })
                            .doc("groups of channels that are normalized together; -1: one for each channel"))
            .key(key("axis", &GroupNormalizationSpec::axis).doc("only the last axis, the channels: -1"))
            .key(
                key("epsilon", &GroupNormalizationSpec::epsilon).above(0).doc("added to the variance before the root")))
        .inputs(1)
        .masks(MaskRule::kPasses)
        .output(output)
        .weights([](const GroupNormalizationSpec& spec, std::span<const Shape> in) {
          return gamma_and_beta(spec, {in[0].back()});
        })
        .backward_reads(BackwardReads{.input = true})
        .example("groups: 2", {{7, 6, 4}})
        .example("groups: 5", {{7, 6, 5}});

const Registered kLayerNormalization =
    add_gamma_and_beta(
        layer<LayerNormalizationSpec>("LayerNormalization")
            .doc("[..., C] -> same; normalizes over the last axis or the last axes")
            .positional(key("axis", &LayerNormalizationSpec::axis).doc("-1, or a list of the last axes"))
            .key(
                key("epsilon", &LayerNormalizationSpec::epsilon).above(0).doc("added to the variance before the root")))
        .inputs(1)
        .masks(MaskRule::kPasses)
        .output([](const LayerNormalizationSpec& spec, std::span<const Shape> in) {
          normalized_shape(spec.axis, in[0]);
          return in[0];
        })
        .weights([](const LayerNormalizationSpec& spec, std::span<const Shape> in) {
          return gamma_and_beta(spec, normalized_shape(spec.axis, in[0]));
        })
        .backward_reads(BackwardReads{.input = true})
        .example("", {{7, 6, 4}})
        .example("", {{7, 6, 5}});

const Registered kRMSNormalization =
    layer<RMSNormalizationSpec>("RMSNormalization")
        .doc(
            "[..., C] -> same; divides by the root mean square over the last axis or the last axes, and multiplies by "
            "a trained factor")
        .positional(key("axis", &RMSNormalizationSpec::axis).doc("-1, or a list of the last axes"))
        .key(key("epsilon", &RMSNormalizationSpec::epsilon).above(0).doc("added to the mean square before the root"))
        .inputs(1)
        .output([](const RMSNormalizationSpec& spec, std::span<const Shape> in) {
          normalized_shape(spec.axis, in[0]);
          return in[0];
        })
        .weights([](const RMSNormalizationSpec& spec, std::span<const Shape> in) {
          return std::vector<WeightDef>{
              {.name = "scale", .shape = normalized_shape(spec.axis, in[0]), .initializer = Initializer{Ones{}}}};
        })
        .backward_reads(BackwardReads{.input = true})
        .example("", {{7, 6, 4}})
        .example("", {{7, 6, 5}});

const Registered kLocalResponseNormalization =
    layer<LocalResponseNormalizationSpec>("LocalResponseNormalization")
        .doc("[H, W, C] -> same; `x / (bias + alpha * s)^beta`, where s is the sum of the squares of adjacent channels")
        .positional(extent_key("depth_radius", &LocalResponseNormalizationSpec::depth_radius)
                        .at_least(0)
                        .doc("channels before and after that count in the sum"))
        .key(key("bias", &LocalResponseNormalizationSpec::bias).above(0).doc("added to the sum of squares"))
        .key(key("alpha", &LocalResponseNormalizationSpec::alpha).at_least(0).doc("factor of the sum of squares"))
        .key(key("beta", &LocalResponseNormalizationSpec::beta).doc("exponent of the divisor"))
        .inputs(1)
        .of_rank(3)
        .same_shape()
        .backward_reads(BackwardReads{.input = true})
        .example("", {{7, 6, 4}})
        .example("beta: 0.5", {{7, 6, 5}});

const Registered kCustomScaleLayer =
    layer<CustomScaleLayerSpec>("CustomScaleLayer")
        .doc("two inputs of one shape -> first + `scale` * second")
        .positional(key("scale", &CustomScaleLayerSpec::scale).required().doc("factor of the second input"))
        .inputs(2)
        .output([](const CustomScaleLayerSpec&, std::span<const Shape> in) {
          if (in[0] != in[1]) throw LayerError(inputs_differ(in));
          return in[0];
        })
        .example("scale: 0.3", {{7, 6, 4}, {7, 6, 4}});

Shape output(const LayerScaleSpec& spec, std::span<const Shape> in) {
  if (in[0].rank() == 0 || in[0].back() != spec.projection_dim)
    throw LayerError(fmt::format("projection_dim is {}, expected the extent of the last axis of {{0}}, which is {}",
                                 spec.projection_dim, in[0].str()));
  return in[0];
}

const Registered kLayerScale =
    layer<LayerScaleSpec>("LayerScale")
        .doc("[..., C] -> same; multiplies by one trained factor per channel")
        .positional(key("init_values", &LayerScaleSpec::init_values).required().doc("initial value of the factors"))
        .key(key("projection_dim", &LayerScaleSpec::projection_dim)
                 .required()
                 .at_least(1)
                 .doc("number of channels of the input"))
        .inputs(1)
        .output(output)
        .weights([](const LayerScaleSpec& spec, std::span<const Shape>) {
          return std::vector<WeightDef>{{.name = "gamma",
                                         .shape = {spec.projection_dim},
                                         .initializer = Initializer{Constant{spec.init_values}}}};
        })
        .backward_reads(BackwardReads{.input_to_train = true})
        .example("init_values: 0.5, projection_dim: 4", {{7, 6, 4}});

constexpr double kKerasEpsilon = 1e-7;  ///< keras.backend.epsilon()

Shape output(const NormalizationSpec& spec, std::span<const Shape> in) {
  require_last_axis(spec.axis, in[0]);
  const std::size_t values = spec.mean.size();
  if (values == 0 && spec.variance.empty()) return in[0];
  if (values != spec.variance.size())
    throw LayerError(fmt::format("mean has {} and variance {}, expected the same number", counted(values, "value"),
                                 spec.variance.size()));
  if (values != 1 && static_cast<std::int64_t>(values) != in[0].back())
    throw LayerError(fmt::format("mean and variance have {}, expected 1 or the {} of the last axis of {{0}}",
                                 counted(values, "value"), in[0].back()));
  return in[0];
}

std::vector<WeightDef> weights(const NormalizationSpec& spec, std::span<const Shape> in) {
  if (!moments_are_weights(spec)) return {};
  const auto constant = [](const char* name, Shape shape, Initializer initializer) {
    return WeightDef{.name = name,
                     .shape = std::move(shape),
                     .initializer = std::move(initializer),
                     .trainable = false,
                     .constant = true};
  };
  const Shape channels{in[0].back()};
  return {constant("mean", channels, Initializer{Zeros{}}), constant("variance", channels, Initializer{Ones{}}),
          constant("count", {}, Initializer{Zeros{}})};
}

const Registered kNormalization =
    layer<NormalizationSpec>("Normalization")
        .doc("[..., C] -> same; `(x - mean) / sqrt(variance)` with fixed moments; there is no adapt()")
        .positional(key("axis", &NormalizationSpec::axis).doc("only the last axis, -1"))
        .key(key("mean", &NormalizationSpec::mean)
                 .doc("mean, one value or one for each channel; default: weights that a file fills"))
        .key(key("variance", &NormalizationSpec::variance)
                 .at_least(0)
                 .doc("variance, as many values as `mean`; default: weights that a file fills"))
        .key(key("invert", &NormalizationSpec::invert).doc("whether to go back from normalized values"))
        .inputs(1)
        .masks(MaskRule::kPasses)
        .output(output)
        .weights(weights)
        .example("mean: [0, 0.1, 0.2, 0.3], variance: [1, 2, 3, 4]", {{7, 6, 4}})
        .example("axis: -1", {{7, 6, 4}})
        .example("mean: 0.1, variance: 2, invert: true", {{7, 6, 5}});

/// Sets the affine function that applies the moments of channel c.
void set_channel(ChannelAffine& all, std::size_t c, bool invert, double mean, double variance) {
  const double deviation = std::max(std::sqrt(variance), kKerasEpsilon);
  (invert ? all.offset : all.shift)[c] = static_cast<float>(mean);
  all.scale[c] = static_cast<float>(invert ? deviation : 1 / deviation);
}

Shape output(const RescalingSpec& spec, std::span<const Shape> in) {
  for (const auto& [name, channels] : {std::pair("scale", &spec.scale), std::pair("offset", &spec.offset)}) {
    const auto count = static_cast<std::int64_t>(channels->values.size());
    if (count != 1 && (in[0].rank() == 0 || count != in[0].back()))
      throw LayerError(fmt::format("{} has {} values, expected 1 or as many as the last axis of {{0}}, which is {}",
                                   name, count, in[0].str()));
  }
  return in[0];
}

std::string no_values_error(const ChannelValues& channels) {
  return channels.values.empty() ? "must not be empty" : "";
}

const Registered kRescaling = layer<RescalingSpec>("Rescaling")
                                  .doc("[..., C] -> same; `x * scale + offset`")
                                  .positional(key("scale", &RescalingSpec::scale)
                                                  .required()
                                                  .check(no_values_error)
                                                  .doc("factor, one value or one for each channel"))
                                  .key(key("offset", &RescalingSpec::offset)
                                           .check(no_values_error)
                                           .doc("added after the scaling, one value or one for each channel"))
                                  .inputs(1)
                                  .masks(MaskRule::kPasses)
                                  .output(output)
                                  .example("scale: 0.5, offset: 0.1", {{7, 6, 4}})
                                  .example("scale: [0.5, 1, 2, -1], offset: 0.1", {{7, 6, 4}});

}  // namespace

Shape normalized_shape(const std::vector<std::int64_t>& axis, const Shape& in) {
  std::vector<std::int64_t> axes = axis;
  for (std::int64_t& place : axes)
    if (place < 0) place += in.rank() + 1;
  std::ranges::sort(axes);
  const std::int64_t first = in.rank() + 1 - static_cast<std::int64_t>(axes.size());
  bool last_ones = !axes.empty() && first >= 1;
  for (std::size_t i = 0; last_ones && i < axes.size(); ++i)
    last_ones = axes[i] == first + static_cast<std::int64_t>(i);
  if (!last_ones) {
    std::vector<std::string> named;
    for (const std::int64_t place : axis) named.push_back(std::to_string(place));
    throw LayerError(fmt::format("axis [{}] is not supported: only the last axis is (-1 or {}), or the last few",
                                 join(named, ", "), in.rank()));
  }
  const std::vector<std::int64_t> dims = in.dims();
  return Shape(std::vector<std::int64_t>(dims.begin() + (first - 1), dims.end()));
}

ChannelAffine channel_affine(const NormalizationSpec& spec, const Shape& in) {
  ChannelAffine all(static_cast<std::size_t>(in.back()));
  for (std::size_t c = 0; c < all.scale.size(); ++c) {
    const std::size_t i = spec.mean.size() == 1 ? 0 : c;
    set_channel(all, c, spec.invert, spec.mean[i], spec.variance[i]);
  }
  return all;
}

ChannelAffine channel_affine(const NormalizationSpec& spec, std::span<const float> mean,
                             std::span<const float> variance) {
  ChannelAffine all(mean.size());
  for (std::size_t c = 0; c < all.scale.size(); ++c)
    set_channel(all, c, spec.invert, static_cast<double>(mean[c]), static_cast<double>(variance[c]));
  return all;
}

bool is_plain(const RescalingSpec& spec) { return spec.scale.values.size() == 1 && spec.offset.values.size() == 1; }

ChannelAffine channel_affine(const RescalingSpec& spec, const Shape& in) {
  ChannelAffine all(static_cast<std::size_t>(in.back()));
  for (std::size_t c = 0; c < all.scale.size(); ++c) {
    all.scale[c] = static_cast<float>(spec.scale.of(c));
    all.offset[c] = static_cast<float>(spec.offset.of(c));
  }
  return all;
}

}  // namespace dptrain::nn
