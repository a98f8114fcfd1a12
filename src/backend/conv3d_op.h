#pragma once

// The op of Conv3D on every device: a Conv2D over the images of its windows (backend/depth_window.h), whose channels
// are kernel_size[0] times as many. So the kernel lies in the arenas with its depth beside its channels, and whatever
// computes a Conv2D fast computes a Conv3D. Backward gathers the images anew.

#include "backend/conv3d_images.h"
#include "backend/depth_window.h"
#include "backend/device.h"
#include "backend/inner_op.h"
#include "backend/parts.h"
#include "nn/convolutions.h"

namespace dptrain::backend {

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
    // A convolution is done with its input when it writes its gradient, so that may lie in the same place.
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

}  // namespace dptrain::backend
