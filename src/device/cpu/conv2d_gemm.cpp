#include "device/cpu/conv2d_gemm.h"

#include "core/error.h"
#include "core/format.h"
#include "device/cpu/conv_window.h"
#include "kernels/cpu/gemm_conv.h"
#include "kernels/cpu/isa.h"
#include "kernels/cpu/parallel.h"

namespace dptrain::device::cpu {
namespace {

// Gradients of the weights on an AVX-512 core, one thread, as time of oneDNN 2.6.3 (with its reorder) by time here, 8 rows:
//
//   1x1, 2048->512 and 512->2048, 7x7    1.07  1.14      3x3/2, 128->128, 56x56    0.98
//   1x1, 1024->256 and 256->1024, 14x14  0.98  0.93      3x3/2, 256->256, 28x28    1.06-1.17
//   1x1/2, 256->512, 56x56               0.94            3x3/2, 512->512, 14x14    1.44
//   1x1/2, 512->1024 and 1024->2048      1.06  1.17
//
// The gain is in blocks of the gradient that stay in the second cache, so gradients must be larger than that.
constexpr std::int64_t kLargeWeights = 512 << 10;

bool pays(const ConvShape& s) {
  const kernels::ConvWindow window = window_of(s);
  const bool one = s.kernel == Size2{1, 1}, strided = s.strides != Size2{1, 1};
  return (one || strided) && window.weights() >= kLargeWeights;
}

class GemmGradient final : public ConvPass {
 public:
  explicit GemmGradient(const ConvShape& s) : rows_(s.rows), window_(window_of(s)) {}

  std::string name() const override { return fmt::format("gemm {} nhwc", kernels::cpu::isa_name()); }
  std::size_t scratch() const override {
    return static_cast<std::size_t>(kernels::cpu::gemm_conv_backward_weights_workspace(window_, rows_, threads_)) *
           sizeof(float);
  }

  void run(const ConvTensors& t, void* scratch) override {
    if (kernels::cpu::thread_count() > threads_)
      throw Error(ErrorKind::kInternal, "a convolution made for fewer threads than run it");
    kernels::cpu::gemm_conv_backward_weights(window_, t.x, t.dy, rows_, static_cast<float*>(scratch), t.dweights,
                                             t.dbias);
  }

 private:
  std::int64_t rows_;
  kernels::ConvWindow window_;
  int threads_ = kernels::cpu::thread_count();
};

}  // namespace

std::unique_ptr<ConvPass> make_gemm_conv(ConvPassKind kind, const ConvShape& shape) {
  if (kind != ConvPassKind::kBackwardWeights || shape.pool || !has_window(shape) ||
      shape.kernel.h * shape.kernel.w > kernels::cpu::kGemmConvTaps || !pays(shape))
    return nullptr;
  return std::make_unique<GemmGradient>(shape);
}

}  // namespace dptrain::device::cpu
