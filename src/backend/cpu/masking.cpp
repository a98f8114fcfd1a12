#include "nn/reshaping.h"

#include "backend/device.h"
#include "kernels/cpu/masked_steps.h"

namespace dptrain::backend::cpu {
namespace {

class MaskingOp final : public Op {
 public:
  MaskingOp(const nn::MaskingSpec& spec, const OpContext& context, Device&)
      : value_(static_cast<float>(spec.mask_value)),
        width_(context.output().back()),
        steps_(context.output(1).elements()) {}

  void forward(const OpArgs& a) override {
    kernels::cpu::mask_steps(a.in(), a.rows * steps_, width_, value_, a.out<std::uint8_t>(1), a.out());
  }
  void backward(const OpArgs& a) override {
    kernels::cpu::keep_valid_steps(a.dy(), a.out<std::uint8_t>(1), a.rows * steps_, width_, a.dx());
  }

 private:
  float value_;
  std::int64_t width_, steps_;
};

const RegisteredOp kCpuMasking = op<nn::MaskingSpec, MaskingOp>(DeviceKind::kCpu);

}  // namespace
}  // namespace dptrain::backend::cpu
