#include "nn/pooling.h"

#include "backend/gpu/gpu_op.h"
#include "backend/pool_window.h"
#include "kernels/cuda/pool.h"

namespace dptrain::backend::DPTRAIN_BACKEND {
namespace {

class AveragePooling2DOp final : public GpuOp {
 public:
  AveragePooling2DOp(const nn::AveragePooling2DSpec& spec, const OpContext& context, Device& device)
      : GpuOp(context, device), window_(pool_window(spec, context)) {}

  void forward(const OpArgs& a) override {
    kernel::avg_pool_forward(at(a), type_, window_, a.inputs[0], a.rows, a.out<void>());
  }
  void backward(const OpArgs& a) override {
    kernel::avg_pool_backward(at(a), type_, window_, a.dy<void>(), a.rows, a.input_gradients[0]);
  }

 private:
  kernel::PoolWindow window_;
};

const RegisteredOp kAveragePooling2D = op<nn::AveragePooling2DSpec, AveragePooling2DOp>(kKind);

}  // namespace
}  // namespace dptrain::backend::DPTRAIN_BACKEND
