#include "backend/cpu/conv/conv_passes.h"

#include <utility>

#include "kernels/cpu/pad.h"

namespace dptrain::backend::cpu {
namespace {

// oneDNN 2.6.3 has its newer kernels (brgconv) for forward passes only. A forward pass with transposed weights takes
// 0.70 to 1.06 of the time of its backward pass (1x1 and 1x1/2 of ResNet-50, AVX-512, one thread, with reorders).

constexpr std::size_t kAlign = 64;

/// Whether each output pixel reads one input pixel.
bool fits_data_as_forward(const ConvShape& s) {
  return s.one_pixel() && s.groups == 1 && !s.pool && s.pad_top == 0 && s.pad_left == 0 &&
         (s.out_h - 1) * s.stride_h < s.in_h && (s.out_w - 1) * s.stride_w < s.in_w;
}

/// From dy to the pixels of dx that are not zero.
ConvShape forward_shape(const ConvShape& s) {
  ConvShape forward{{.in_h = s.out_h,
                     .in_w = s.out_w,
                     .in_channels = s.out_channels,
                     .out_h = s.out_h,
                     .out_w = s.out_w,
                     .out_channels = s.in_channels},
                    s.rows};
  forward.bias = false;
  return forward;
}

class DataAsForwardConv final : public ConvPass {
 public:
  DataAsForwardConv(const ConvShape& s, std::unique_ptr<ConvPass> forward)
      : rows_(s.rows),
        zero_insertion_{s.out_h, s.out_w, s.in_channels, s.stride_h, s.stride_w, s.in_h, s.in_w},
        forward_(std::move(forward)) {
    if (s.out_h == s.in_h && s.out_w == s.in_w) return;
    const auto bytes = static_cast<std::size_t>(s.rows * s.out_h * s.out_w * s.in_channels) * sizeof(float);
    pixels_bytes_ = (bytes + kAlign - 1) / kAlign * kAlign;
  }

  std::string name() const override { return forward_->name() + " turned"; }
  std::size_t scratch() const override { return pixels_bytes_ + forward_->scratch(); }

  void run(const ConvTensors& t, void* scratch) override {
    auto* const pixels = static_cast<float*>(scratch);
    void* const rest = static_cast<std::byte*>(scratch) + pixels_bytes_;
    forward_->run({.x = t.dy, .weights = t.weights, .y = pixels_bytes_ > 0 ? pixels : t.dx}, rest);
    if (pixels_bytes_ > 0) kernels::cpu::insert_zero_pixels(zero_insertion_, pixels, rows_, t.dx);
  }

 private:
  std::int64_t rows_;
  kernels::cpu::ZeroInsertion zero_insertion_;
  std::size_t pixels_bytes_ = 0;  // size of the nonzero pixels, before insert_zero_pixels()
  std::unique_ptr<ConvPass> forward_;
};

}  // namespace

std::unique_ptr<ConvPass> make_data_as_forward_conv(ConvPassKind kind, const ConvShape& shape, bool bfloat16,
                                                    Dnnl& dnnl) {
  if (kind != ConvPassKind::kBackwardData || !fits_data_as_forward(shape)) return nullptr;
  auto forward = make_dnnl_conv(ConvPassKind::kForward, forward_shape(shape),
                                {.bfloat16 = bfloat16, .weights = DnnlWeights::kOhwi}, dnnl);
  return forward ? std::make_unique<DataAsForwardConv>(shape, std::move(forward)) : nullptr;
}

}  // namespace dptrain::backend::cpu
