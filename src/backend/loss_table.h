#pragma once

// Table of losses by (device kind, spec type), filled before main by objects of type RegisteredLossOp: the counterpart
// of the ops' in device.h.

#include <functional>
#include <memory>
#include <typeindex>
#include <utility>

#include "backend/device.h"
#include "kernels/losses.h"

namespace dptrain::backend {

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

/// One sample as rows of a loss's kernel: each gives a number, or `inner` of them, whose elements lie in turns.
struct SampleRows {
  std::int64_t rows = 1, width = 1, inner = 1;
  std::int64_t parts() const { return rows * inner; }  ///< numbers per sample, whose mean is the sample's loss
};
inline SampleRows position_rows(const LossShape& shape) { return {.rows = shape.positions(), .width = shape.classes}; }
/// Of an element loss of kernels/losses/: one row, or, of those that are sums or masked, one per position.
template <class F>
SampleRows element_rows(const LossShape& shape) {
  const bool each = kernels::losses::kSumsElements<F> || shape.masked;
  return each ? position_rows(shape) : SampleRows{.width = shape.elements};
}

}  // namespace dptrain::backend
