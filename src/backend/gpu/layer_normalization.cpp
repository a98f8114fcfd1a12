#include "nn/normalization.h"

#include "backend/gpu/group_norm_op.h"

namespace dptrain::backend::DPTRAIN_BACKEND {
namespace {

/// One group of the axes that are normalised; whatever is before them are rows.
class LayerNormalizationOp final : public GroupNormOp {
 public:
  LayerNormalizationOp(const nn::LayerNormalizationSpec& spec, const OpContext& context, Device& device)
      : GroupNormOp({.spatial = 1,
                     .channels = nn::normalized_shape(spec, context.input(0)).elements(),
                     .groups = 1,
                     .epsilon = static_cast<float>(spec.epsilon)},
                    context.input(0).elements() / nn::normalized_shape(spec, context.input(0)).elements(), spec.scale,
                    spec.center, context, device) {}
};

const RegisteredOp kLayerNormalization = op<nn::LayerNormalizationSpec, LayerNormalizationOp>(kKind);

}  // namespace
}  // namespace dptrain::backend::DPTRAIN_BACKEND
