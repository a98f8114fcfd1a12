#include "nn/resizing.h"

#include "backend/gpu/gpu_op.h"
#include "backend/upsample_shape.h"
#include "kernels/cuda/upsample.h"

namespace dptrain::backend::DPTRAIN_BACKEND {
namespace {

class UpSampling2DOp final : public GpuOp {
 public:
  UpSampling2DOp(const nn::UpSampling2DSpec& spec, const OpContext& context, Device& device)
      : GpuOp(context, device), shape_(upsample_shape(context, spec.interpolation)) {}

  void forward(const OpArgs& a) override {
    kernel::upsample_forward(at(a), type_, shape_, a.inputs[0], a.rows, a.out<void>());
  }
  void backward(const OpArgs& a) override {
    kernel::upsample_backward(at(a), type_, shape_, a.dy<void>(), a.rows, a.input_gradients[0]);
  }

 private:
  kernels::UpsampleShape shape_;
};

const RegisteredOp kUpSampling2D = op<nn::UpSampling2DSpec, UpSampling2DOp>(kKind);

}  // namespace
}  // namespace dptrain::backend::DPTRAIN_BACKEND
