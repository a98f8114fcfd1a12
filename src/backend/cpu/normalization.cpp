// GroupNormalization, LayerNormalization, RMSNormalization, LocalResponseNormalization, LayerScale, CustomScaleLayer,
// Normalization and Rescaling.

#include <cstdint>
#include <vector>

#include "backend/cpu/workspace.h"
#include "backend/device.h"
#include "backend/normalization_layers.h"
#include "kernels/cpu/affine.h"
#include "kernels/cpu/elementwise.h"
#include "kernels/cpu/group_norm.h"
#include "kernels/cpu/lrn.h"
#include "nn/normalization.h"

namespace dptrain::backend::cpu {
namespace {

class GroupNormOp final : public Op, private GroupNormLayer {
 public:
  template <class Spec>
  GroupNormOp(const Spec& spec, const OpContext& context, Device&)
      : GroupNormLayer(spec, context), workspace_bytes_(workspace_bytes(context.rows, [&](std::int64_t rows) {
          return kernels::cpu::group_norm_workspace(norm_, rows * rows_of_sample_);
        })) {}

  plan::Need need() const override { return {.saved = saved_bytes(), .scratch = workspace_bytes_}; }

  void forward(const OpArgs& a) override {
    float* const mean = saved_mean(a);
    kernels::cpu::group_norm_forward(norm_, a.in(), weight_or_null(a, gamma_), weight_or_null(a, beta_),
                                     a.rows * rows_of_sample_, static_cast<float*>(a.scratch), a.out(), mean,
                                     mean == nullptr ? nullptr : mean + statistics(a.rows));
  }

  void backward(const OpArgs& a) override {
    const auto* const mean = static_cast<const float*>(a.saved);
    kernels::cpu::group_norm_backward(norm_,
                                      {.x = a.in(),
                                       .dy = a.dy(),
                                       .gamma = weight_or_null(a, gamma_),
                                       .mean = mean,
                                       .inv_std = mean + statistics(a.rows)},
                                      a.rows * rows_of_sample_, static_cast<float*>(a.scratch), a.dx(),
                                      gradient_or_null(a, gamma_), gradient_or_null(a, beta_));
  }

 private:
  std::uint64_t workspace_bytes_;
};

/// Backward computes the sums again: cheaper than saving a tensor as large as the input.
class LocalResponseNormalizationOp final : public Op {
 public:
  LocalResponseNormalizationOp(const nn::LocalResponseNormalizationSpec& spec, const OpContext& context, Device&)
      : lrn_{.radius = spec.depth_radius, .bias = spec.bias, .alpha = spec.alpha, .beta = spec.beta},
        pixels_(context.input(0)[0] * context.input(0)[1]),
        channels_(context.input(0)[2]),
        scratch_(workspace_bytes(context.rows, [&](std::int64_t rows) {
          return kernels::cpu::lrn_workspace(lrn_, rows * pixels_, channels_);
        })) {}

  plan::Need need() const override { return {.saved = 0, .scratch = scratch_}; }

  void forward(const OpArgs& a) override {
    kernels::cpu::lrn_forward(lrn_, a.in(), a.rows * pixels_, channels_, static_cast<float*>(a.scratch), a.out(),
                              nullptr);
  }
  void backward(const OpArgs& a) override {
    kernels::cpu::lrn_backward(lrn_, a.in(), nullptr, a.dy(), a.rows * pixels_, channels_,
                               static_cast<float*>(a.scratch), a.dx());
  }

 private:
  kernels::cpu::Lrn lrn_;
  std::int64_t pixels_, channels_;
  std::uint64_t scratch_;
};

class LayerScaleOp final : public Op {
 public:
  LayerScaleOp(const nn::LayerScaleSpec&, const OpContext& context, Device&)
      : channels_(context.output().back()), positions_(context.output().elements() / channels_) {
    if (context.trains())
      scratch_ = workspace_bytes(context.rows, [&](std::int64_t rows) {
        return kernels::cpu::channel_scale_workspace(rows * positions_, channels_);
      });
  }

  plan::Need need() const override { return {.saved = 0, .scratch = scratch_}; }

  void forward(const OpArgs& a) override { scale(a, a.in(), a.out()); }
  void backward(const OpArgs& a) override {
    if (a.weight_gradients[0] != nullptr)
      kernels::cpu::channel_scale_gradient(a.in(), a.dy(), a.rows * positions_, channels_,
                                           static_cast<float*>(a.scratch), a.weight_gradients[0]);
    if (a.dx() != nullptr) scale(a, a.dy(), a.dx());
  }

 private:
  void scale(const OpArgs& a, const float* x, float* y) const {
    kernels::cpu::periodic_affine(x, nullptr, a.weights[0], nullptr, channels_, a.rows * positions_ * channels_, y);
  }

  std::int64_t channels_, positions_;
  std::uint64_t scratch_ = 0;
};

class CustomScaleLayerOp final : public Op {
 public:
  CustomScaleLayerOp(const nn::CustomScaleLayerSpec& spec, const OpContext& context, Device&)
      : scale_(static_cast<float>(spec.scale)), elements_(context.output().elements()) {}

  void forward(const OpArgs& a) override {
    kernels::cpu::add_scaled(a.in(), a.in(1), scale_, a.out(), a.rows * elements_);
  }
  void backward(const OpArgs& a) override {
    if (a.dx(1) != nullptr) kernels::cpu::scale_offset(a.dy(), scale_, 0.0F, a.dx(1), a.rows * elements_);
    if (a.dx() != nullptr) kernels::cpu::copy({}, DType::kF32, a.dy(), a.dx(), a.rows * elements_);
  }

 private:
  float scale_;
  std::int64_t elements_;
};

/// A factor and two offsets per channel, repeated to a period of at least kPeriod, with which kernels/cpu/affine.h is
/// fastest.
class RepeatedAffine {
 public:
  RepeatedAffine() = default;
  explicit RepeatedAffine(const nn::ChannelAffine& affine) {
    const std::size_t times = (kPeriod + affine.scale.size() - 1) / affine.scale.size();
    for (std::size_t i = 0; i < times; ++i) {
      shift_.insert(shift_.end(), affine.shift.begin(), affine.shift.end());
      scale_.insert(scale_.end(), affine.scale.begin(), affine.scale.end());
      offset_.insert(offset_.end(), affine.offset.begin(), affine.offset.end());
    }
  }

  void forward(const float* x, std::int64_t n, float* y) const {
    kernels::cpu::periodic_affine(x, shift_.data(), scale_.data(), offset_.data(), period(), n, y);
  }
  void backward(const float* dy, std::int64_t n, float* dx) const {
    kernels::cpu::periodic_affine(dy, nullptr, scale_.data(), nullptr, period(), n, dx);
  }

 private:
  static constexpr std::size_t kPeriod = 256;
  std::int64_t period() const { return static_cast<std::int64_t>(scale_.size()); }

  std::vector<float> shift_, scale_, offset_;
};

class NormalizationOp final : public Op {
 public:
  NormalizationOp(const nn::NormalizationSpec& spec, const OpContext& context, Device&)
      : spec_(spec), channels_(context.input(0).back()), elements_(context.output().elements()) {
    if (!nn::moments_are_weights(spec)) affine_ = RepeatedAffine(nn::channel_affine(spec, context.input(0)));
  }

  /// A nonzero size, so that pack() is called when the moments change; it writes the factors to affine_.
  plan::Need need() const override { return {.packed = nn::moments_are_weights(spec_) ? sizeof(float) : 0}; }
  void pack(const OpArgs& a) override {
    const auto channels = static_cast<std::size_t>(channels_);
    affine_ = RepeatedAffine(nn::channel_affine(spec_, {a.weights[0], channels}, {a.weights[1], channels}));
  }

  void forward(const OpArgs& a) override { affine_.forward(a.in(), a.rows * elements_, a.out()); }
  void backward(const OpArgs& a) override {
    if (a.dx() != nullptr) affine_.backward(a.dy(), a.rows * elements_, a.dx());
  }

 private:
  nn::NormalizationSpec spec_;
  RepeatedAffine affine_;
  std::int64_t channels_, elements_;
};

class RescalingOp final : public Op {
 public:
  RescalingOp(const nn::RescalingSpec& spec, const OpContext& context, Device&)
      : plain_(nn::is_plain(spec)),
        scale_(static_cast<float>(spec.scale.of(0))),
        offset_(static_cast<float>(spec.offset.of(0))),
        elements_(context.output().elements()) {
    if (!plain_) affine_ = RepeatedAffine(nn::channel_affine(spec, context.input(0)));
  }

  void forward(const OpArgs& a) override {
    if (!plain_) return affine_.forward(a.in(), a.rows * elements_, a.out());
    kernels::cpu::scale_offset(a.in(), scale_, offset_, a.out(), a.rows * elements_);
  }
  void backward(const OpArgs& a) override {
    if (!plain_) return affine_.backward(a.dy(), a.rows * elements_, a.dx());
    kernels::cpu::scale_offset(a.dy(), scale_, 0.0F, a.dx(), a.rows * elements_);
  }

 private:
  bool plain_;
  float scale_, offset_;
  RepeatedAffine affine_;
  std::int64_t elements_;
};

const RegisteredOp kCpuGroupNormalization = op<nn::GroupNormalizationSpec, GroupNormOp>(DeviceKind::kCpu);
const RegisteredOp kCpuLayerNormalization = op<nn::LayerNormalizationSpec, GroupNormOp>(DeviceKind::kCpu);
const RegisteredOp kCpuRMSNormalization = op<nn::RMSNormalizationSpec, GroupNormOp>(DeviceKind::kCpu);
const RegisteredOp kCpuLocalResponseNormalization =
    op<nn::LocalResponseNormalizationSpec, LocalResponseNormalizationOp>(DeviceKind::kCpu);
const RegisteredOp kCpuLayerScale = op<nn::LayerScaleSpec, LayerScaleOp>(DeviceKind::kCpu);
const RegisteredOp kCpuCustomScaleLayer = op<nn::CustomScaleLayerSpec, CustomScaleLayerOp>(DeviceKind::kCpu);
const RegisteredOp kCpuNormalization = op<nn::NormalizationSpec, NormalizationOp>(DeviceKind::kCpu);
const RegisteredOp kCpuRescaling = op<nn::RescalingSpec, RescalingOp>(DeviceKind::kCpu);

}  // namespace
}  // namespace dptrain::backend::cpu
