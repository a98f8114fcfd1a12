#pragma once

// The op of Conv3DTranspose on every device: a Conv2DTranspose of every frame to kernel_size[0] times as many filters,
// of which windows along the depth are added up (backend/depth_window.h); bias and activation follow. The kernel lies
// in the arenas with its depth beside its filters.

#include <algorithm>
#include <utility>

#include "backend/depth_window.h"
#include "backend/device.h"
#include "backend/inner_op.h"
#include "backend/parts.h"
#include "nn/convolutions.h"

namespace dptrain::backend {

/// `Kernels`: as Conv3DOp's, and what a bias and an activation behind the op need: bias_add(a, y, bias, positions,
/// width), bias_workspace(rows, positions, width) in bytes, bias_gradient(a, dy, positions, width, workspace,
/// gradient), apply(a) and undo(a).
template <class Kernels>
class Conv3DTransposeOp final : public Op {
 public:
  Conv3DTransposeOp(const nn::Conv3DTransposeSpec& spec, const OpContext& context, Device& device)
      : kernels_(context, device),
        window_(depth_window(spec, context.output(), 1)),
        bias_(spec.use_bias),
        trains_(context.step.has_backward && context.step.parameter_gradients[0]),
        slab_bytes_(window_.is_identity() ? 0
                                          : aligned_part(context.rows * window_.slab_elements(), context.plan.compute)),
        bias_bytes_(bias_ && trains_ ? kernels_.bias_workspace(context.rows, positions(), spec.filters) : 0),
        frames_(context, step_of(spec, context), frame_of(context.input(0), 1),
                frame_of(context.output(), window_.kernel), window_.out_d, device) {}

  plan::Need need() const override {
    plan::Need need = frames_.op().need();
    need.scratch = slab_bytes_ + std::max(need.scratch, bias_bytes_);
    return need;
  }
  void prepare(std::int64_t rows) override { frames_.op().prepare(rows * frames_.images()); }
  std::string implementation() const override { return frames_.op().implementation(); }
  std::pair<double, double> flops_per_sample() const override {
    const auto [forward, backward] = frames_.op().flops_per_sample();
    const auto frames = static_cast<double>(frames_.images());
    return {forward * frames, backward * frames};
  }

  void forward(const OpArgs& a) override {
    OpArgs own = frames_.args(a, slab_bytes_);
    own.weights = own.weights.first(1);
    void* const slabs = window_.is_identity() ? a.outputs[0] : a.scratch;
    own.outputs = {&slabs, 1};
    frames_.op().forward(own);
    if (!window_.is_identity()) kernels_.sum_slabs(a, window_, slabs, a.outputs[0]);
    if (bias_) kernels_.bias_add(a, a.outputs[0], a.weights[1], positions(), window_.channels);
    kernels_.apply(a);
  }

  void backward(const OpArgs& a) override {
    kernels_.undo(a);
    OpArgs own = frames_.args(a, slab_bytes_);
    if (bias_ && trains_ && a.weight_gradients[1] != nullptr)
      kernels_.bias_gradient(a, a.output_gradients[0], positions(), window_.channels, own.scratch,
                             a.weight_gradients[1]);
    void* slabs = a.output_gradients[0];
    if (!window_.is_identity()) {
      kernels_.gather_slabs(a, window_, slabs, a.scratch);
      slabs = a.scratch;
    }
    own.output_gradients = {&slabs, 1};
    frames_.op().backward(own);
  }

 private:
  static Shape frame_of(const Shape& volume, std::int64_t times) { return {volume[1], volume[2], volume[3] * times}; }

  static plan::Step step_of(const nn::Conv3DTransposeSpec& spec, const OpContext& context) {
    auto frame = image_spec<nn::Conv2DTransposeSpec>(spec);
    frame.filters = spec.filters * spec.kernel_size.d;
    frame.use_bias = false;
    if (spec.output_padding) frame.output_padding = nn::within_frame(*spec.output_padding);
    plan::Step step{.spec = nn::layer_family().make(std::move(frame))};
    if (context.step.has_backward) step.parameter_gradients = {context.step.parameter_gradients[0]};
    return step;
  }

  std::int64_t positions() const { return window_.in_d * window_.positions; }  // of a sample of the output

  Kernels kernels_;
  kernels::DepthWindow window_;  // from the output back to the input
  bool bias_, trains_;
  std::uint64_t slab_bytes_, bias_bytes_;
  InnerOp frames_;
};

}  // namespace dptrain::backend
