#include "nn/normalization.h"

#include <utility>

#include "backend/device.h"
#include "backend/gpu/gpu_op.h"
#include "backend/normalization_layers.h"
#include "backend/ops/activations.h"
#include "kernels/cuda/batch_norm.h"

namespace dptrain::backend::DPTRAIN_BACKEND {
namespace {

/// Training normalizes by the batch's moments and gives share * moments to the all-reduce as "gradients" of the moving
/// statistics. Synchronized layers gather counts and two sums in double and add them in rank order on the device, also
/// in backward. An Add in the tail is part of both passes; backward leaves its gradient in dy.
class BatchNormalizationOp final : public GpuOp, private BatchNormLayer {
 public:
  BatchNormalizationOp(const nn::BatchNormalizationSpec& spec, const OpContext& context, Device& device)
      : GpuOp(context, device),
        BatchNormLayer(spec, context, device),
        has_backward_(context.step.has_backward),
        workspace_(kernel::batch_norm_workspace(type_, context.rows * spatial_, channels_)) {}

  plan::Need need() const override {
    const std::int64_t messages = (replicas_ > 1 ? 1 + replicas_ : 1) * kernel::batch_norm_message(channels_);
    return {.saved = saves() ? bytes<float>(kSavedVectors * channels_) : 0,
            .scratch = bytes<double>(workspace_ + messages) + bytes<float>(kSavedVectors * channels_)};
  }

  bool runs_empty() const override { return replicas_ > 1; }
  std::string implementation() const override { return replicas_text(); }

  void forward(const OpArgs& a) override {
    const Buffers buffers(*this, a);
    if (!a.training || inference_mode_) return normalize_by_moving(a, buffers);
    const std::int64_t positions = a.rows * spatial_;
    const float *const gamma = weight_or_null(a, weights_.gamma), *const beta = weight_or_null(a, weights_.beta);
    const kernel::BatchNormMoments moments{.mean = buffers.mean,
                                           .inv_std = buffers.inv_std,
                                           .scale = buffers.scale,
                                           .offset = buffers.offset,
                                           .statistics_mean = gradient_or_null(a, weights_.moving_mean),
                                           .statistics_variance = gradient_or_null(a, weights_.moving_variance),
                                           .statistics_share = static_cast<float>(a.share),
                                           .unbiased = unbiased_};
    if (replicas_ == 1) {
      kernel::batch_norm_statistics(at(a), type_, a.inputs[0], positions, epsilon_, gamma, beta, channels_,
                                    buffers.workspace, moments);
    } else {
      kernel::batch_norm_sums(at(a), type_, a.inputs[0], positions, channels_, buffers.workspace, buffers.sums);
      const kernel::BatchNormTotal total = add_replicas(a, buffers, positions);
      kernel::batch_norm_moments(at(a), buffers.sums.sum, buffers.sums.product, total, epsilon_, gamma, beta, channels_,
                                 moments);
    }
    apply(a, buffers);
  }

  void backward(const OpArgs& a) override {
    const Buffers buffers(*this, a);
    const float* const mean = inference_mode_ ? a.weights[weights_.moving_mean] : buffers.mean;
    if (inference_mode_)  // nothing is saved in inference mode
      kernel::batch_norm_coefficients(at(a), mean, a.weights[weights_.moving_variance],
                                      weight_or_null(a, weights_.gamma), nullptr, epsilon_, channels_, buffers.scale,
                                      nullptr, buffers.inv_std);
    const bool by_output = masks_ && (adds_ || inference_mode_);
    kernel::BatchNormGradient through{.x = a.inputs[0],
                                      .dy = a.dy<void>(),
                                      .output = by_output ? a.out<void>() : nullptr,
                                      .mean = mean,
                                      .inv_std = buffers.inv_std,
                                      .scale = masks_ && !by_output ? buffers.scale : nullptr,
                                      .offset = buffers.offset};
    const std::int64_t positions = a.rows * spatial_;
    void* const dx = a.input_gradients[0];
    float *const dgamma = gradient_or_null(a, weights_.gamma), *const dbeta = gradient_or_null(a, weights_.beta);
    const bool leaves_sum_gradient = adds_ && masks_;
    if ((dx != nullptr && !inference_mode_) || dgamma != nullptr || dbeta != nullptr)
      kernel::batch_norm_gradient_sums(at(a), type_, through, positions, channels_, buffers.workspace, buffers.sums,
                                       dgamma, dbeta, leaves_sum_gradient ? a.dy<void>() : nullptr);
    else if (leaves_sum_gradient)
      activate_backward(at(a), type_, nn::Activation::kRelu, nullptr, a.out<void>(), a.dy<void>(), a.dy<void>(),
                        positions, channels_);
    if (leaves_sum_gradient) through.output = nullptr;  // dy is masked
    if (dx == nullptr) return;
    if (inference_mode_)
      return kernel::batch_norm_gradient_frozen(at(a), type_, through, buffers.scale, positions, channels_, dx);
    const kernel::BatchNormTotal total = add_replicas(a, buffers, positions);
    kernel::batch_norm_gradient_apply(at(a), type_, through, weight_or_null(a, weights_.gamma), buffers.sums.sum,
                                      buffers.sums.product, total, positions, channels_, dx);
  }

 private:
  static constexpr std::int64_t kSavedVectors = 4;  // mean, inv_std, scale, offset

  template <class T>
  static std::uint64_t bytes(std::int64_t n) {
    return static_cast<std::uint64_t>(n) * sizeof(T);
  }

  /// Layout of `saved` and `scratch`. Vectors come first, at multiples of 16 bytes where the number of channels allows
  /// it, as the wide kernels require; messages have an odd number of doubles.
  struct Buffers {
    float *mean, *inv_std, *scale, *offset;  // live from forward to backward
    double* workspace;
    double *message, *gathered;  // by this replica, by all replicas
    kernel::BatchNormSums sums;  // in `message`

    Buffers(const BatchNormalizationOp& op, const OpArgs& a) {
      auto* const vectors = static_cast<float*>(a.scratch);
      workspace = reinterpret_cast<double*>(vectors + kSavedVectors * op.channels_);
      message = workspace + op.workspace_;
      gathered = message + kernel::batch_norm_message(op.channels_);
      sums = kernel::batch_norm_message_sums(message, op.channels_);
      // Without a backward, and in inference mode, they are not read again.
      float* next = op.saves() && a.training ? static_cast<float*>(a.saved) : vectors;
      for (float** vector : {&mean, &inv_std, &scale, &offset}) *vector = std::exchange(next, next + op.channels_);
    }
  };

  bool saves() const { return has_backward_ && !inference_mode_; }

  void apply(const OpArgs& a, const Buffers& buffers) const {
    const kernel::BatchNormAffine affine{.scale = buffers.scale,
                                         .offset = buffers.offset,
                                         .addend = adds_ ? a.inputs[1] : nullptr,
                                         .relu = activation_ == nn::Activation::kRelu};
    kernel::batch_norm_apply(at(a), type_, a.inputs[0], affine, a.rows * spatial_, channels_, a.out<void>());
  }

  void normalize_by_moving(const OpArgs& a, const Buffers& buffers) const {
    if (a.rows == 0) return;
    for (const std::size_t index : {weights_.moving_mean, weights_.moving_variance})
      if (a.training && gradient_or_null(a, index) != nullptr)
        kernel::batch_norm_share(at(a), a.weights[index], static_cast<float>(a.share), channels_,
                                 gradient_or_null(a, index));
    kernel::batch_norm_coefficients(at(a), a.weights[weights_.moving_mean], a.weights[weights_.moving_variance],
                                    weight_or_null(a, weights_.gamma), weight_or_null(a, weights_.beta), epsilon_,
                                    channels_, buffers.scale, buffers.offset, nullptr);
    apply(a, buffers);
  }

  /// Replaces the sums by those over all synchronized replicas; returns the number of positions.
  kernel::BatchNormTotal add_replicas(const OpArgs& a, const Buffers& buffers, std::int64_t positions) const {
    if (replicas_ == 1) return {.counted = nullptr, .known = positions};
    check_collective(a);
    a.collective->all_gather(buffers.message,
                             static_cast<std::int64_t>(bytes<double>(kernel::batch_norm_message(channels_))),
                             buffers.gathered, *a.stream);
    kernel::batch_norm_add_messages(at(a), buffers.gathered, replicas_, channels_, buffers.message);
    return {.counted = buffers.message, .known = 0};
  }

  bool has_backward_;
  std::int64_t workspace_;  // doubles
};

const RegisteredOp kBatchNormalization =
    op<nn::BatchNormalizationSpec, BatchNormalizationOp>(kKind, {.fuses = {fuses_add(), fuses_relu_after_add()}});

}  // namespace
}  // namespace dptrain::backend::DPTRAIN_BACKEND
