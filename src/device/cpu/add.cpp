#include "layers/add.h"

#include "device/cpu/activation.h"
#include "device/cpu/broadcast.h"
#include "device/device.h"
#include "kernels/cpu/elementwise.h"

namespace dptrain::device::cpu {
namespace {

class AddOp final : public Op {
 public:
  AddOp(const layers::AddSpec&, const OpContext& context, Device&)
      : elements_(context.output().elements()), epilogue_(context) {
    for (std::size_t i = 0; i < context.step.inputs.size(); ++i)
      inputs_.emplace_back(context.input(i), context.output());
  }

  void forward(const OpArgs& a) override {
    std::size_t next = 1;
    if (inputs_[0].trivial() && inputs_[1].trivial()) {
      kernels::cpu::add(a.in(), a.in(1), a.out(), a.rows * elements_);
      next = 2;
    } else {
      inputs_[0].copy(a.in(), a.rows, a.out());
    }
    for (; next < inputs_.size(); ++next) inputs_[next].add(a.in(next), a.rows, a.out());
    epilogue_.apply(a.out(), a.rows);
  }

  void backward(const OpArgs& a) override {
    epilogue_.undo(a.out(), a.dy(), a.rows);
    for (std::size_t i = 0; i < inputs_.size(); ++i) {
      if (a.dx(i) == nullptr) continue;
      if (inputs_[i].trivial())
        kernels::cpu::copy(a.dy(), a.dx(i), a.rows * elements_);
      else
        inputs_[i].reduce(a.dy(), a.rows, a.dx(i));
    }
  }

 private:
  std::vector<Broadcast> inputs_;
  std::int64_t elements_;
  Epilogue epilogue_;
};

const RegisteredOp kCpuAdd = op<layers::AddSpec, AddOp>(DeviceKind::kCpu);

}  // namespace
}  // namespace dptrain::device::cpu
