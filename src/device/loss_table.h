#pragma once

// Table of losses by (device kind, spec type), filled before main by objects of type RegisteredLossOp: the counterpart
// of the ops' in device.h.

#include <functional>
#include <memory>
#include <typeindex>
#include <utility>

#include "device/device.h"

namespace dptrain::device {

using LossFactory = std::function<std::unique_ptr<LossOp>(const LossContext&, Device&)>;
void register_loss(DeviceKind kind, std::type_index spec, LossFactory factory);
bool has_loss(DeviceKind kind, std::type_index spec);

struct RegisteredLossOp {
  RegisteredLossOp(DeviceKind kind, std::type_index spec, LossFactory factory) {
    register_loss(kind, spec, std::move(factory));
  }
};

/// How one sample of the predictions lies in memory.
struct LossShape {
  std::int64_t elements = 1, classes = 1;  ///< classes: the last axis
  bool masked = false;                     ///< each position needs a number of its own
  std::int64_t positions() const { return elements / classes; }
};
LossShape loss_shape(const LossContext& context);

}  // namespace dptrain::device
