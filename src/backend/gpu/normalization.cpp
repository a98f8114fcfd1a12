// Normalization layers, LayerScale, CustomScaleLayer and Rescaling.

#include <cstdint>
#include <vector>

#include "backend/gpu/gpu_op.h"
#include "backend/normalization_layers.h"
#include "kernels/cuda/affine.h"
#include "kernels/cuda/group_norm.h"
#include "kernels/cuda/lrn.h"
#include "kernels/cuda/merge.h"
#include "nn/normalization.h"

namespace dptrain::backend::DPTRAIN_BACKEND {
namespace {

class GroupNormOp final : public GpuOp, private GroupNormLayer {
 public:
  template <class Spec>
  GroupNormOp(const Spec& spec, const OpContext& context, Device& device)
      : GpuOp(context, device), GroupNormLayer(spec, context) {}

  plan::Need need() const override {
    if (!has_backward_) return {};
    const std::int64_t floats = kernel::group_norm_workspace(type_, norm_, rows_ * rows_of_sample_);
    return {.saved = saved_bytes(), .scratch = static_cast<std::uint64_t>(floats) * sizeof(float)};
  }

  void forward(const OpArgs& a) override {
    float* const mean = saved_mean(a);
    kernel::group_norm_forward(at(a), type_, norm_, a.inputs[0], weight_or_null(a, gamma_), weight_or_null(a, beta_),
                               a.rows * rows_of_sample_, a.out<void>(), mean,
                               mean == nullptr ? nullptr : mean + statistics(a.rows));
  }

  void backward(const OpArgs& a) override {
    const auto* const mean = static_cast<const float*>(a.saved);
    const kernel::GroupNormGradient through{.x = a.inputs[0],
                                            .dy = a.dy<void>(),
                                            .gamma = weight_or_null(a, gamma_),
                                            .mean = mean,
                                            .inv_std = mean + statistics(a.rows)};
    const std::int64_t rows = a.rows * rows_of_sample_;
    float *const dgamma = gradient_or_null(a, gamma_), *const dbeta = gradient_or_null(a, beta_);
    if (dgamma != nullptr || dbeta != nullptr)
      kernel::group_norm_backward_weights(at(a), type_, norm_, through, rows, static_cast<float*>(a.scratch), dgamma,
                                          dbeta);
    if (a.input_gradients[0] != nullptr)
      kernel::group_norm_backward_data(at(a), type_, norm_, through, rows, a.input_gradients[0]);
  }
};

/// Backward recomputes the sums: cheaper than saving a tensor of the input's size.
class LocalResponseNormalizationOp final : public GpuOp {
 public:
  LocalResponseNormalizationOp(const nn::LocalResponseNormalizationSpec& spec, const OpContext& context, Device& device)
      : GpuOp(context, device),
        lrn_{.radius = spec.depth_radius, .bias = spec.bias, .alpha = spec.alpha, .beta = spec.beta},
        pixels_(context.input(0)[0] * context.input(0)[1]),
        channels_(context.input(0)[2]) {}

  void forward(const OpArgs& a) override {
    kernel::lrn_forward(at(a), type_, lrn_, a.inputs[0], a.rows * pixels_, channels_, a.out<void>());
  }
  void backward(const OpArgs& a) override {
    kernel::lrn_backward(at(a), type_, lrn_, a.inputs[0], a.dy<void>(), a.rows * pixels_, channels_,
                         a.input_gradients[0]);
  }

 private:
  kernel::Lrn lrn_;
  std::int64_t pixels_, channels_;
};

class LayerScaleOp final : public GpuOp {
 public:
  LayerScaleOp(const nn::LayerScaleSpec&, const OpContext& context, Device& device)
      : GpuOp(context, device),
        channels_(context.output().back()),
        positions_(context.output().elements() / channels_) {
    if (context.trains())
      scratch_ = static_cast<std::uint64_t>(kernel::channel_scale_workspace(context.rows * positions_, channels_)) *
                 sizeof(float);
  }

  plan::Need need() const override { return {.saved = 0, .scratch = scratch_}; }

  void forward(const OpArgs& a) override { scale(a, a.inputs[0], a.out<void>()); }
  void backward(const OpArgs& a) override {
    if (a.weight_gradients[0] != nullptr)
      kernel::channel_scale_gradient(at(a), type_, a.inputs[0], a.dy<void>(), a.rows * positions_, channels_,
                                     static_cast<float*>(a.scratch), a.weight_gradients[0]);
    if (a.input_gradients[0] != nullptr) scale(a, a.dy<void>(), a.input_gradients[0]);
  }

 private:
  void scale(const OpArgs& a, const void* x, void* y) const {
    kernel::channel_scale(at(a), type_, x, a.weights[0], a.rows * positions_, channels_, y);
  }

  std::int64_t channels_, positions_;
  std::uint64_t scratch_ = 0;
};

class CustomScaleLayerOp final : public GpuOp {
 public:
  CustomScaleLayerOp(const nn::CustomScaleLayerSpec& spec, const OpContext& context, Device& device)
      : GpuOp(context, device), scale_(static_cast<float>(spec.scale)), elements_(context.output().elements()) {}

  void forward(const OpArgs& a) override {
    kernel::add_scaled(at(a), type_, a.inputs[0], a.inputs[1], scale_, a.rows * elements_, a.out<void>());
  }
  void backward(const OpArgs& a) override {
    const std::int64_t n = a.rows * elements_;
    if (void* const dx = a.input_gradients[1]; dx != nullptr) kernel::scale(at(a), type_, scale_, a.dy<void>(), dx, n);
    if (void* const dx = a.input_gradients[0]; dx != nullptr) kernel::copy(at(a), type_, a.dy<void>(), dx, n);
  }

 private:
  float scale_;
  std::int64_t elements_;
};

/// Per channel a factor and two offsets, and zeros for the gradient. Packed: [4, channels] floats.
class ChannelAffineOp : public GpuOp {
 public:
  void forward(const OpArgs& a) override {
    kernel::channel_affine(at(a), type_, a.in<void>(), part(a, 0), part(a, 1), part(a, 2), a.rows * elements_,
                           channels_, a.out<void>());
  }
  void backward(const OpArgs& a) override {
    if (a.dx<void>() == nullptr) return;
    kernel::channel_affine(at(a), type_, a.dy<void>(), part(a, 3), part(a, 1), part(a, 3), a.rows * elements_,
                           channels_, a.dx<void>());
  }

 protected:
  ChannelAffineOp(const OpContext& context, Device& device)
      : GpuOp(context, device), channels_(context.input(0).back()), elements_(context.output().elements()) {}

  plan::Need packed_need() const { return {.packed = 4 * static_cast<std::uint64_t>(channels_) * sizeof(float)}; }
  /// Sets values from the config. They must outlive the copy on the stream.
  void set(const nn::ChannelAffine& affine) {
    for (const std::vector<float>* part : {&affine.shift, &affine.scale, &affine.offset})
      numbers_.insert(numbers_.end(), part->begin(), part->end());
    numbers_.resize(numbers_.size() + affine.scale.size(), 0.0F);
  }
  void send(const OpArgs& a) {
    device_.copy_to_device(a.packed, numbers_.data(), numbers_.size() * sizeof(float), *a.stream);
  }
  std::int64_t channels() const noexcept { return channels_; }

 private:
  const float* part(const OpArgs& a, std::int64_t i) const {
    return static_cast<const float*>(a.packed) + i * channels_;
  }

  std::int64_t channels_, elements_;
  std::vector<float> numbers_;
};

class NormalizationOp final : public ChannelAffineOp {
 public:
  NormalizationOp(const nn::NormalizationSpec& spec, const OpContext& context, Device& device)
      : ChannelAffineOp(context, device), of_weights_(nn::moments_are_weights(spec)), invert_(spec.invert) {
    if (!of_weights_) set(nn::channel_affine(spec, context.input(0)));
  }

  plan::Need need() const override { return packed_need(); }
  void pack(const OpArgs& a) override {
    if (!of_weights_) return send(a);
    kernel::normalization_numbers(at(a), a.weights[0], a.weights[1], channels(), invert_,
                                  static_cast<float*>(a.packed));
  }

 private:
  bool of_weights_, invert_;
};

/// Uses one element-wise pass if all channels have the same values.
class RescalingOp final : public ChannelAffineOp {
 public:
  RescalingOp(const nn::RescalingSpec& spec, const OpContext& context, Device& device)
      : ChannelAffineOp(context, device),
        plain_(nn::is_plain(spec)),
        scale_(static_cast<float>(spec.scale.of(0))),
        offset_(static_cast<float>(spec.offset.of(0))),
        elements_(context.output().elements()) {
    if (!plain_) set(nn::channel_affine(spec, context.input(0)));
  }

  plan::Need need() const override { return plain_ ? plan::Need{} : packed_need(); }
  void pack(const OpArgs& a) override { send(a); }

  void forward(const OpArgs& a) override {
    if (!plain_) return ChannelAffineOp::forward(a);
    kernel::scale_offset(at(a), type_, a.inputs[0], scale_, offset_, a.out<void>(), a.rows * elements_);
  }
  void backward(const OpArgs& a) override {
    if (!plain_) return ChannelAffineOp::backward(a);
    kernel::scale_offset(at(a), type_, a.dy<void>(), scale_, 0.0F, a.input_gradients[0], a.rows * elements_);
  }

 private:
  bool plain_;
  float scale_, offset_;
  std::int64_t elements_;
};

const RegisteredOp kGroupNormalization = op<nn::GroupNormalizationSpec, GroupNormOp>(kKind);
const RegisteredOp kLayerNormalization = op<nn::LayerNormalizationSpec, GroupNormOp>(kKind);
const RegisteredOp kRMSNormalization = op<nn::RMSNormalizationSpec, GroupNormOp>(kKind);
const RegisteredOp kLocalResponseNormalization =
    op<nn::LocalResponseNormalizationSpec, LocalResponseNormalizationOp>(kKind);
const RegisteredOp kLayerScale = op<nn::LayerScaleSpec, LayerScaleOp>(kKind);
const RegisteredOp kCustomScaleLayer = op<nn::CustomScaleLayerSpec, CustomScaleLayerOp>(kKind);
const RegisteredOp kNormalization = op<nn::NormalizationSpec, NormalizationOp>(kKind);
const RegisteredOp kRescaling = op<nn::RescalingSpec, RescalingOp>(kKind);

}  // namespace
}  // namespace dptrain::backend::DPTRAIN_BACKEND
