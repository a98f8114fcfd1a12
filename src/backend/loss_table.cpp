#include "backend/loss_table.h"

#include "backend/device_table.h"
#include "core/error.h"
#include "core/format.h"

namespace dptrain::backend {
namespace {

DeviceTable<LossFactory>& loss_table() {
  static DeviceTable<LossFactory> table;
  return table;
}

}  // namespace

void register_loss(DeviceKind kind, std::type_index spec, LossFactory factory) {
  loss_table().add(kind, spec, std::move(factory));
}

bool has_loss(DeviceKind kind, std::type_index spec) { return loss_table().has(kind, spec); }

std::unique_ptr<LossOp> Device::make_loss(const LossContext& context) {
  const auto* found = loss_table().find(kind(), context.loss.loss.type());
  if (found == nullptr)
    throw Error(ErrorKind::kInternal, fmt::format("{}: device {} has no such loss", context.loss.loss.name(), name()));
  return (*found)(context, *this);
}

}  // namespace dptrain::backend
