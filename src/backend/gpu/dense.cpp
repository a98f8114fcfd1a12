#include "nn/dense.h"

#include "backend/gpu/convolution_op.h"

namespace dptrain::backend::DPTRAIN_BACKEND {
namespace {

/// Acts on the last axis: whatever is before it are images of one point.
class DenseOp final : public ConvolutionOp {
 public:
  DenseOp(const nn::DenseSpec& spec, const OpContext& context, Device& device)
      : ConvolutionOp(sample_of(spec, context.input(0)), context, device) {}

 private:
  static gpu::ConvProblem sample_of(const nn::DenseSpec& spec, const Shape& input) {
    gpu::ConvProblem problem{{.in_channels = input.back(), .out_channels = spec.units}};
    problem.rows = input.elements() / input.back();
    problem.bias = spec.use_bias;
    return problem;
  }
};

const RegisteredOp kDense =
    op<nn::DenseSpec, DenseOp>(kKind, {.fuses = {takes_activation()}, .weight_orders = {{1, 0}}});

}  // namespace
}  // namespace dptrain::backend::DPTRAIN_BACKEND
