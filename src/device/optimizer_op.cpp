#include "device/optimizer_op.h"

#include <map>

#include "core/error.h"
#include "core/format.h"

namespace dptrain::device {
namespace {

using OptimizerKey = std::pair<DeviceKind, std::type_index>;

std::map<OptimizerKey, OptimizerOpFactory>& optimizer_op_table() {
  static std::map<OptimizerKey, OptimizerOpFactory> table;  // exists before the first registration
  return table;
}

}  // namespace

void register_optimizer_op(DeviceKind kind, std::type_index spec, OptimizerOpFactory factory) {
  optimizer_op_table()[OptimizerKey(kind, spec)] = std::move(factory);
}

bool has_optimizer_op(DeviceKind kind, std::type_index spec) {
  return optimizer_op_table().contains(OptimizerKey(kind, spec));
}

std::unique_ptr<OptimizerOp> make_optimizer_op(const UpdateContext& context, Device& device) {
  const auto found = optimizer_op_table().find(OptimizerKey(device.kind(), context.optimizer.type()));
  if (found == optimizer_op_table().end())
    throw Error(ErrorKind::kInternal, fmt::format("optimizer {}: device {} has no operation for it",
                                                  context.optimizer.name(), device.name()));
  return found->second(context, device);
}

}  // namespace dptrain::device
