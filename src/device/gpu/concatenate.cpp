#include "layers/concatenate.h"

#include "device/gpu/gpu_op.h"
#include "kernels/cuda/merge.h"

namespace dptrain::device::DPTRAIN_GPU {
namespace {

/// Everything before the axis is rows, the axis and what follows is one run of elements per input.
class ConcatenateOp final : public GpuOp {
 public:
  ConcatenateOp(const layers::ConcatenateSpec& spec, const OpContext& context, Device& device)
      : GpuOp(context, device) {
    const Shape& out = context.output();
    // Keras counts the batch as axis 0.
    const int axis = spec.axis < 0 ? out.rank() + spec.axis : spec.axis - 1;
    for (int d = 0; d < axis; ++d) outer_ *= out[d];
    for (std::size_t i = 0; i < context.step.inputs.size(); ++i)
      widths_.push_back(context.input(i).elements() / outer_);
    total_ = out.elements() / outer_;
  }

  void forward(const OpArgs& a) override {
    auto* to = static_cast<std::byte*>(a.output);
    for (std::size_t i = 0; i < widths_.size(); to += bytes(widths_[i]), ++i)
      kernel::copy_columns(at(a), type_, a.inputs[i], widths_[i], to, total_, a.rows * outer_, widths_[i]);
  }
  void backward(const OpArgs& a) override {
    const auto* from = static_cast<const std::byte*>(a.output_gradient);
    for (std::size_t i = 0; i < widths_.size(); from += bytes(widths_[i]), ++i)
      if (void* const dx = a.input_gradients[i]; dx != nullptr)
        kernel::copy_columns(at(a), type_, from, total_, dx, widths_[i], a.rows * outer_, widths_[i]);
  }

 private:
  std::size_t bytes(std::int64_t elements) const { return static_cast<std::size_t>(elements) * size_of(type_); }

  std::int64_t outer_ = 1, total_ = 0;
  std::vector<std::int64_t> widths_;
};

const RegisteredOp kConcatenate = op<layers::ConcatenateSpec, ConcatenateOp>(kKind);

}  // namespace
}  // namespace dptrain::device::DPTRAIN_GPU
