#include "layers/dropout.h"

#include "core/random.h"
#include "device/device.h"
#include "device/spread_axes.h"
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
        width_(context.output().elements()),
        spread_(spread_axes(spec, context.input(0))),
        scratch_(spread_ ? static_cast<std::uint64_t>(context.rows * spread_->numbers) * sizeof(float) : 0) {}

  plan::Need need() const override { return {.saved = 0, .scratch = scratch_}; }

  void forward(const OpArgs& a) override { drop(a, a.training, a.in(), a.out()); }
  void backward(const OpArgs& a) override { drop(a, true, a.dy(), a.dx()); }

 private:
  void drop(const OpArgs& a, bool training, const float* x, float* y) const {
    if (!training || rate_ <= 0)
      kernels::cpu::copy(x, y, a.rows * width_);
    else if (spread_)
      kernels::cpu::spread_dropout(of(a), *spread_, x, a.rows, static_cast<float*>(a.scratch), y);
    else
      kernels::cpu::dropout_forward(of(a), x, a.rows, width_, y);
  }

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
  std::optional<kernels::SpreadAxes> spread_;
  std::uint64_t scratch_;
};

const RegisteredOp kCpuDropout = op<layers::DropoutSpec, DropoutOp>(DeviceKind::kCpu);

}  // namespace
}  // namespace dptrain::device::cpu
