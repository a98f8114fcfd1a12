#include "layers/multiply.h"

#include <algorithm>

#include "device/cpu/broadcast.h"
#include "device/device.h"
#include "kernels/cpu/elementwise.h"

namespace dptrain::device::cpu {
namespace {

/// The gradient of an input is the output's gradient times all other inputs, summed where the input was spread.
class MultiplyOp final : public Op {
 public:
  MultiplyOp(const layers::MultiplySpec&, const OpContext& context, Device&) : elements_(context.output().elements()) {
    for (std::size_t i = 0; i < context.step.inputs.size(); ++i)
      inputs_.emplace_back(context.input(i), context.output());
    const bool spread = std::any_of(inputs_.begin(), inputs_.end(), [](const Broadcast& b) { return !b.trivial(); });
    if (spread && context.step.has_backward)
      scratch_ = static_cast<std::uint64_t>(context.rows * elements_) * sizeof(float);
  }

  plan::Need need() const override { return {.saved = 0, .scratch = scratch_}; }

  void forward(const OpArgs& a) override {
    inputs_[0].copy(a.in(), a.rows, a.out());
    for (std::size_t i = 1; i < inputs_.size(); ++i) inputs_[i].multiply(a.in(i), a.rows, a.out());
  }

  void backward(const OpArgs& a) override {
    for (std::size_t i = 0; i < inputs_.size(); ++i) {
      if (a.dx(i) == nullptr) continue;
      const bool full = inputs_[i].trivial();
      float* const product = full ? a.dx(i) : static_cast<float*>(a.scratch);
      kernels::cpu::copy(a.dy(), product, a.rows * elements_);
      for (std::size_t j = 0; j < inputs_.size(); ++j)
        if (j != i) inputs_[j].multiply(a.in(j), a.rows, product);
      if (!full) inputs_[i].reduce(product, a.rows, a.dx(i));
    }
  }

 private:
  std::vector<Broadcast> inputs_;
  std::int64_t elements_;
  std::uint64_t scratch_ = 0;
};

const RegisteredOp kCpuMultiply = op<layers::MultiplySpec, MultiplyOp>(DeviceKind::kCpu);

}  // namespace
}  // namespace dptrain::device::cpu
