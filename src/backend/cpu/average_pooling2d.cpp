#include "nn/pooling.h"

#include "backend/device.h"
#include "backend/pool_window.h"
#include "kernels/cpu/pool.h"

namespace dptrain::backend::cpu {
namespace {

class AveragePooling2DOp final : public Op {
 public:
  AveragePooling2DOp(const nn::AveragePooling2DSpec& spec, const OpContext& context, Device&)
      : window_(pool_window(spec, context)) {}

  void forward(const OpArgs& a) override { kernels::cpu::avg_pool_forward(window_, a.in(), a.rows, a.out()); }
  void backward(const OpArgs& a) override { kernels::cpu::avg_pool_backward(window_, a.dy(), a.rows, a.dx()); }

 private:
  kernels::cpu::PoolWindow window_;
};

const RegisteredOp kCpuAveragePooling2D = op<nn::AveragePooling2DSpec, AveragePooling2DOp>(DeviceKind::kCpu);

}  // namespace
}  // namespace dptrain::backend::cpu
