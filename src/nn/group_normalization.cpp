#include "nn/group_normalization.h"

#include "core/format.h"
#include "nn/normalization_weights.h"

namespace dptrain::nn {
namespace {

Shape output(const GroupNormalizationSpec& spec, std::span<const Shape> in) {
  // Keras counts the batch as axis 0, so the last axis of a sample has the number of its rank.
  if (in[0].rank() == 0 || (spec.axis != -1 && spec.axis != in[0].rank()))
    throw LayerError(fmt::format("axis {} is not supported: only the last axis is, -1 or {}", spec.axis, in[0].rank()));
  if (in[0].back() % group_count(spec, in[0]) != 0)
    throw LayerError(fmt::format("groups {} do not divide the input's {} channels", spec.groups, in[0].back()));
  return in[0];
}

const Registered kGroupNormalization =
    add_gamma_and_beta(
        layer<GroupNormalizationSpec>("GroupNormalization")
            .positional(key("groups", &GroupNormalizationSpec::groups).at_least(-1).check([](std::int64_t groups) {
              return groups == 0 ? std::string("must be -1 (as many as channels) or >= 1, found 0") : Bounded{}(groups);
            }))
            .key(key("axis", &GroupNormalizationSpec::axis))
            .key(key("epsilon", &GroupNormalizationSpec::epsilon).above(0)))
        .inputs(1)
        .masks(MaskRule::kPasses)
        .output(output)
        .weights([](const GroupNormalizationSpec& spec, std::span<const Shape> in) {
          return gamma_and_beta(spec, {in[0].back()});
        })
        .backward_reads(BackwardReads{.input = true});

}  // namespace
}  // namespace dptrain::nn
