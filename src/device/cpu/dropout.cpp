#include "layers/dropout.h"

#include "core/random.h"
#include "device/device.h"
#include "kernels/cpu/dropout.h"
#include "kernels/cpu/elementwise.h"

namespace dptrain::device::cpu {
namespace {

/// The mask is a function of (seed, step of the plan, optimizer step, row of the global batch): nothing is kept.
class DropoutOp final : public Op {
 public:
  DropoutOp(const layers::DropoutSpec& spec, const OpContext& context, Device&)
      : rate_(spec.rate),
        seed_(static_cast<std::uint32_t>(context.seed ^ context.seed >> 32)),
        stream_(static_cast<std::uint32_t>(Purpose::kDropout) + context.stream()),
        width_(context.output().elements()) {}

  void forward(const OpArgs& a) override {
    if (a.training && rate_ > 0)
      kernels::cpu::dropout_forward(of(a), a.in(), a.rows, width_, a.out());
    else
      kernels::cpu::copy(a.in(), a.out(), a.rows * width_);
  }
  void backward(const OpArgs& a) override {
    if (rate_ > 0)
      kernels::cpu::dropout_backward(of(a), a.dy(), a.rows, width_, a.dx());
    else
      kernels::cpu::copy(a.dy(), a.dx(), a.rows * width_);
  }

 private:
  kernels::cpu::Dropout of(const OpArgs& a) const {
    return {.rate = rate_,
            .seed = seed_,
            .layer = stream_,
            .step = static_cast<std::uint64_t>(a.step),
            .first_row = a.first_row};
  }

  float rate_;
  std::uint32_t seed_, stream_;
  std::int64_t width_;
};

const RegisteredOp kCpuDropout = op<layers::DropoutSpec, DropoutOp>(DeviceKind::kCpu);

}  // namespace
}  // namespace dptrain::device::cpu
