#include "nn/resizing.h"

#include "backend/device.h"
#include "backend/upsample_shape.h"
#include "kernels/cpu/upsample.h"

namespace dptrain::backend::cpu {
namespace {

class ResizingOp final : public Op {
 public:
  ResizingOp(const nn::ResizingSpec& spec, const OpContext& context, Device&)
      : shape_(upsample_shape(context, spec.interpolation)) {}

  void forward(const OpArgs& a) override { kernels::cpu::upsample_forward(shape_, a.in(), a.rows, a.out()); }
  void backward(const OpArgs& a) override { kernels::cpu::upsample_backward(shape_, a.dy(), a.rows, a.dx()); }

 private:
  kernels::UpsampleShape shape_;
};

const RegisteredOp kCpuResizing = op<nn::ResizingSpec, ResizingOp>(DeviceKind::kCpu);

}  // namespace
}  // namespace dptrain::backend::cpu
