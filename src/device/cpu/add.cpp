#include "layers/add.h"

#include "device/cpu/activation.h"
#include "device/cpu/sum_op.h"

namespace dptrain::device::cpu {
namespace {

class AddOp final : public SumOp {
 public:
  AddOp(const layers::AddSpec&, const OpContext& context, Device&) : SumOp(context, 1.0F), epilogue_(context) {}

  void forward(const OpArgs& a) override {
    SumOp::forward(a);
    epilogue_.apply(a.out(), a.rows);
  }
  void backward(const OpArgs& a) override {
    epilogue_.undo(a.out(), a.dy(), a.rows);
    SumOp::backward(a);
  }

 private:
  Epilogue epilogue_;
};

const RegisteredOp kCpuAdd = op<layers::AddSpec, AddOp>(DeviceKind::kCpu);

}  // namespace
}  // namespace dptrain::device::cpu
