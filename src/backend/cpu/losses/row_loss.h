#pragma once

// RowLoss: one loss in the words of the CPU's kernels. CpuLossOp (loss_op.cpp) does what all losses have in common:
// labels, weights, sums. A loss's file makes one of the passes below, or a RowLoss of its own. Immutable; called from
// the replica's thread.

#include <functional>
#include <memory>

#include "backend/loss_table.h"
#include "kernels/cpu/loss.h"

namespace dptrain::backend::cpu {

/// What one call computes, in the rows that the loss has asked for.
struct LossCall {
  std::int64_t rows = 0, width = 0;
  const float* predictions = nullptr;    ///< [rows, width, inner]
  kernels::cpu::ClassTargets targets{};  ///< `labels` only for a loss that takes_classes
  float* values = nullptr;               ///< [rows, inner]
  float* gradient = nullptr;             ///< may be the predictions' memory; null: not wanted
  float gradient_scale = 1;              ///< of a number in `values`
  std::uint8_t* hits = nullptr;          ///< [rows]; only of a loss that knows_hits, else null

  /// For losses of values.
  kernels::cpu::ValueRows value_rows() const {
    return {predictions, targets.dense, rows, width, values, gradient, gradient_scale};
  }
};

struct RowLoss {
  SampleRows sample;
  std::function<void(const LossCall& call)> run;
  bool takes_classes = false;  ///< class numbers as they are, not as rows
  bool knows_hits = false;     ///< as LossOp::knows_hits
};

std::unique_ptr<LossOp> make_loss_op(const LossContext& context, RowLoss loss);

/// `const RegisteredLossOp kCpuHuber = cpu_loss<nn::losses::Huber>([](const auto& spec, const LossContext& c) {...});`
template <class Spec>
RegisteredLossOp cpu_loss(RowLoss (*make)(const Spec&, const LossContext&)) {
  return {DeviceKind::kCpu, typeid(Spec), [make](const LossContext& context, Device&) {
            return make_loss_op(context, make(context.loss.loss.as<Spec>(), context));
          }};
}

/// The element losses of kernels/losses/.
template <class F>
RowLoss of_elements(const LossContext& context, F f) {
  return {.sample = element_rows<F>(loss_shape(context)),
          .run = [f](const LossCall& c) { kernels::cpu::element_loss(c.value_rows(), f); }};
}

/// The losses of three sums.
template <class F>
RowLoss of_sums(const SampleRows& sample, F f) {
  return {.sample = sample,
          .run = [f, inner = sample.inner](const LossCall& c) { kernels::cpu::sums_loss(c.value_rows(), inner, f); }};
}

}  // namespace dptrain::backend::cpu
