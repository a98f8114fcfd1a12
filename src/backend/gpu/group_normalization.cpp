#include "nn/normalization.h"

#include "backend/gpu/group_norm_op.h"

namespace dptrain::backend::DPTRAIN_BACKEND {
namespace {

class GroupNormalizationOp final : public GroupNormOp {
 public:
  GroupNormalizationOp(const nn::GroupNormalizationSpec& spec, const OpContext& context, Device& device)
      : GroupNormOp({.spatial = context.input(0).elements() / context.input(0).back(),
                     .channels = context.input(0).back(),
                     .groups = nn::group_count(spec, context.input(0)),
                     .epsilon = static_cast<float>(spec.epsilon)},
                    1, spec.scale, spec.center, context, device) {}
};

const RegisteredOp kGroupNormalization = op<nn::GroupNormalizationSpec, GroupNormalizationOp>(kKind);

}  // namespace
}  // namespace dptrain::backend::DPTRAIN_BACKEND
