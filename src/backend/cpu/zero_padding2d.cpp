#include "nn/resizing.h"

#include "backend/device.h"
#include "backend/sides_padding.h"
#include "kernels/cpu/pad.h"

namespace dptrain::backend::cpu {
namespace {

class ZeroPadding2DOp final : public Op {
 public:
  ZeroPadding2DOp(const nn::ZeroPadding2DSpec& spec, const OpContext& context, Device&)
      : padding_(sides_padding<kernels::cpu::Padding>(spec.padding, context.input(0))) {}

  void forward(const OpArgs& a) override { kernels::cpu::zero_pad_forward(padding_, a.in(), a.rows, a.out()); }
  void backward(const OpArgs& a) override { kernels::cpu::zero_pad_backward(padding_, a.dy(), a.rows, a.dx()); }

 private:
  kernels::cpu::Padding padding_;
};

const RegisteredOp kCpuZeroPadding2D = op<nn::ZeroPadding2DSpec, ZeroPadding2DOp>(DeviceKind::kCpu);

}  // namespace
}  // namespace dptrain::backend::cpu
