#include "device/loss_table.h"

#include <map>

#include "core/error.h"
#include "core/format.h"

namespace dptrain::device {
namespace {

using LossKey = std::pair<DeviceKind, std::type_index>;

std::map<LossKey, LossFactory>& loss_table() {
  static std::map<LossKey, LossFactory> table;  // a function's own, so that it exists before the first registration
  return table;
}

}  // namespace

void register_loss(DeviceKind kind, std::type_index spec, LossFactory factory) {
  loss_table()[LossKey(kind, spec)] = std::move(factory);
}

bool has_loss(DeviceKind kind, std::type_index spec) { return loss_table().contains(LossKey(kind, spec)); }

LossShape loss_shape(const LossContext& context) {
  const Shape& shape = context.prediction();
  return {.elements = shape.elements(), .classes = shape.rank() > 0 ? shape.back() : 1};
}

std::unique_ptr<LossOp> Device::make_loss(const LossContext& context) {
  const auto found = loss_table().find(LossKey(kind(), context.loss.loss.type()));
  if (found == loss_table().end())
    throw Error(ErrorKind::kInternal, fmt::format("{}: device {} has no such loss", context.loss.loss.name(), name()));
  return found->second(context, *this);
}

}  // namespace dptrain::device
