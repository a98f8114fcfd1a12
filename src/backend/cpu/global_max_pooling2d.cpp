#include "nn/pooling.h"

#include "backend/device.h"
#include "kernels/cpu/pool.h"

namespace dptrain::backend::cpu {
namespace {

/// Keeps the position of each channel's largest value.
class GlobalMaxPooling2DOp final : public Op {
 public:
  GlobalMaxPooling2DOp(const nn::GlobalMaxPooling2DSpec&, const OpContext& context, Device&)
      : spatial_(context.input(0)[0] * context.input(0)[1]),
        channels_(context.input(0)[2]),
        saved_(context.step.has_backward ? static_cast<std::uint64_t>(context.rows * channels_) * sizeof(std::int32_t)
                                         : 0) {}

  plan::Need need() const override { return {.saved = saved_, .scratch = 0}; }

  void forward(const OpArgs& a) override {
    auto* const argmax = a.training && saved_ > 0 ? static_cast<std::int32_t*>(a.saved) : nullptr;
    kernels::cpu::global_max_forward(a.in(), a.rows, spatial_, channels_, a.out(), argmax);
  }
  void backward(const OpArgs& a) override {
    kernels::cpu::global_max_backward(a.dy(), static_cast<const std::int32_t*>(a.saved), a.rows, spatial_, channels_,
                                      a.dx());
  }

 private:
  std::int64_t spatial_, channels_;
  std::uint64_t saved_;
};

const RegisteredOp kCpuGlobalMaxPooling2D = op<nn::GlobalMaxPooling2DSpec, GlobalMaxPooling2DOp>(DeviceKind::kCpu);

}  // namespace
}  // namespace dptrain::backend::cpu
