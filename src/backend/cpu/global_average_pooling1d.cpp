#include "nn/pooling.h"

#include "backend/device.h"
#include "kernels/cpu/masked_steps.h"
#include "kernels/cpu/pool.h"

namespace dptrain::backend::cpu {
namespace {

class GlobalAveragePooling1DOp final : public Op {
 public:
  GlobalAveragePooling1DOp(const nn::GlobalAveragePooling1DSpec&, const OpContext& context, Device&)
      : steps_(context.input(0)[0]), width_(context.input(0)[1]), mask_(context.mask()) {}

  void forward(const OpArgs& a) override {
    if (mask_)
      kernels::cpu::masked_mean_forward(a.in(), a.in<std::uint8_t>(*mask_), a.rows, steps_, width_, a.out());
    else
      kernels::cpu::global_avg_forward(a.in(), a.rows, steps_, width_, a.out());
  }
  void backward(const OpArgs& a) override {
    if (mask_)
      kernels::cpu::masked_mean_backward(a.dy(), a.in<std::uint8_t>(*mask_), a.rows, steps_, width_, a.dx());
    else
      kernels::cpu::global_avg_backward(a.dy(), a.rows, steps_, width_, a.dx());
  }

 private:
  std::int64_t steps_, width_;
  std::optional<std::size_t> mask_;
};

const RegisteredOp kCpuGlobalAveragePooling1D =
    op<nn::GlobalAveragePooling1DSpec, GlobalAveragePooling1DOp>(DeviceKind::kCpu);

}  // namespace
}  // namespace dptrain::backend::cpu
