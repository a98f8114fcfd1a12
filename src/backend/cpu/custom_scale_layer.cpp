#include "nn/normalization.h"

#include "backend/device.h"
#include "kernels/cpu/elementwise.h"

namespace dptrain::backend::cpu {
namespace {

class CustomScaleLayerOp final : public Op {
 public:
  CustomScaleLayerOp(const nn::CustomScaleLayerSpec& spec, const OpContext& context, Device&)
      : scale_(static_cast<float>(spec.scale)), elements_(context.output().elements()) {}

  void forward(const OpArgs& a) override {
    kernels::cpu::add_scaled(a.in(), a.in(1), scale_, a.out(), a.rows * elements_);
  }
  void backward(const OpArgs& a) override {
    if (a.dx(1) != nullptr) kernels::cpu::scale_offset(a.dy(), scale_, 0.0F, a.dx(1), a.rows * elements_);
    if (a.dx() != nullptr) kernels::cpu::copy({}, DType::kF32, a.dy(), a.dx(), a.rows * elements_);
  }

 private:
  float scale_;
  std::int64_t elements_;
};

const RegisteredOp kCpuCustomScaleLayer = op<nn::CustomScaleLayerSpec, CustomScaleLayerOp>(DeviceKind::kCpu);

}  // namespace
}  // namespace dptrain::backend::cpu
