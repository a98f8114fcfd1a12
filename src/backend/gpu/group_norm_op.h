#pragma once

// The op of LayerNormalization and GroupNormalization: both normalise within samples, over groups of neighbouring
// channels. Mean and 1 / deviation of every group are kept for backward.

#include "backend/gpu/gpu_op.h"
#include "kernels/cuda/group_norm.h"

namespace dptrain::backend::DPTRAIN_BACKEND {

class GroupNormOp : public GpuOp {
 public:
  plan::Need need() const override {
    if (!has_backward_) return {};
    const std::int64_t floats = kernel::group_norm_workspace(type_, norm_, rows_ * rows_of_sample_);
    return {.saved = 2 * static_cast<std::uint64_t>(statistics(rows_)) * sizeof(float),
            .scratch = static_cast<std::uint64_t>(floats) * sizeof(float)};
  }

  void forward(const OpArgs& a) override {
    float* const mean = has_backward_ && a.training ? static_cast<float*>(a.saved) : nullptr;
    kernel::group_norm_forward(at(a), type_, norm_, a.inputs[0], weight(a, gamma_), weight(a, beta_),
                               a.rows * rows_of_sample_, a.out<void>(), mean,
                               mean == nullptr ? nullptr : mean + statistics(a.rows));
  }

  void backward(const OpArgs& a) override {
    const auto* const mean = static_cast<const float*>(a.saved);
    const kernel::GroupNormGradient through{.x = a.inputs[0],
                                            .dy = a.dy<void>(),
                                            .gamma = weight(a, gamma_),
                                            .mean = mean,
                                            .inv_std = mean + statistics(a.rows)};
    const std::int64_t rows = a.rows * rows_of_sample_;
    float *const dgamma = gradient(a, gamma_), *const dbeta = gradient(a, beta_);
    if (dgamma != nullptr || dbeta != nullptr)
      kernel::group_norm_backward_weights(at(a), type_, norm_, through, rows, static_cast<float*>(a.scratch), dgamma,
                                          dbeta);
    if (a.input_gradients[0] != nullptr)
      kernel::group_norm_backward_data(at(a), type_, norm_, through, rows, a.input_gradients[0]);
  }

 protected:
  /// A sample is `rows_of_sample` rows of the norm.
  GroupNormOp(const kernel::GroupNorm& norm, std::int64_t rows_of_sample, bool scale, bool center,
              const OpContext& context, Device& device)
      : GpuOp(context, device),
        norm_(norm),
        rows_of_sample_(rows_of_sample),
        rows_(context.rows),
        has_backward_(context.step.has_backward),
        gamma_(scale ? 0 : kNone),
        beta_(center ? std::size_t{scale} : kNone) {}

 private:
  static constexpr std::size_t kNone = ~std::size_t{0};

  std::int64_t statistics(std::int64_t rows) const { return rows * rows_of_sample_ * norm_.groups; }
  static const float* weight(const OpArgs& a, std::size_t index) { return index == kNone ? nullptr : a.weights[index]; }
  static float* gradient(const OpArgs& a, std::size_t index) {
    return index < a.weight_gradients.size() ? a.weight_gradients[index] : nullptr;
  }

  kernel::GroupNorm norm_;
  std::int64_t rows_of_sample_, rows_;
  bool has_backward_;
  std::size_t gamma_, beta_;
};

}  // namespace dptrain::backend::DPTRAIN_BACKEND
