#include "nn/optimizers.h"

#include "backend/cpu/optimizers/adam_step.h"

namespace dptrain::backend::cpu {
namespace {

class NadamOp final : public OptimizerOp {
 public:
  NadamOp(const nn::NadamSpec& spec, const UpdateContext&, Device&) : spec_(spec) {}

  void run(const OptimizerArgs& a) override {
    const UpdateBuffers& b = a.buffers;
    kernels::cpu::nadam_update(adam_step(spec_, a.update), b.gradients, a.n, b.weights, b.slots[0], b.slots[1]);
  }

 private:
  const nn::NadamSpec& spec_;
};

const RegisteredOptimizerOp kCpuNadam = optimizer_op<nn::NadamSpec, NadamOp>(DeviceKind::kCpu);

}  // namespace
}  // namespace dptrain::backend::cpu
