#include "layers/normalization.h"

#include "device/gpu/gpu_op.h"
#include "kernels/cuda/affine.h"

namespace dptrain::device::DPTRAIN_GPU {
namespace {

/// Packed are the channels' numbers: shift, scale, offset, and zeros in place of the first and the last for backward.
class NormalizationOp final : public GpuOp {
 public:
  NormalizationOp(const layers::NormalizationSpec& spec, const OpContext& context, Device& device)
      : GpuOp(context, device), channels_(context.input(0).back()), elements_(context.output().elements()) {
    const layers::ChannelAffine affine = layers::channel_affine(spec, context.input(0));
    for (const std::vector<float>* part : {&affine.shift, &affine.scale, &affine.offset})
      numbers_.insert(numbers_.end(), part->begin(), part->end());
    numbers_.resize(numbers_.size() + affine.scale.size(), 0.0F);
  }

  plan::Need need() const override { return {.packed = numbers_.size() * sizeof(float)}; }
  void pack(const OpArgs& a) override {
    device_.copy_to_device(a.packed, numbers_.data(), numbers_.size() * sizeof(float), *a.stream);
  }

  void forward(const OpArgs& a) override {
    kernel::channel_affine(at(a), type_, a.in<void>(), part(a, 0), part(a, 1), part(a, 2), a.rows * elements_,
                           channels_, a.out<void>());
  }
  void backward(const OpArgs& a) override {
    kernel::channel_affine(at(a), type_, a.dy<void>(), part(a, 3), part(a, 1), part(a, 3), a.rows * elements_,
                           channels_, a.dx<void>());
  }

 private:
  const float* part(const OpArgs& a, std::int64_t i) const {
    return static_cast<const float*>(a.packed) + i * channels_;
  }

  std::int64_t channels_, elements_;
  std::vector<float> numbers_;
};

const RegisteredOp kNormalization = op<layers::NormalizationSpec, NormalizationOp>(kKind);

}  // namespace
}  // namespace dptrain::device::DPTRAIN_GPU
