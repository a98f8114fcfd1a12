#include "nn/merging.h"

#include <algorithm>

#include "backend/cpu/broadcast.h"
#include "backend/cpu/masked_fill.h"
#include "backend/device.h"
#include "backend/masked_inputs.h"
#include "kernels/cpu/elementwise.h"
#include "kernels/cpu/masked_steps.h"

namespace dptrain::backend::cpu {
namespace {

/// The gradient of an input is the output's gradient times all other inputs, summed where the input was spread.
class MultiplyOp final : public Op {
 public:
  MultiplyOp(const nn::MultiplySpec&, const OpContext& context, Device&)
      : masked_(context, 1.0F, 0.0F), elements_(context.output().elements()) {
    for (std::size_t i = 0; i < context.inputs(); ++i) inputs_.emplace_back(context.input(i), context.output());
    const bool spread = std::any_of(inputs_.begin(), inputs_.end(), [](const Broadcast& b) { return !b.trivial(); });
    if (spread && context.step.has_backward)
      scratch_ = static_cast<std::uint64_t>(context.rows * elements_) * sizeof(float);
  }

  plan::Need need() const override { return {.saved = 0, .scratch = masked_.scratch() + scratch_}; }

  void forward(const OpArgs& a) override {
    const auto x = masked_.read(a, a.scratch, fill_masked);
    inputs_[0].copy(static_cast<const float*>(x[0]), a.rows, a.out());
    for (std::size_t i = 1; i < inputs_.size(); ++i)
      inputs_[i].multiply(static_cast<const float*>(x[i]), a.rows, a.out());
  }

  void backward(const OpArgs& a) override {
    const auto x = masked_.read(a, a.scratch, fill_masked);
    for (std::size_t i = 0; i < inputs_.size(); ++i) {
      float* const dx = a.dx(i);
      if (dx == nullptr) continue;
      const bool full = inputs_[i].trivial();
      float* const product =
          full ? dx : reinterpret_cast<float*>(static_cast<std::byte*>(a.scratch) + masked_.scratch());
      kernels::cpu::copy({}, DType::kF32, a.dy(), product, a.rows * elements_);
      for (std::size_t j = 0; j < inputs_.size(); ++j)
        if (j != i) inputs_[j].multiply(static_cast<const float*>(x[j]), a.rows, product);
      if (!full) inputs_[i].reduce(product, a.rows, dx);
      masked_.end_gradient(a, i, [&](const std::uint8_t* mask, std::int64_t steps, std::int64_t width) {
        kernels::cpu::keep_valid_steps({}, DType::kF32, dx, mask, steps, width, dx);
      });
    }
  }

 private:
  MaskedInputs masked_;
  std::vector<Broadcast> inputs_;
  std::int64_t elements_;
  std::uint64_t scratch_ = 0;
};

const RegisteredOp kCpuMultiply = op<nn::MultiplySpec, MultiplyOp>(DeviceKind::kCpu);

}  // namespace
}  // namespace dptrain::backend::cpu
