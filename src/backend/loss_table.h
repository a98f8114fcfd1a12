#pragma once

// Table of losses by (device kind, spec type), filled before main by objects of type RegisteredLossOp: the counterpart
// of the ops' in device.h.

#include <functional>
#include <memory>
#include <typeindex>
#include <utility>

#include "backend/device.h"

namespace dptrain::backend {

using LossFactory = std::function<std::unique_ptr<LossOp>(const LossContext&, Device&)>;
void register_loss(DeviceKind kind, std::type_index spec, LossFactory factory);
bool has_loss(DeviceKind kind, std::type_index spec);

struct RegisteredLossOp {
  RegisteredLossOp(DeviceKind kind, std::type_index spec, LossFactory factory) {
    register_loss(kind, spec, std::move(factory));
  }
};

}  // namespace dptrain::backend
