#include "nn/resizing.h"

#include "backend/gpu/gpu_op.h"
#include "backend/sides_padding.h"
#include "kernels/cuda/pad.h"

namespace dptrain::backend::DPTRAIN_BACKEND {
namespace {

/// Zero padding backwards: the output is what is inside.
class Cropping2DOp final : public GpuOp {
 public:
  Cropping2DOp(const nn::Cropping2DSpec& spec, const OpContext& context, Device& device)
      : GpuOp(context, device), padding_(sides_padding<kernel::Padding>(spec.cropping, context.output())) {}

  void forward(const OpArgs& a) override {
    kernel::zero_pad_backward(at(a), type_, padding_, a.inputs[0], a.rows, a.out<void>());
  }
  void backward(const OpArgs& a) override {
    kernel::zero_pad_forward(at(a), type_, padding_, a.dy<void>(), a.rows, a.input_gradients[0]);
  }

 private:
  kernel::Padding padding_;
};

const RegisteredOp kCropping2D = op<nn::Cropping2DSpec, Cropping2DOp>(kKind);

}  // namespace
}  // namespace dptrain::backend::DPTRAIN_BACKEND
