#include "nn/pooling.h"

#include "backend/device.h"
#include "kernels/cpu/pool.h"

namespace dptrain::backend::cpu {
namespace {

class GlobalAveragePooling2DOp final : public Op {
 public:
  GlobalAveragePooling2DOp(const nn::GlobalAveragePooling2DSpec&, const OpContext& context, Device&)
      : spatial_(context.input(0)[0] * context.input(0)[1]), channels_(context.input(0)[2]) {}

  void forward(const OpArgs& a) override {
    kernels::cpu::global_avg_forward(a.in(), a.rows, spatial_, channels_, a.out());
  }
  void backward(const OpArgs& a) override {
    kernels::cpu::global_avg_backward(a.dy(), a.rows, spatial_, channels_, a.dx());
  }

 private:
  std::int64_t spatial_, channels_;
};

const RegisteredOp kCpuGlobalAveragePooling2D =
    op<nn::GlobalAveragePooling2DSpec, GlobalAveragePooling2DOp>(DeviceKind::kCpu);

}  // namespace
}  // namespace dptrain::backend::cpu
