#include "nn/normalization.h"

#include "backend/cpu/group_norm_op.h"

namespace dptrain::backend::cpu {
namespace {

/// One group of the axes that are normalised; whatever is before them are rows.
class LayerNormalizationOp final : public GroupNormOp {
 public:
  LayerNormalizationOp(const nn::LayerNormalizationSpec& spec, const OpContext& context, Device&)
      : GroupNormOp({.spatial = 1,
                     .channels = nn::normalized_shape(spec, context.input(0)).elements(),
                     .groups = 1,
                     .epsilon = static_cast<float>(spec.epsilon)},
                    context.input(0).elements() / nn::normalized_shape(spec, context.input(0)).elements(), spec.scale,
                    spec.center, context) {}
};

const RegisteredOp kCpuLayerNormalization = op<nn::LayerNormalizationSpec, LayerNormalizationOp>(DeviceKind::kCpu);

}  // namespace
}  // namespace dptrain::backend::cpu
