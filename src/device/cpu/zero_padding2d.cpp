#include "layers/zero_padding2d.h"

#include "device/device.h"
#include "kernels/cpu/pad.h"

namespace dptrain::device::cpu {
namespace {

class ZeroPadding2DOp final : public Op {
 public:
  ZeroPadding2DOp(const layers::ZeroPadding2DSpec& spec, const OpContext& context, Device&) {
    const Shape& in = context.input(0);
    padding_ = {.in_h = in[0],
                .in_w = in[1],
                .channels = in[2],
                .top = spec.padding.top,
                .bottom = spec.padding.bottom,
                .left = spec.padding.left,
                .right = spec.padding.right};
  }

  void forward(const OpArgs& a) override { kernels::cpu::zero_pad_forward(padding_, a.in(), a.rows, a.out()); }
  void backward(const OpArgs& a) override {
    kernels::cpu::zero_pad_backward(padding_, a.dy(), a.rows, a.dx());
  }

 private:
  kernels::cpu::Padding padding_{};
};

const RegisteredOp kCpuZeroPadding2D = op<layers::ZeroPadding2DSpec, ZeroPadding2DOp>(DeviceKind::kCpu);

}  // namespace
}  // namespace dptrain::device::cpu
