#include "layers/concatenate.h"

#include "device/device.h"
#include "kernels/cpu/pad.h"

namespace dptrain::device::cpu {
namespace {

/// Everything before the axis is rows, the axis and what follows is one run of floats per input.
class ConcatenateOp final : public Op {
 public:
  ConcatenateOp(const layers::ConcatenateSpec& spec, const OpContext& context, Device&) {
    const Shape& out = context.output();
    // Keras counts the batch as axis 0.
    const int axis = spec.axis < 0 ? out.rank() + spec.axis : spec.axis - 1;
    for (int d = 0; d < axis; ++d) outer_ *= out[d];
    for (std::size_t i = 0; i < context.step.inputs.size(); ++i)
      widths_.push_back(context.input(i).elements() / outer_);
    total_ = out.elements() / outer_;
  }

  void forward(const OpArgs& a) override {
    std::int64_t at = 0;
    for (std::size_t i = 0; i < widths_.size(); at += widths_[i], ++i)
      kernels::cpu::copy_columns(a.in(i), widths_[i], a.out() + at, total_, a.rows * outer_, widths_[i]);
  }
  void backward(const OpArgs& a) override {
    std::int64_t at = 0;
    for (std::size_t i = 0; i < widths_.size(); at += widths_[i], ++i)
      if (a.dx(i) != nullptr)
        kernels::cpu::copy_columns(a.dy() + at, total_, a.dx(i), widths_[i], a.rows * outer_,
                                   widths_[i]);
  }

 private:
  std::int64_t outer_ = 1, total_ = 0;
  std::vector<std::int64_t> widths_;
};

const RegisteredOp kCpuConcatenate = op<layers::ConcatenateSpec, ConcatenateOp>(DeviceKind::kCpu);

}  // namespace
}  // namespace dptrain::device::cpu
