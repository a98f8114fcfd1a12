#include "nn/pooling.h"

#include "backend/gpu/gpu_op.h"
#include "kernels/cuda/pool.h"

namespace dptrain::backend::DPTRAIN_BACKEND {
namespace {

class GlobalAveragePooling2DOp final : public GpuOp {
 public:
  GlobalAveragePooling2DOp(const nn::GlobalAveragePooling2DSpec&, const OpContext& context, Device& device)
      : GpuOp(context, device), spatial_(context.input(0)[0] * context.input(0)[1]), channels_(context.input(0)[2]) {}

  void forward(const OpArgs& a) override {
    kernel::global_avg_forward(at(a), type_, a.inputs[0], a.rows, spatial_, channels_, a.out<void>());
  }
  void backward(const OpArgs& a) override {
    kernel::global_avg_backward(at(a), type_, a.dy<void>(), a.rows, spatial_, channels_, a.input_gradients[0]);
  }

 private:
  std::int64_t spatial_, channels_;
};

const RegisteredOp kGlobalAveragePooling2D = op<nn::GlobalAveragePooling2DSpec, GlobalAveragePooling2DOp>(kKind);

}  // namespace
}  // namespace dptrain::backend::DPTRAIN_BACKEND
