#include "nn/reshaping.h"

#include "backend/gpu/gpu_op.h"
#include "kernels/cuda/masked_steps.h"

namespace dptrain::backend::DPTRAIN_BACKEND {
namespace {

class MaskingOp final : public GpuOp {
 public:
  MaskingOp(const nn::MaskingSpec& spec, const OpContext& context, Device& device)
      : GpuOp(context, device),
        value_(static_cast<float>(spec.mask_value)),
        width_(context.output().back()),
        steps_(context.output(1).elements()) {}

  void forward(const OpArgs& a) override {
    kernel::mask_steps(at(a), type_, a.inputs[0], a.rows * steps_, width_, value_, a.out<std::uint8_t>(1),
                       a.out<void>());
  }
  void backward(const OpArgs& a) override {
    kernel::keep_valid_steps(at(a), type_, a.dy<void>(), a.out<std::uint8_t>(1), a.rows * steps_, width_,
                             a.input_gradients[0]);
  }

 private:
  float value_;
  std::int64_t width_, steps_;
};

const RegisteredOp kMasking = op<nn::MaskingSpec, MaskingOp>(kKind);

}  // namespace
}  // namespace dptrain::backend::DPTRAIN_BACKEND
