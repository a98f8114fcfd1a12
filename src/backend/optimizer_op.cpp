#include "backend/optimizer_op.h"

#include "backend/device_table.h"
#include "core/error.h"
#include "core/format.h"

namespace dptrain::backend {
namespace {

DeviceTable<OptimizerOpFactory>& optimizer_op_table() {
  static DeviceTable<OptimizerOpFactory> table;
  return table;
}

}  // namespace

void register_optimizer_op(DeviceKind kind, std::type_index spec, OptimizerOpFactory factory) {
  optimizer_op_table().add(kind, spec, std::move(factory));
}

bool has_optimizer_op(DeviceKind kind, std::type_index spec) { return optimizer_op_table().has(kind, spec); }

std::unique_ptr<OptimizerOp> make_optimizer_op(const UpdateContext& context, Device& device) {
  const auto* found = optimizer_op_table().find(device.kind(), context.optimizer.type());
  if (found == nullptr)
    throw Error(ErrorKind::kInternal, fmt::format("optimizer {}: device {} has no operation for it",
                                                  context.optimizer.name(), device.name()));
  return (*found)(context, device);
}

}  // namespace dptrain::backend
