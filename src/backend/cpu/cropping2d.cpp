#include "nn/resizing.h"

#include "backend/device.h"
#include "backend/sides_padding.h"
#include "kernels/cpu/pad.h"

namespace dptrain::backend::cpu {
namespace {

/// Zero padding backwards: the output is what is inside.
class Cropping2DOp final : public Op {
 public:
  Cropping2DOp(const nn::Cropping2DSpec& spec, const OpContext& context, Device&)
      : padding_(sides_padding<kernels::cpu::Padding>(spec.cropping, context.output())) {}

  void forward(const OpArgs& a) override { kernels::cpu::zero_pad_backward(padding_, a.in(), a.rows, a.out()); }
  void backward(const OpArgs& a) override { kernels::cpu::zero_pad_forward(padding_, a.dy(), a.rows, a.dx()); }

 private:
  kernels::cpu::Padding padding_;
};

const RegisteredOp kCpuCropping2D = op<nn::Cropping2DSpec, Cropping2DOp>(DeviceKind::kCpu);

}  // namespace
}  // namespace dptrain::backend::cpu
