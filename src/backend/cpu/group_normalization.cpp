#include "nn/normalization.h"

#include "backend/cpu/group_norm_op.h"

namespace dptrain::backend::cpu {
namespace {

class GroupNormalizationOp final : public GroupNormOp {
 public:
  GroupNormalizationOp(const nn::GroupNormalizationSpec& spec, const OpContext& context, Device&)
      : GroupNormOp({.spatial = context.input(0).elements() / context.input(0).back(),
                     .channels = context.input(0).back(),
                     .groups = nn::group_count(spec, context.input(0)),
                     .epsilon = static_cast<float>(spec.epsilon)},
                    1, spec.scale, spec.center, context) {}
};

const RegisteredOp kCpuGroupNormalization = op<nn::GroupNormalizationSpec, GroupNormalizationOp>(DeviceKind::kCpu);

}  // namespace
}  // namespace dptrain::backend::cpu
