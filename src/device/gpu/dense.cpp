#include "layers/dense.h"

#include "device/gpu/convolution_op.h"

namespace dptrain::device::DPTRAIN_GPU {
namespace {

/// Acts on the last axis: whatever is before it are images of one point.
class DenseOp final : public ConvolutionOp {
 public:
  DenseOp(const layers::DenseSpec& spec, const OpContext& context, Device& device)
      : ConvolutionOp({.rows = context.input(0).elements() / context.input(0).back(),
                       .c = context.input(0).back(),
                       .k = spec.units,
                       .bias = spec.use_bias},
                      context, device) {}
};

const RegisteredOp kDense = op<layers::DenseSpec, DenseOp>(kKind);

}  // namespace
}  // namespace dptrain::device::DPTRAIN_GPU
