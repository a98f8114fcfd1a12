#pragma once

// A factor and two offsets for each channel, as kernels/cpu/affine.h wants them: repeated until there are enough for a
// kernel to run through. Owned by an op; any thread may read it.

#include <cstdint>
#include <vector>

#include "kernels/cpu/affine.h"
#include "nn/normalization.h"

namespace dptrain::backend::cpu {

class RepeatedAffine {
 public:
  RepeatedAffine() = default;
  explicit RepeatedAffine(const nn::ChannelAffine& affine) {
    const std::size_t times = (kPeriod + affine.scale.size() - 1) / affine.scale.size();
    for (std::size_t i = 0; i < times; ++i) {
      shift_.insert(shift_.end(), affine.shift.begin(), affine.shift.end());
      scale_.insert(scale_.end(), affine.scale.begin(), affine.scale.end());
      offset_.insert(offset_.end(), affine.offset.begin(), affine.offset.end());
    }
  }

  void forward(const float* x, std::int64_t n, float* y) const {
    kernels::cpu::periodic_affine(x, shift_.data(), scale_.data(), offset_.data(), period(), n, y);
  }
  void backward(const float* dy, std::int64_t n, float* dx) const {
    kernels::cpu::periodic_affine(dy, nullptr, scale_.data(), nullptr, period(), n, dx);
  }

 private:
  static constexpr std::size_t kPeriod = 256;
  std::int64_t period() const { return static_cast<std::int64_t>(scale_.size()); }

  std::vector<float> shift_, scale_, offset_;
};

}  // namespace dptrain::backend::cpu
