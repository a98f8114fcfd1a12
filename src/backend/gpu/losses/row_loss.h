#pragma once

// RowLoss: one loss in the words of the GPU's kernels. GpuLossOp (loss_op.cpp) does what all losses have in common:
// weights and sums. A loss's file makes one of the passes below, or a RowLoss of its own. Immutable; called from the
// replica's thread.

#include <functional>
#include <memory>

#include "backend/gpu/gpu_device.h"
#include "backend/loss_table.h"
#include "kernels/cuda/loss.h"
#include "kernels/losses.h"

namespace dptrain::backend::DPTRAIN_BACKEND {

struct RowLoss {
  SampleRows sample;
  /// Writes a number for each row, or `inner` of them, and the gradient.
  std::function<void(const kernel::Launch& at, const kernel::LossRows& rows)> run;
  bool knows_hits = false;  ///< as LossOp::knows_hits
};

std::unique_ptr<LossOp> make_loss_op(const LossContext& context, GpuDevice& device, RowLoss loss);

/// `const RegisteredLossOp kGpuHuber = gpu_loss<nn::losses::Huber>([](const auto& spec, const LossContext& c) {...});`
template <class Spec>
RegisteredLossOp gpu_loss(RowLoss (*make)(const Spec&, const LossContext&)) {
  return {kKind, typeid(Spec), [make](const LossContext& context, Device& device) {
            return make_loss_op(context, static_cast<GpuDevice&>(device), make(context.loss.loss.as<Spec>(), context));
          }};
}

/// The element losses of kernels/losses/.
template <class F>
RowLoss of_elements(const LossContext& context, F f) {
  return {.sample = element_rows<F>(loss_shape(context)),
          .run = [f](const kernel::Launch& at, const kernel::LossRows& rows) { kernel::element_loss(at, rows, f); }};
}

/// The losses of three sums.
template <class F>
RowLoss of_sums(const SampleRows& sample, F f) {
  return {.sample = sample, .run = [f, inner = sample.inner](const kernel::Launch& at, const kernel::LossRows& rows) {
            kernel::sums_loss(at, rows, inner, f);
          }};
}

}  // namespace dptrain::backend::DPTRAIN_BACKEND
