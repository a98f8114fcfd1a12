#include "nn/resizing.h"

#include "backend/device.h"
#include "backend/upsample_shape.h"
#include "kernels/cpu/upsample.h"

namespace dptrain::backend::cpu {
namespace {

class UpSampling2DOp final : public Op {
 public:
  UpSampling2DOp(const nn::UpSampling2DSpec& spec, const OpContext& context, Device&)
      : shape_(upsample_shape(context, spec.interpolation)) {}

  void forward(const OpArgs& a) override { kernels::cpu::upsample_forward(shape_, a.in(), a.rows, a.out()); }
  void backward(const OpArgs& a) override { kernels::cpu::upsample_backward(shape_, a.dy(), a.rows, a.dx()); }

 private:
  kernels::UpsampleShape shape_;
};

const RegisteredOp kCpuUpSampling2D = op<nn::UpSampling2DSpec, UpSampling2DOp>(DeviceKind::kCpu);

}  // namespace
}  // namespace dptrain::backend::cpu
