#include "layers/conv2d.h"

#include "device/gpu/convolution_op.h"

namespace dptrain::device::DPTRAIN_GPU {
namespace {

gpu::ConvProblem sample_of(const layers::Conv2DSpec& spec, const OpContext& context) {
  const Shape &in = context.input(0), &out = context.output();
  const auto window = layers::window(in, spec.kernel_size, spec.strides, spec.dilation_rate, spec.padding);
  return {.rows = 1,
          .h = in[0],
          .w = in[1],
          .c = in[2],
          .out_h = out[0],
          .out_w = out[1],
          .k = out[2],
          .r = spec.kernel_size.h,
          .s = spec.kernel_size.w,
          .stride_h = spec.strides.h,
          .stride_w = spec.strides.w,
          .dilation_h = spec.dilation_rate.h,
          .dilation_w = spec.dilation_rate.w,
          .pad_top = window.h.pad_before,
          .pad_bottom = window.h.pad_after,
          .pad_left = window.w.pad_before,
          .pad_right = window.w.pad_after,
          .groups = spec.groups,
          .bias = spec.use_bias};
}

class Conv2DOp final : public ConvolutionOp {
 public:
  Conv2DOp(const layers::Conv2DSpec& spec, const OpContext& context, Device& device)
      : ConvolutionOp(sample_of(spec, context), context, device) {}
};

const RegisteredOp kConv2D = op<layers::Conv2DSpec, Conv2DOp>(kKind);

}  // namespace
}  // namespace dptrain::device::DPTRAIN_GPU
