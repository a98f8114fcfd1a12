#include "nn/layer_normalization.h"

#include <algorithm>

#include "core/format.h"
#include "core/text.h"
#include "nn/normalization_weights.h"

namespace dptrain::nn {
namespace {

const Registered kLayerNormalization =
    add_gamma_and_beta(layer<LayerNormalizationSpec>("LayerNormalization")
                           .positional(key("axis", &LayerNormalizationSpec::axis))
                           .key(key("epsilon", &LayerNormalizationSpec::epsilon).above(0)))
        .inputs(1)
        .masks(MaskRule::kPasses)
        .output([](const LayerNormalizationSpec& spec, std::span<const Shape> in) {
          normalized_shape(spec, in[0]);
          return in[0];
        })
        .weights([](const LayerNormalizationSpec& spec, std::span<const Shape> in) {
          return gamma_and_beta(spec, normalized_shape(spec, in[0]));
        })
        .backward_reads(BackwardReads{.input = true});

}  // namespace

Shape normalized_shape(const LayerNormalizationSpec& spec, const Shape& in) {
  std::vector<std::int64_t> axes = spec.axis;
  for (std::int64_t& axis : axes)
    if (axis < 0) axis += in.rank() + 1;
  std::ranges::sort(axes);
  const std::int64_t first = in.rank() + 1 - static_cast<std::int64_t>(axes.size());
  bool last_ones = !axes.empty() && first >= 1;
  for (std::size_t i = 0; last_ones && i < axes.size(); ++i)
    last_ones = axes[i] == first + static_cast<std::int64_t>(i);
  if (!last_ones) {
    std::vector<std::string> named;
    for (const std::int64_t axis : spec.axis) named.push_back(std::to_string(axis));
    throw LayerError(fmt::format("axis [{}] is not supported: only the last axis is (-1 or {}), or the last few",
                                 join(named, ", "), in.rank()));
  }
  const std::vector<std::int64_t> dims = in.dims();
  return Shape(std::vector<std::int64_t>(dims.begin() + (first - 1), dims.end()));
}

}  // namespace dptrain::nn
