#pragma once

// The op of LayerNormalization and GroupNormalization: both normalise within samples, over groups of neighbouring
// channels. Mean and 1 / deviation of every group are kept for backward.

#include "backend/cpu/workspace.h"
#include "backend/device.h"
#include "kernels/cpu/group_norm.h"

namespace dptrain::backend::cpu {

class GroupNormOp : public Op {
 public:
  plan::Need need() const override {
    return {.saved = has_backward_ ? 2 * static_cast<std::uint64_t>(statistics(rows_)) * sizeof(float) : 0,
            .scratch = workspace_bytes_};
  }

  void forward(const OpArgs& a) override {
    float* const mean = has_backward_ && a.training ? static_cast<float*>(a.saved) : nullptr;
    kernels::cpu::group_norm_forward(norm_, a.in(), weight(a, gamma_), weight(a, beta_), a.rows * rows_of_sample_,
                                     static_cast<float*>(a.scratch), a.out(), mean,
                                     mean == nullptr ? nullptr : mean + statistics(a.rows));
  }

  void backward(const OpArgs& a) override {
    const auto* const mean = static_cast<const float*>(a.saved);
    kernels::cpu::group_norm_backward(
        norm_,
        {.x = a.in(), .dy = a.dy(), .gamma = weight(a, gamma_), .mean = mean, .inv_std = mean + statistics(a.rows)},
        a.rows * rows_of_sample_, static_cast<float*>(a.scratch), a.dx(), gradient(a, gamma_), gradient(a, beta_));
  }

 protected:
  /// A sample is `rows_of_sample` rows of the norm.
  GroupNormOp(const kernels::cpu::GroupNorm& norm, std::int64_t rows_of_sample, bool scale, bool center,
              const OpContext& context)
      : norm_(norm),
        rows_of_sample_(rows_of_sample),
        rows_(context.rows),
        has_backward_(context.step.has_backward),
        gamma_(scale ? 0 : kNone),
        beta_(center ? std::size_t{scale} : kNone),
        workspace_bytes_(workspace_bytes(context.rows, [&](std::int64_t rows) {
          return kernels::cpu::group_norm_workspace(norm_, rows * rows_of_sample_);
        })) {}

 private:
  static constexpr std::size_t kNone = ~std::size_t{0};

  std::int64_t statistics(std::int64_t rows) const { return rows * rows_of_sample_ * norm_.groups; }
  static const float* weight(const OpArgs& a, std::size_t index) { return index == kNone ? nullptr : a.weights[index]; }
  static float* gradient(const OpArgs& a, std::size_t index) {
    return index < a.weight_gradients.size() ? a.weight_gradients[index] : nullptr;
  }

  kernels::cpu::GroupNorm norm_;
  std::int64_t rows_of_sample_, rows_;
  bool has_backward_;
  std::size_t gamma_, beta_;
  std::uint64_t workspace_bytes_;
};

}  // namespace dptrain::backend::cpu
