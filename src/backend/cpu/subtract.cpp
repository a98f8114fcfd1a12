#include "nn/merging.h"

#include "backend/cpu/broadcast.h"
#include "backend/device.h"
#include "kernels/cpu/elementwise.h"

namespace dptrain::backend::cpu {
namespace {

class SubtractOp final : public Op {
 public:
  SubtractOp(const nn::SubtractSpec&, const OpContext& context, Device&)
      : first_(context.input(0), context.output()),
        second_(context.input(1), context.output()),
        elements_(context.output().elements()) {}

  void forward(const OpArgs& a) override {
    if (first_.trivial() && second_.trivial())
      return kernels::cpu::subtract(a.in(), a.in(1), a.out(), a.rows * elements_);
    first_.copy(a.in(), a.rows, a.out());
    second_.subtract(a.in(1), a.rows, a.out());
  }

  void backward(const OpArgs& a) override {
    if (a.dx() != nullptr) hand_down(first_, a.dy(), a.rows, a.dx());
    if (a.dx(1) == nullptr) return;
    kernels::cpu::scale_offset(a.dy(), -1.0F, 0.0F, a.dy(), a.rows * elements_);
    hand_down(second_, a.dy(), a.rows, a.dx(1));
  }

 private:
  void hand_down(const Broadcast& input, const float* dy, std::int64_t rows, float* dx) const {
    if (input.trivial())
      kernels::cpu::copy({}, DType::kF32, dy, dx, rows * elements_);
    else
      input.reduce(dy, rows, dx);
  }

  Broadcast first_, second_;
  std::int64_t elements_;
};

const RegisteredOp kCpuSubtract = op<nn::SubtractSpec, SubtractOp>(DeviceKind::kCpu);

}  // namespace
}  // namespace dptrain::backend::cpu
