#include "layers/normalization.h"

#include <algorithm>
#include <cmath>

#include "core/format.h"
#include "core/index.h"
#include "layers/layer.h"

namespace dptrain::layers {
namespace {

constexpr double kKerasEpsilon = 1e-7;  ///< keras.backend.epsilon()

Shape output(const NormalizationSpec& spec, std::span<const Shape> in) {
  if (in[0].rank() == 0 || (spec.axis != -1 && spec.axis != in[0].rank()))
    throw LayerError(fmt::format("axis {} is not supported: only the last axis is, -1 or {}", spec.axis, in[0].rank()));
  const std::size_t values = spec.mean.size();
  if (values != spec.variance.size())
    throw LayerError(fmt::format("mean has {} values and variance {}: expected as many", values, spec.variance.size()));
  if (values != 1 && static_cast<std::int64_t>(values) != in[0].back())
    throw LayerError(fmt::format("mean and variance have {} values, expected 1 or the {} of the last axis of {{0}}",
                                 values, in[0].back()));
  return in[0];
}

std::string empty_complaint(const std::vector<double>& values) { return values.empty() ? "must not be empty" : ""; }

const Registered kNormalization =
    layer<NormalizationSpec>("Normalization")
        .positional(key("axis", &NormalizationSpec::axis))
        .key(key("mean", &NormalizationSpec::mean).required().check(empty_complaint))
        .key(key("variance", &NormalizationSpec::variance).required().at_least(0).check(empty_complaint))
        .key(key("invert", &NormalizationSpec::invert))
        .inputs(1)
        .masks(MaskRule::kPasses)
        .output(output);

}  // namespace

ChannelAffine channel_affine(const NormalizationSpec& spec, const Shape& in) {
  const auto channels = static_cast<std::size_t>(in.back());
  ChannelAffine all{.shift = std::vector<float>(channels),
                    .scale = std::vector<float>(channels),
                    .offset = std::vector<float>(channels)};
  for (std::size_t c = 0; c < channels; ++c) {
    const std::size_t i = spec.mean.size() == 1 ? 0 : c;
    const double deviation = std::max(std::sqrt(spec.variance[i]), kKerasEpsilon);
    (spec.invert ? all.offset : all.shift)[c] = static_cast<float>(spec.mean[i]);
    all.scale[c] = static_cast<float>(spec.invert ? deviation : 1 / deviation);
  }
  return all;
}

}  // namespace dptrain::layers
