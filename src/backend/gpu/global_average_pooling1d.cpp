#include "nn/pooling.h"

#include "backend/gpu/gpu_op.h"
#include "kernels/cuda/masked_steps.h"
#include "kernels/cuda/pool.h"

namespace dptrain::backend::DPTRAIN_BACKEND {
namespace {

class GlobalAveragePooling1DOp final : public GpuOp {
 public:
  GlobalAveragePooling1DOp(const nn::GlobalAveragePooling1DSpec&, const OpContext& context, Device& device)
      : GpuOp(context, device), steps_(context.input(0)[0]), width_(context.input(0)[1]), mask_(context.mask()) {}

  void forward(const OpArgs& a) override {
    if (mask_)
      kernel::masked_mean_forward(at(a), type_, a.inputs[0], a.in<std::uint8_t>(*mask_), a.rows, steps_, width_,
                                  a.out<void>());
    else
      kernel::global_avg_forward(at(a), type_, a.inputs[0], a.rows, steps_, width_, a.out<void>());
  }
  void backward(const OpArgs& a) override {
    if (mask_)
      kernel::masked_mean_backward(at(a), type_, a.dy<void>(), a.in<std::uint8_t>(*mask_), a.rows, steps_, width_,
                                   a.input_gradients[0]);
    else
      kernel::global_avg_backward(at(a), type_, a.dy<void>(), a.rows, steps_, width_, a.input_gradients[0]);
  }

 private:
  std::int64_t steps_, width_;
  std::optional<std::size_t> mask_;
};

const RegisteredOp kGlobalAveragePooling1D = op<nn::GlobalAveragePooling1DSpec, GlobalAveragePooling1DOp>(kKind);

}  // namespace
}  // namespace dptrain::backend::DPTRAIN_BACKEND
