#include "layers/max_pooling2d.h"

#include "core/error.h"
#include "core/format.h"
#include "device/device.h"
#include "device/pool_window.h"
#include "kernels/cpu/pool.h"

namespace dptrain::device::cpu {
namespace {

/// Keeps one byte per output: which of the window was the largest.
class MaxPooling2DOp final : public Op {
 public:
  MaxPooling2DOp(const layers::MaxPooling2DSpec& spec, const OpContext& context, Device& device)
      : window_(pool_window(spec, context)),
        masks_relu_(context.step.masks_relu),
        saved_(context.step.has_backward ? static_cast<std::uint64_t>(context.rows * context.output().elements()) : 0) {
    if (window_.kernel_h * window_.kernel_w > kernels::cpu::kMaxPoolWindow)
      throw Error(
          ErrorKind::kUsage,
          fmt::format("MaxPooling2D '{}': {} keeps positions in one byte: pool_size must have at most {} elements, "
                      "found {}x{}",
                      context.step.name, device.name(), kernels::cpu::kMaxPoolWindow, window_.kernel_h,
                      window_.kernel_w));
  }

  plan::Need need() const override { return {.saved = saved_, .scratch = 0}; }

  void forward(const OpArgs& a) override {
    auto* const argmax = a.training && saved_ > 0 ? static_cast<std::uint8_t*>(a.saved) : nullptr;
    kernels::cpu::max_pool_forward(window_, a.in(), a.rows, a.out(), argmax);
  }
  void backward(const OpArgs& a) override {
    kernels::cpu::max_pool_backward(window_, a.dy(), static_cast<const std::uint8_t*>(a.saved),
                                    masks_relu_ ? a.out() : nullptr, a.rows, a.dx());
  }

 private:
  kernels::cpu::PoolWindow window_;
  bool masks_relu_;
  std::uint64_t saved_;
};

const RegisteredOp kCpuMaxPooling2D = op<layers::MaxPooling2DSpec, MaxPooling2DOp>(DeviceKind::kCpu);

}  // namespace
}  // namespace dptrain::device::cpu
