#include "backend/loss_table.h"

#include "core/error.h"
#include "core/format.h"

namespace dptrain::backend {

DeviceRegistry<LossFactory>& loss_registry() {
  static DeviceRegistry<LossFactory> registry;
  return registry;
}

bool has_loss(DeviceKind kind, std::type_index spec) { return loss_registry().has({kind, spec}); }

std::unique_ptr<LossOp> Device::make_loss(const LossContext& context) {
  const auto* found = loss_registry().find({kind(), context.loss.loss.type()});
  if (found == nullptr)
    throw Error(ErrorKind::kInternal, fmt::format("{}: device {} has no such loss", context.loss.loss.name(), name()));
  return (*found)(context, *this);
}

}  // namespace dptrain::backend
