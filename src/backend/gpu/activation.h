#pragma once

// Activations of the house on our kernels: as a layer of their own, and as the epilogue that a plan has fused into
// another op. Queued on the launch's stream.

#include <cstdint>

#include "backend/ops/backend.h"
#include "backend/tail.h"
#include "nn/activation.h"
#include "plan/tail.h"

namespace dptrain::backend::DPTRAIN_BACKEND {

/// y = f(x) over [positions, width] (softmax and log_softmax over width, else element by element); y == x allowed.
void activate(const kernel::Launch& at, DType type, nn::Activation f, const void* x, void* y, std::int64_t positions,
              std::int64_t width);

/// dx = dy f'(x): from the output y where nn::backward_from_output(f), else from the input x; the other may be
/// null. dx == dy allowed.
void activate_backward(const kernel::Launch& at, DType type, nn::Activation f, const void* x, const void* y,
                       const void* dy, void* dx, std::int64_t positions, std::int64_t width);

/// The activation in a step's tail (backend::takes_activation): applied to its output in place, undone in the output's
/// gradient in place.
class Epilogue {
 public:
  explicit Epilogue(const OpContext& context)
      : activation_(plan::tail_activation(context.step).activation),
        undone_(plan::tail_activation(context.step).undone),
        type_(context.plan.compute),
        width_(context.output().rank() > 0 ? context.output().back() : 1),
        elements_(context.output().elements()) {}

  bool is_relu() const noexcept { return activation_ == nn::Activation::kRelu; }
  /// Where the op has not applied the activation itself.
  void apply(const kernel::Launch& at, void* y, std::int64_t rows) const;
  /// Where the consumer's backward has not done it.
  void undo(const kernel::Launch& at, const void* y, void* dy, std::int64_t rows) const;
  /// backward still has to multiply by the derivative.
  bool to_undo() const noexcept { return activation_ != nn::Activation::kLinear && !undone_; }

 private:
  nn::Activation activation_;
  bool undone_;
  DType type_;
  std::int64_t width_, elements_;
};

}  // namespace dptrain::backend::DPTRAIN_BACKEND
