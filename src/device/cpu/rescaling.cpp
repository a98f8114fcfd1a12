#include "layers/rescaling.h"

#include "device/device.h"
#include "kernels/cpu/elementwise.h"

namespace dptrain::device::cpu {
namespace {

class RescalingOp final : public Op {
 public:
  RescalingOp(const layers::RescalingSpec& spec, const OpContext& context, Device&)
      : scale_(static_cast<float>(spec.scale)),
        offset_(static_cast<float>(spec.offset)),
        elements_(context.output().elements()) {}

  void forward(const OpArgs& a) override {
    kernels::cpu::scale_offset(a.in(), scale_, offset_, a.out(), a.rows * elements_);
  }
  void backward(const OpArgs& a) override {
    kernels::cpu::scale_offset(a.dy(), scale_, 0.0F, a.dx(), a.rows * elements_);
  }

 private:
  float scale_, offset_;
  std::int64_t elements_;
};

const RegisteredOp kCpuRescaling = op<layers::RescalingSpec, RescalingOp>(DeviceKind::kCpu);

}  // namespace
}  // namespace dptrain::device::cpu
