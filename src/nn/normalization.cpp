#include "nn/normalization.h"

#include <algorithm>
#include <cmath>

#include "core/format.h"
#include "core/quantity.h"
#include "nn/layer.h"

namespace dptrain::nn {
namespace {

constexpr double kKerasEpsilon = 1e-7;  ///< keras.backend.epsilon()

Shape output(const NormalizationSpec& spec, std::span<const Shape> in) {
  if (in[0].rank() == 0 || (spec.axis != -1 && spec.axis != in[0].rank()))
    throw LayerError(fmt::format("axis {} is not supported: only the last axis is, -1 or {}", spec.axis, in[0].rank()));
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

const Registered kNormalization = layer<NormalizationSpec>("Normalization")
                                      .positional(key("axis", &NormalizationSpec::axis))
                                      .key(key("mean", &NormalizationSpec::mean))
                                      .key(key("variance", &NormalizationSpec::variance).at_least(0))
                                      .key(key("invert", &NormalizationSpec::invert))
                                      .inputs(1)
                                      .masks(MaskRule::kPasses)
                                      .output(output)
                                      .weights(weights);

/// As the layer computes with them.
void set_channel(ChannelAffine& all, std::size_t c, bool invert, double mean, double variance) {
  const double deviation = std::max(std::sqrt(variance), kKerasEpsilon);
  (invert ? all.offset : all.shift)[c] = static_cast<float>(mean);
  all.scale[c] = static_cast<float>(invert ? deviation : 1 / deviation);
}

}  // namespace

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

}  // namespace dptrain::nn
