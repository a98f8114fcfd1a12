#include "backend/optimizer_op.h"

#include "core/error.h"
#include "core/format.h"

namespace dptrain::backend {

DeviceRegistry<OptimizerOpFactory>& optimizer_op_registry() {
  static DeviceRegistry<OptimizerOpFactory> registry;
  return registry;
}

bool has_optimizer_op(DeviceKind kind, std::type_index spec) { return optimizer_op_registry().has({kind, spec}); }

std::unique_ptr<OptimizerOp> make_optimizer_op(const UpdateContext& context, Device& device) {
  const auto* found = optimizer_op_registry().find({device.kind(), context.optimizer.type()});
  if (found == nullptr)
    throw Error(ErrorKind::kInternal, fmt::format("optimizer {}: device {} has no operation for it",
                                                  context.optimizer.name(), device.name()));
  return (*found)(context, device);
}

}  // namespace dptrain::backend
