#include "nn/merging.h"

#include "backend/cpu/sum_op.h"
#include "backend/ops/activations.h"

namespace dptrain::backend::cpu {
namespace {

class AddOp final : public SumOp {
 public:
  AddOp(const nn::AddSpec&, const OpContext& context, Device&) : SumOp(context, 1.0F), epilogue_(context) {}

  /// The end of a residual block is one pass each way.
  void forward(const OpArgs& a) override {
    if (of_two() && epilogue_.is_relu()) return kernels::cpu::add_relu(a.in(), a.in(1), a.out(), a.rows * elements());
    SumOp::forward(a);
    epilogue_.apply({}, a.out(), a.rows);
  }
  void backward(const OpArgs& a) override {
    if (of_two() && epilogue_.is_relu() && epilogue_.to_undo() && a.dx() != nullptr && a.dx(1) != nullptr)
      return kernels::cpu::add_relu_backward(a.out(), a.dy(), a.dx(), a.dx(1), a.rows * elements());
    epilogue_.undo({}, a.out(), a.dy(), a.rows);
    SumOp::backward(a);
  }

 private:
  Epilogue epilogue_;
};

const RegisteredOp kCpuAdd = op<nn::AddSpec, AddOp>(DeviceKind::kCpu, {.fuses = {takes_activation()}});

}  // namespace
}  // namespace dptrain::backend::cpu
