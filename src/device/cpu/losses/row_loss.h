#pragma once

// RowLoss: one loss in the words of the CPU's kernels. CpuLossOp (loss_op.cpp) does what all losses have in common:
// labels, weights, sums. A loss's file makes one of the passes below, or a RowLoss of its own. Immutable; called from
// the replica's thread.

#include <memory>

#include "device/loss_table.h"
#include "kernels/cpu/loss.h"

namespace dptrain::device::cpu {

/// What one call computes.
struct LossCall {
  std::int64_t samples = 0;
  const float* predictions = nullptr;    ///< [samples, elements]
  kernels::cpu::ClassTargets targets{};  ///< `labels` only for a loss that takes_classes
  float* values = nullptr;               ///< [samples, parts]
  float* gradient = nullptr;             ///< may be the predictions' memory; null: not wanted
  float gradient_scale = 1;              ///< of a number in `values`
  std::uint8_t* hits = nullptr;          ///< [samples, positions]; only of a loss that knows_hits, else null
};

class RowLoss {
 public:
  virtual ~RowLoss() = default;
  virtual std::int64_t parts() const = 0;               ///< numbers per sample, whose mean is the sample's loss
  virtual bool takes_classes() const { return false; }  ///< class numbers as they are, not as rows
  virtual bool knows_hits() const { return false; }     ///< as LossOp::knows_hits
  virtual void run(const LossCall& call) const = 0;
};

std::unique_ptr<LossOp> make_loss_op(const LossContext& context, std::unique_ptr<RowLoss> loss);

/// `const RegisteredLossOp kCpuHuber = cpu_loss<optim::HuberSpec>([](const auto& spec, const LossContext& c) {...});`
template <class Spec>
RegisteredLossOp cpu_loss(std::unique_ptr<RowLoss> (*make)(const Spec&, const LossContext&)) {
  return {DeviceKind::kCpu, typeid(Spec), [make](const LossContext& context, Device&) {
            return make_loss_op(context, make(context.loss.loss.as<Spec>(), context));
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
  void run(const LossCall& c) const override {
    kernels::cpu::element_loss(
        {c.predictions, c.targets.dense, c.samples * parts_, width_, c.values, c.gradient, c.gradient_scale}, f_);
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
  void run(const LossCall& c) const override {
    kernels::cpu::sums_loss(
        {c.predictions, c.targets.dense, c.samples * outer_, length_, c.values, c.gradient, c.gradient_scale}, inner_,
        f_);
  }

 private:
  std::int64_t outer_, length_, inner_;
  F f_;
};

}  // namespace dptrain::device::cpu
