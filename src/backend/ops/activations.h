#pragma once

// Activations: as a layer, and as the epilogue that a plan has fused into another op. Replica's thread.

#include <cstdint>

#include "backend/device.h"
#include "backend/ops/backend.h"
#include "nn/activations.h"
#include "plan/tail.h"

namespace dptrain::backend::DPTRAIN_BACKEND {

/// y = f(x) over [positions, width] (softmax and log_softmax over width, else element by element); y == x allowed.
void activate(const kernel::Launch& at, DType type, nn::Activation f, const Element* x, Element* y,
              std::int64_t positions, std::int64_t width);

/// dx = dy f'(x): from the output y where nn::backward_from_output(f), else from the input x; the other may be
/// null. dx == dy allowed.
void activate_backward(const kernel::Launch& at, DType type, nn::Activation f, const Element* x, const Element* y,
                       const Element* dy, Element* dx, std::int64_t positions, std::int64_t width);

/// The innermost extent of a sample, over which softmax is computed; 1 for a scalar.
inline std::int64_t width_of(const Shape& shape) { return shape.rank() > 0 ? shape.back() : 1; }

/// The activation in a step's tail (backend::fuses_activation): applied to its output in place, undone in the output's
/// gradient in place.
class Epilogue {
 public:
  explicit Epilogue(const OpContext& context)
      : activation_(plan::tail_activation(context.step).activation),
        undone_(plan::tail_activation(context.step).undone),
        type_(context.plan.compute),
        width_(width_of(context.output())),
        elements_(context.output().elements()) {}

  bool is_relu() const noexcept { return activation_ == nn::Activation::kRelu; }
  /// Applies the activation, for ops that have not applied it themselves.
  void apply(const kernel::Launch& at, Element* y, std::int64_t rows) const;
  /// Whether apply() changes the output of an op. relu_applied: the op has applied a ReLU epilogue itself.
  bool changes_output(bool relu_applied) const noexcept {
    return activation_ != nn::Activation::kLinear && !(relu_applied && is_relu());
  }
  /// Multiplies dy by the derivative, unless the consumer's backward has done so.
  void undo(const kernel::Launch& at, const Element* y, Element* dy, std::int64_t rows) const;
  /// Whether undo() changes dy.
  bool changes_gradient() const noexcept { return activation_ != nn::Activation::kLinear && !undone_; }

 private:
  nn::Activation activation_;
  bool undone_;
  DType type_;
  std::int64_t width_, elements_;
};

}  // namespace dptrain::backend::DPTRAIN_BACKEND
