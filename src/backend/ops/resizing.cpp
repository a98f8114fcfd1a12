// Cropping2D, ZeroPadding2D, UpSampling2D and Resizing.

#include "nn/resizing.h"
#include "backend/ops/kernel_op.h"
#include "core/shape.h"
#include "kernels/geometry.h"
#include "nn/geometry.h"
#include DPTRAIN_KERNELS(pad.h)
#include DPTRAIN_KERNELS(upsample.h)

namespace dptrain::backend::DPTRAIN_BACKEND {
namespace {

/// `inside`: the image that `sides` are around.
kernel::Padding sides_padding(const nn::Margins2D& sides, const Shape& inside) {
  return {.in_h = inside[0],
          .in_w = inside[1],
          .channels = inside[2],
          .top = sides.top,
          .bottom = sides.bottom,
          .left = sides.left,
          .right = sides.right};
}

/// Cropping2D and ZeroPadding2D. A cropping's output is the interior of its input, so each pass of one layer is the
/// other pass of the other layer.
class PaddingOp final : public KernelOp {
 public:
  PaddingOp(const nn::Cropping2DSpec& spec, const OpContext& context, Device& device)
      : KernelOp(context, device), crops_(true), padding_(sides_padding(spec.cropping, context.output())) {}
  PaddingOp(const nn::ZeroPadding2DSpec& spec, const OpContext& context, Device& device)
      : KernelOp(context, device), crops_(false), padding_(sides_padding(spec.padding, context.input(0))) {}

  void forward(const OpArgs& a) override { run(a, crops_, a.in<Element>(), a.out<Element>()); }
  void backward(const OpArgs& a) override { run(a, !crops_, a.dy<Element>(), a.dx<Element>()); }

 private:
  void run(const OpArgs& a, bool crop, const Element* x, Element* y) const {
    (crop ? kernel::zero_pad_backward : kernel::zero_pad_forward)(launch(a), type_, padding_, x, a.rows, y);
  }

  bool crops_;
  kernel::Padding padding_;
};

/// From the step's input to its output.
kernels::UpsampleShape upsample_shape(const OpContext& context, nn::Interpolation interpolation) {
  const Shape in = context.input(0), out = context.output();
  return {.in_h = in[0],
          .in_w = in[1],
          .channels = in[2],
          .out_h = out[0],
          .out_w = out[1],
          .bilinear = interpolation == nn::Interpolation::kBilinear};
}

/// UpSampling2D and Resizing.
class ResizingOp final : public KernelOp {
 public:
  template <class Spec>
  ResizingOp(const Spec& spec, const OpContext& context, Device& device)
      : KernelOp(context, device), shape_(upsample_shape(context, spec.interpolation)) {}

  void forward(const OpArgs& a) override {
    kernel::upsample_forward(launch(a), type_, shape_, a.in<Element>(), a.rows, a.out<Element>());
  }
  void backward(const OpArgs& a) override {
    kernel::upsample_backward(launch(a), type_, shape_, a.dy<Element>(), a.rows, a.dx<Element>());
  }

 private:
  kernels::UpsampleShape shape_;
};

const RegisteredOp kCropping2D = op<nn::Cropping2DSpec, PaddingOp>(kKind);
const RegisteredOp kZeroPadding2D = op<nn::ZeroPadding2DSpec, PaddingOp>(kKind);
const RegisteredOp kUpSampling2D = op<nn::UpSampling2DSpec, ResizingOp>(kKind);
const RegisteredOp kResizing = op<nn::ResizingSpec, ResizingOp>(kKind);

}  // namespace
}  // namespace dptrain::backend::DPTRAIN_BACKEND
