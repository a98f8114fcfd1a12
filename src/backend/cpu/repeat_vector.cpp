#include "nn/reshaping.h"

#include "backend/cpu/broadcast.h"
#include "backend/device.h"
#include "kernels/cpu/elementwise.h"

namespace dptrain::backend::cpu {
namespace {

class RepeatVectorOp final : public Op {
 public:
  RepeatVectorOp(const nn::RepeatVectorSpec&, const OpContext& context, Device&)
      : copies_(context.input(0), context.output()), elements_(context.output().elements()) {}

  void forward(const OpArgs& a) override { copies_.copy(a.in(), a.rows, a.out()); }
  void backward(const OpArgs& a) override {
    if (copies_.trivial())
      kernels::cpu::copy({}, DType::kF32, a.dy(), a.dx(), a.rows * elements_);
    else
      copies_.reduce(a.dy(), a.rows, a.dx());
  }

 private:
  Broadcast copies_;
  std::int64_t elements_;
};

const RegisteredOp kCpuRepeatVector = op<nn::RepeatVectorSpec, RepeatVectorOp>(DeviceKind::kCpu);

}  // namespace
}  // namespace dptrain::backend::cpu
