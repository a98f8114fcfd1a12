#include "layers/normalization.h"

#include "device/gpu/gpu_op.h"
#include "kernels/cuda/affine.h"

namespace dptrain::device::DPTRAIN_GPU {
namespace {

/// The channels' numbers lie on the device: shift, scale, offset, and zeros in place of the first and the last for
/// backward.
class NormalizationOp final : public GpuOp {
 public:
  NormalizationOp(const layers::NormalizationSpec& spec, const OpContext& context, Device& device)
      : GpuOp(context, device), channels_(context.input(0).back()), elements_(context.output().elements()) {
    const layers::ChannelAffine affine = layers::channel_affine(spec, context.input(0));
    std::vector<float> all(affine.shift);
    all.insert(all.end(), affine.scale.begin(), affine.scale.end());
    all.insert(all.end(), affine.offset.begin(), affine.offset.end());
    all.resize(all.size() + affine.scale.size(), 0.0F);
    numbers_ = device_.allocate(all.size() * sizeof(float));
    const auto stream = device_.make_stream(false);
    device_.copy_to_device(numbers_->data(), all.data(), all.size() * sizeof(float), *stream);
    stream->synchronize();
  }

  void forward(const OpArgs& a) override {
    kernel::channel_affine(at(a), type_, a.in<void>(), part(0), part(1), part(2), a.rows * elements_, channels_,
                           a.out<void>());
  }
  void backward(const OpArgs& a) override {
    kernel::channel_affine(at(a), type_, a.dy<void>(), part(3), part(1), part(3), a.rows * elements_, channels_,
                           a.dx<void>());
  }

 private:
  const float* part(std::int64_t i) const { return numbers_->as<float>() + i * channels_; }

  std::int64_t channels_, elements_;
  std::unique_ptr<Buffer> numbers_;
};

const RegisteredOp kNormalization = op<layers::NormalizationSpec, NormalizationOp>(kKind);

}  // namespace
}  // namespace dptrain::device::DPTRAIN_GPU
