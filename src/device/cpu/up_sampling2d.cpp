#include "layers/up_sampling2d.h"

#include "device/device.h"
#include "kernels/cpu/upsample.h"

namespace dptrain::device::cpu {
namespace {

class UpSampling2DOp final : public Op {
 public:
  UpSampling2DOp(const layers::UpSampling2DSpec& spec, const OpContext& context, Device&)
      : shape_{.in_h = context.input(0)[0],
               .in_w = context.input(0)[1],
               .channels = context.input(0)[2],
               .size_h = spec.size.h,
               .size_w = spec.size.w,
               .bilinear = spec.interpolation == layers::Interpolation::kBilinear} {}

  void forward(const OpArgs& a) override { kernels::cpu::upsample_forward(shape_, a.in(), a.rows, a.out()); }
  void backward(const OpArgs& a) override { kernels::cpu::upsample_backward(shape_, a.dy(), a.rows, a.dx()); }

 private:
  kernels::UpsampleShape shape_;
};

const RegisteredOp kCpuUpSampling2D = op<layers::UpSampling2DSpec, UpSampling2DOp>(DeviceKind::kCpu);

}  // namespace
}  // namespace dptrain::device::cpu
