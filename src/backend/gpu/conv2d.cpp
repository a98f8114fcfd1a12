#include "nn/convolutions.h"

#include "backend/conv_window.h"
#include "backend/gpu/convolution_op.h"

namespace dptrain::backend::DPTRAIN_BACKEND {
namespace {

gpu::ConvProblem sample_of(const nn::Conv2DSpec& spec, const OpContext& context) {
  gpu::ConvProblem problem{conv_window(spec, context.input(0), context.output())};
  problem.groups = spec.groups;
  problem.bias = spec.use_bias;
  return problem;
}

class Conv2DOp final : public ConvolutionOp {
 public:
  Conv2DOp(const nn::Conv2DSpec& spec, const OpContext& context, Device& device)
      : ConvolutionOp(sample_of(spec, context), context, device) {}
};

const RegisteredOp kConv2D =
    op<nn::Conv2DSpec, Conv2DOp>(kKind, {.fuses = {takes_activation()}, .weight_orders = {{3, 0, 1, 2}}});

}  // namespace
}  // namespace dptrain::backend::DPTRAIN_BACKEND
