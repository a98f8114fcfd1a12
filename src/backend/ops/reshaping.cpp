// Masking. Permute differs by backend (permute.cpp); RepeatVector is with the merges.

#include "nn/reshaping.h"
#include "backend/ops/kernel_op.h"
#include DPTRAIN_KERNELS(masked_steps.h)

namespace dptrain::backend::DPTRAIN_BACKEND {
namespace {

class MaskingOp final : public KernelOp {
 public:
  MaskingOp(const nn::MaskingSpec& spec, const OpContext& context, Device& device)
      : KernelOp(context, device),
        value_(static_cast<float>(spec.mask_value)),
        width_(context.output().back()),
        steps_(context.output(1).elements()) {}

  void forward(const OpArgs& a) override {
    kernel::mask_steps(launch(a), type_, a.in<Element>(), a.rows * steps_, width_, value_, a.out<std::uint8_t>(1),
                       a.out<Element>());
  }
  void backward(const OpArgs& a) override {
    kernel::keep_valid_steps(launch(a), type_, a.dy<Element>(), a.out<std::uint8_t>(1), a.rows * steps_, width_,
                             a.dx<Element>());
  }

 private:
  float value_;
  std::int64_t width_, steps_;
};

const RegisteredOp kMasking = op<nn::MaskingSpec, MaskingOp>(kKind);

}  // namespace
}  // namespace dptrain::backend::DPTRAIN_BACKEND
