#include "layers/rescaling.h"

#include "device/gpu/gpu_op.h"
#include "kernels/cuda/affine.h"

namespace dptrain::device::DPTRAIN_GPU {
namespace {

class RescalingOp final : public GpuOp {
 public:
  RescalingOp(const layers::RescalingSpec& spec, const OpContext& context, Device& device)
      : GpuOp(context, device),
        scale_(static_cast<float>(spec.scale)),
        offset_(static_cast<float>(spec.offset)),
        elements_(context.output().elements()) {}

  void forward(const OpArgs& a) override {
    kernel::scale_offset(at(a), type_, a.inputs[0], scale_, offset_, a.out<void>(), a.rows * elements_);
  }
  void backward(const OpArgs& a) override {
    kernel::scale_offset(at(a), type_, a.dy<void>(), scale_, 0.0F, a.input_gradients[0], a.rows * elements_);
  }

 private:
  float scale_, offset_;
  std::int64_t elements_;
};

const RegisteredOp kRescaling = op<layers::RescalingSpec, RescalingOp>(kKind);

}  // namespace
}  // namespace dptrain::device::DPTRAIN_GPU
