#pragma once

// A factor and two offsets for each channel in device memory, and zeros for the gradient: [4, channels] numbers in
// front of all else that an op has packed.

#include <cstdint>
#include <vector>

#include "backend/gpu/gpu_op.h"
#include "kernels/cuda/affine.h"
#include "nn/normalization.h"

namespace dptrain::backend::DPTRAIN_BACKEND {

class ChannelAffineOp : public GpuOp {
 public:
  void forward(const OpArgs& a) override {
    kernel::channel_affine(at(a), type_, a.in<void>(), part(a, 0), part(a, 1), part(a, 2), a.rows * elements_,
                           channels_, a.out<void>());
  }
  void backward(const OpArgs& a) override {
    if (a.dx<void>() == nullptr) return;
    kernel::channel_affine(at(a), type_, a.dy<void>(), part(a, 3), part(a, 1), part(a, 3), a.rows * elements_,
                           channels_, a.dx<void>());
  }

 protected:
  ChannelAffineOp(const OpContext& context, Device& device)
      : GpuOp(context, device), channels_(context.input(0).back()), elements_(context.output().elements()) {}

  plan::Need room() const { return {.packed = 4 * static_cast<std::uint64_t>(channels_) * sizeof(float)}; }
  /// Numbers that come from the config; they must live until the stream has passed.
  void set(const nn::ChannelAffine& affine) {
    for (const std::vector<float>* part : {&affine.shift, &affine.scale, &affine.offset})
      numbers_.insert(numbers_.end(), part->begin(), part->end());
    numbers_.resize(numbers_.size() + affine.scale.size(), 0.0F);
  }
  void send(const OpArgs& a) {
    device_.copy_to_device(a.packed, numbers_.data(), numbers_.size() * sizeof(float), *a.stream);
  }
  std::int64_t channels() const noexcept { return channels_; }

 private:
  const float* part(const OpArgs& a, std::int64_t i) const {
    return static_cast<const float*>(a.packed) + i * channels_;
  }

  std::int64_t channels_, elements_;
  std::vector<float> numbers_;
};

}  // namespace dptrain::backend::DPTRAIN_BACKEND
