#include "layers/multiply.h"

#include "device/gpu/gpu_op.h"
#include "device/gpu/merge_shapes.h"

namespace dptrain::device::DPTRAIN_GPU {
namespace {

/// The gradient of an input is the output's gradient times all other inputs, summed where the input was spread.
class MultiplyOp final : public GpuOp {
 public:
  MultiplyOp(const layers::MultiplySpec&, const OpContext& context, Device& device)
      : GpuOp(context, device), merge_(merge_of(context)) {}

  void forward(const OpArgs& a) override {
    kernel::multiply_forward(at(a), type_, merge_, a.inputs.data(), a.rows, a.out<void>());
  }

  void backward(const OpArgs& a) override {
    for (int i = 0; i < merge_.inputs; ++i)
      if (void* const dx = a.input_gradients[static_cast<std::size_t>(i)]; dx != nullptr)
        kernel::multiply_backward(at(a), type_, merge_, i, a.inputs.data(), a.dy<void>(), a.rows, dx);
  }

 private:
  kernel::Merge merge_;
};

const RegisteredOp kMultiply = op<layers::MultiplySpec, MultiplyOp>(kKind);

}  // namespace
}  // namespace dptrain::device::DPTRAIN_GPU
