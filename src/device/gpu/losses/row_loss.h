#pragma once

// RowLoss: one loss in the words of the GPU's kernels. GpuLossOp (loss_op.cpp) does what all losses have in common:
// weights and sums. A loss's file makes one of the passes below, or a RowLoss of its own. Immutable; called from the
// replica's thread.

#include <memory>

#include "device/gpu/gpu_device.h"
#include "device/loss_table.h"
#include "kernels/cuda/loss.h"
#include "kernels/losses/element_loss.h"

namespace dptrain::device::DPTRAIN_GPU {

class RowLoss {
 public:
  virtual ~RowLoss() = default;
  virtual std::int64_t parts() const = 0;            ///< numbers per sample, whose mean is the sample's loss
  virtual bool knows_hits() const { return false; }  ///< as LossOp::knows_hits
  /// `a` has samples for rows, and all of a sample for its width; writes `parts` numbers and the gradient.
  virtual void run(const kernel::Launch& at, kernel::LossRows a) const = 0;
};

std::unique_ptr<LossOp> make_loss_op(const LossContext& context, GpuDevice& device, std::unique_ptr<RowLoss> loss);

/// `const RegisteredLossOp kGpuHuber = gpu_loss<optim::HuberSpec>([](const auto& spec, const LossContext& c) {...});`
template <class Spec>
RegisteredLossOp gpu_loss(std::unique_ptr<RowLoss> (*make)(const Spec&, const LossContext&)) {
  return {kKind, typeid(Spec), [make](const LossContext& context, Device& device) {
            return make_loss_op(context, static_cast<GpuDevice&>(device), make(context.loss.loss.as<Spec>(), context));
          }};
}

/// The element losses of kernels/losses/: a number per sample, or, of those that are sums or masked, one per position.
template <class F>
class ElementRowLoss final : public RowLoss {
 public:
  ElementRowLoss(LossShape shape, F f)
      : parts_(kernels::losses::kSumsElements<F> || shape.masked ? shape.positions() : 1),
        width_(shape.elements / parts_),
        f_(f) {}
  std::int64_t parts() const override { return parts_; }
  void run(const kernel::Launch& at, kernel::LossRows a) const override {
    a.rows *= parts_, a.width = width_;
    kernel::element_loss(at, a, f_);
  }

 private:
  std::int64_t parts_, width_;
  F f_;
};
template <class F>
std::unique_ptr<RowLoss> of_elements(const LossContext& context, F f) {
  return std::make_unique<ElementRowLoss<F>>(loss_shape(context), f);
}

/// The losses of three sums: a number for each of outer * inner.
template <class F>
class SumsRowLoss final : public RowLoss {
 public:
  SumsRowLoss(std::int64_t outer, std::int64_t length, std::int64_t inner, F f)
      : outer_(outer), length_(length), inner_(inner), f_(f) {}
  std::int64_t parts() const override { return outer_ * inner_; }
  void run(const kernel::Launch& at, kernel::LossRows a) const override {
    a.rows *= outer_, a.width = length_;
    kernel::sums_loss(at, a, inner_, f_);
  }

 private:
  std::int64_t outer_, length_, inner_;
  F f_;
};

}  // namespace dptrain::device::DPTRAIN_GPU
