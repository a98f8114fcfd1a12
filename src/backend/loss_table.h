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
DeviceRegistry<LossFactory>& loss_registry();
bool has_loss(DeviceKind kind, std::type_index spec);

using RegisteredLossOp = DeviceRegistration<loss_registry>;

}  // namespace dptrain::backend
