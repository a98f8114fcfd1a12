#include "layers/normalization.h"

#include "device/device.h"
#include "kernels/cpu/affine.h"

namespace dptrain::device::cpu {
namespace {

/// The channels' numbers repeated until there are enough for a kernel to run through.
std::vector<float> repeated(const std::vector<float>& values, std::size_t times) {
  std::vector<float> all;
  for (std::size_t i = 0; i < times; ++i) all.insert(all.end(), values.begin(), values.end());
  return all;
}

class NormalizationOp final : public Op {
 public:
  NormalizationOp(const layers::NormalizationSpec& spec, const OpContext& context, Device&)
      : elements_(context.output().elements()) {
    const layers::ChannelAffine affine = layers::channel_affine(spec, context.input(0));
    const std::size_t times = (kPeriod + affine.scale.size() - 1) / affine.scale.size();
    shift_ = repeated(affine.shift, times);
    scale_ = repeated(affine.scale, times);
    offset_ = repeated(affine.offset, times);
  }

  void forward(const OpArgs& a) override {
    kernels::cpu::periodic_affine(a.in(), shift_.data(), scale_.data(), offset_.data(), period(), a.rows * elements_,
                                  a.out());
  }
  void backward(const OpArgs& a) override {
    kernels::cpu::periodic_affine(a.dy(), nullptr, scale_.data(), nullptr, period(), a.rows * elements_, a.dx());
  }

 private:
  static constexpr std::size_t kPeriod = 256;
  std::int64_t period() const { return static_cast<std::int64_t>(scale_.size()); }

  std::vector<float> shift_, scale_, offset_;
  std::int64_t elements_;
};

const RegisteredOp kCpuNormalization = op<layers::NormalizationSpec, NormalizationOp>(DeviceKind::kCpu);

}  // namespace
}  // namespace dptrain::device::cpu
