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
      kernels::cpu::add(a.inputs[0], a.inputs[1], a.output, a.rows * elements_);
      next = 2;
    } else {
      inputs_[0].copy(a.inputs[0], a.rows, a.output);
    }
    for (; next < inputs_.size(); ++next) inputs_[next].add(a.inputs[next], a.rows, a.output);
    epilogue_.apply(a.output, a.rows);
  }

  void backward(const OpArgs& a) override {
    epilogue_.undo(a.output, a.output_gradient, a.rows);
    for (std::size_t i = 0; i < inputs_.size(); ++i) {
      if (a.input_gradients[i] == nullptr) continue;
      if (inputs_[i].trivial())
        kernels::cpu::copy(a.output_gradient, a.input_gradients[i], a.rows * elements_);
      else
        inputs_[i].reduce(a.output_gradient, a.rows, a.input_gradients[i]);
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
