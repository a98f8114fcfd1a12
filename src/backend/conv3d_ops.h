#pragma once

// Conv3D and Conv3DTranspose for every backend, computed by ops over images.

#include <algorithm>
#include <utility>

#include "backend/device.h"
#include "backend/geometry.h"
#include "backend/inner_op.h"
#include "backend/parts.h"
#include "nn/convolutions.h"
#include "nn/layer.h"

namespace dptrain::backend {

/// The inner step's layer, tail and parameters. Layers of the tail are replaced by the layers that compute their
/// frames.
plan::Step image_step(const nn::Conv3DSpec& spec, const plan::Step& outer);
/// The part of `volume` that one window reads, as an image with kernel_size[0] times the channels.
Shape image_shape(const nn::Conv3DSpec& spec, const Shape& volume);

/// Fuses a max-pooling within frames, where the device's Conv2D fuses that of images.
FusionClaim fuses_frame_pooling();

/// A Conv2D over the images of its windows (depth_window()), which have kernel_size[0] times the channels. The arenas
/// therefore store the kernel with its depth next to its channels. Backward gathers the images again.
///
/// `Kernels`, of a device: gather_slabs and sum_slabs of kernels/*/depth_slabs.h, (const OpArgs&, window, from, to).
template <class Kernels>
class Conv3DOp final : public Op {
 public:
  Conv3DOp(const nn::Conv3DSpec& spec, const OpContext& context, Device& device)
      : kernels_(context, device),
        window_(depth_window(spec, context.input(0), spec.groups)),
        image_bytes_(
            window_.is_identity() ? 0 : aligned_part(context.rows * window_.slab_elements(), context.plan.compute)),
        images_(context, image_step(spec, context.step), image_shape(spec, context.input(0)),
                frame_of(context.output()), window_.out_d, device) {}

  plan::Need need() const override {
    plan::Need need = images_.op().need();
    need.scratch += image_bytes_;
    return need;
  }
  void prepare(std::int64_t rows) override { images_.op().prepare(rows * images_.images()); }
  std::string implementation() const override { return images_.op().implementation(); }
  std::pair<double, double> flops_per_sample() const override {
    const auto [forward, backward] = images_.op().flops_per_sample();
    const auto images = static_cast<double>(images_.images());
    return {forward * images, backward * images};
  }

  void forward(const OpArgs& a) override {
    OpArgs own = images_.args(a, image_bytes_);
    const void* const in = gathered(a);
    own.inputs = {&in, 1};
    images_.op().forward(own);
  }

  void backward(const OpArgs& a) override {
    OpArgs own = images_.args(a, image_bytes_);
    const bool trains = !a.weight_gradients.empty() && a.weight_gradients[0] != nullptr;
    const void* const in = trains ? gathered(a) : a.scratch;
    own.inputs = {&in, 1};
    // A convolution writes the input's gradient after its last read of the input, so both may share memory.
    void* const dx = a.input_gradients[0];
    void* const image_gradient = dx == nullptr || window_.is_identity() ? dx : a.scratch;
    own.input_gradients = {&image_gradient, 1};
    images_.op().backward(own);
    if (dx != nullptr && !window_.is_identity()) kernels_.sum_slabs(a, window_, image_gradient, dx);
  }

 private:
  static Shape frame_of(const Shape& out) { return {out[1], out[2], out[3]}; }

  /// The images of the input, in scratch where they are not the input.
  const void* gathered(const OpArgs& a) {
    if (window_.is_identity()) return a.inputs[0];
    kernels_.gather_slabs(a, window_, a.inputs[0], a.scratch);
    return a.scratch;
  }

  Kernels kernels_;
  kernels::DepthWindow window_;
  std::uint64_t image_bytes_;
  InnerOp images_;
};

/// A Conv2DTranspose of every frame to kernel_size[0] times the filters, summed over windows along the depth
/// (depth_window()); bias and activation follow. The arenas store the kernel with its depth next to its filters.
///
/// `Kernels`: as for Conv3DOp, and functions for the bias and the activation. These are bias_add(a, y, bias, positions,
/// width), bias_workspace(rows, positions, width) in bytes, bias_gradient(a, dy, positions, width, workspace,
/// gradient), apply(a) and undo(a).
template <class Kernels>
class Conv3DTransposeOp final : public Op {
 public:
  Conv3DTransposeOp(const nn::Conv3DTransposeSpec& spec, const OpContext& context, Device& device)
      : kernels_(context, device),
        window_(depth_window(spec, context.output(), 1)),
        bias_(spec.use_bias),
        trains_(context.trains()),
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

  std::int64_t positions() const { return window_.in_d * window_.positions; }  // per sample of the output

  Kernels kernels_;
  kernels::DepthWindow window_;  // from the output back to the input
  bool bias_, trains_;
  std::uint64_t slab_bytes_, bias_bytes_;
  InnerOp frames_;
};

}  // namespace dptrain::backend
