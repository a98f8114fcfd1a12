#include "nn/resizing.h"

#include "backend/gpu/gpu_op.h"
#include "backend/upsample_shape.h"
#include "kernels/cuda/upsample.h"

namespace dptrain::backend::DPTRAIN_BACKEND {
namespace {

class ResizingOp final : public GpuOp {
 public:
  ResizingOp(const nn::ResizingSpec& spec, const OpContext& context, Device& device)
      : GpuOp(context, device), shape_(upsample_shape(context, spec.interpolation)) {}

  void forward(const OpArgs& a) override {
    kernel::upsample_forward(at(a), type_, shape_, a.in<void>(), a.rows, a.out<void>());
  }
  void backward(const OpArgs& a) override {
    kernel::upsample_backward(at(a), type_, shape_, a.dy<void>(), a.rows, a.dx<void>());
  }

 private:
  kernels::UpsampleShape shape_;
};

const RegisteredOp kResizing = op<nn::ResizingSpec, ResizingOp>(kKind);

}  // namespace
}  // namespace dptrain::backend::DPTRAIN_BACKEND
