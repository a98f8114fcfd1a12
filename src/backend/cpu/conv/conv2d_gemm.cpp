#include "backend/cpu/conv/conv_passes.h"

#include "core/error.h"
#include "core/format.h"
#include "kernels/cpu/gemm_conv.h"
#include "kernels/cpu/gemm_forward.h"
#include "kernels/cpu/isa.h"
#include "kernels/cpu/parallel.h"
#include "kernels/cpu/processor.h"

namespace dptrain::backend::cpu {
namespace {

// Gradients of the weights by one thread, time of oneDNN 2.6.3 (with its reorder) / time here. Packed operands, Intel
// Xeon with AVX-512: 1.15 to 1.42 for 3x3/2, 1.02 to 1.37 for 1x1/2, 0.96 to 1.30 for 1x1. The gain is largest for
// gradients that exceed the L2 cache and for images that are large compared with the products. Operands read in place
// (gemm_conv_reads_in_place), AMD EPYC with AVX-512: 1.07 to 1.46; other processors differ (processor_rules.h).
constexpr std::int64_t kLargeStrided = 128 << 10;
constexpr std::int64_t kFewChannels = 64, kManyChannels = 256;
constexpr std::int64_t kManyPixels = 32;  // in an image, so that a batch has hundreds

bool fits_gemm(const ConvShape& s) {
  return !s.pool && s.groups == 1 && !s.dilated() && s.kernel_h * s.kernel_w <= kernels::cpu::kGemmConvTaps &&
         (s.one_pixel() || s.strided());
}

class GemmGradient final : public ConvPass {
 public:
  explicit GemmGradient(const ConvShape& s) : shape_(s) {}

  std::string name() const override { return fmt::format("gemm {} nhwc", kernels::cpu::isa_name()); }
  std::size_t scratch() const override {
    return static_cast<std::size_t>(kernels::cpu::gemm_conv_backward_weights_workspace(shape_, shape_.rows, threads_)) *
           sizeof(float);
  }

  void run(const ConvTensors& t, void* scratch) override {
    if (kernels::cpu::thread_count() > threads_)
      throw Error(ErrorKind::kInternal, "a convolution made for fewer threads than run it");
    kernels::cpu::gemm_conv_backward_weights(shape_, t.x, t.dy, shape_.rows, static_cast<float*>(scratch), t.dweights,
                                             t.dbias);
  }

 private:
  ConvShape shape_;
  int threads_ = kernels::cpu::thread_count();
};

/// Whether dx is a product of dy, read in place, and the transposed weights.
bool reads_dy_in_place(const ConvShape& s) {
  return s.one_pixel() && !s.strided() && !s.pool && s.groups == 1 && s.in_channels % 16 == 0 && s.out_h == s.in_h &&
         s.out_w == s.in_w;
}

class GemmProducts final : public ConvPass {
 public:
  GemmProducts(ConvPassKind kind, const ConvShape& s) : is_forward_(kind == ConvPassKind::kForward), shape_(s) {
    if (!is_forward_) std::swap(shape_.in_channels, shape_.out_channels);
  }

  std::string name() const override { return fmt::format("gemm {} nhwc", kernels::cpu::isa_name()); }
  std::size_t scratch() const override {
    return static_cast<std::size_t>(kernels::cpu::gemm_forward_workspace(shape_, shape_.rows, threads_)) *
           sizeof(float);
  }
  bool supports_fused_passes() const override { return is_forward_; }

  void run(const ConvTensors& t, void* scratch) override {
    if (kernels::cpu::thread_count() > threads_)
      throw Error(ErrorKind::kInternal, "a convolution made for fewer threads than run it");
    kernels::cpu::GemmForward products{.window = shape_, .weights = t.weights, .rows = shape_.rows};
    if (is_forward_) {
      products.x = t.x;
      products.bias = t.bias;
      products.relu = shape_.relu;
      products.y = t.y;
      products.prologue = t.prologue;
      products.epilogue = t.epilogue;
    } else {
      products.x = t.dy;
      products.transposed_weights = true;
      products.y = t.dx;
    }
    kernels::cpu::gemm_forward(products, static_cast<float*>(scratch));
  }

 private:
  bool is_forward_;  // else the gradient of x
  ConvShape shape_;  // of the products
  int threads_ = kernels::cpu::thread_count();
};

}  // namespace

bool gemm_fusion_is_faster(ConvPassKind kind, const ConvShape& s) {
  return kind == ConvPassKind::kForward && s.next_to_normalization && !s.pool &&
         s.weights() <= rules_for(kernels::cpu::this_processor()).fused_weights && s.in_channels % 16 == 0 &&
         kernels::cpu::gemm_forward_is_pointwise(s) && kernels::cpu::gemm_forward_fits(s);
}

bool gemm_is_faster(ConvPassKind kind, const ConvShape& s) {
  return gemm_is_faster(kind, s, rules_for(kernels::cpu::this_processor()));
}

bool gemm_is_faster(ConvPassKind kind, const ConvShape& s, const ProcessorRules& rules) {
  if (kind == ConvPassKind::kForward)
    return s.strided() && !s.one_pixel() && !s.pool && s.in_channels >= rules.strided_channels &&
           kernels::cpu::gemm_forward_fits(s);
  if (kind == ConvPassKind::kBackwardData) return rules.data_products && reads_dy_in_place(s);
  if (kind != ConvPassKind::kBackwardWeights || !fits_gemm(s)) return false;
  const std::int64_t weights = s.weights();
  if (!s.one_pixel()) return weights >= kLargeStrided;
  if (s.out_h * s.out_w >= kManyPixels && kernels::cpu::gemm_conv_reads_in_place(s))
    return weights <= rules.in_place_weights || weights >= rules.packed_weights;
  return weights >= rules.packed_weights || (s.in_channels <= kFewChannels && s.out_channels >= kManyChannels);
}

std::unique_ptr<ConvPass> make_gemm_conv(ConvPassKind kind, const ConvShape& shape) {
  if (kind == ConvPassKind::kForward && !shape.pool && kernels::cpu::gemm_forward_fits(shape))
    return std::make_unique<GemmProducts>(kind, shape);
  if (kind == ConvPassKind::kBackwardData)
    return reads_dy_in_place(shape) ? std::make_unique<GemmProducts>(kind, shape) : nullptr;
  return kind == ConvPassKind::kBackwardWeights && fits_gemm(shape) ? std::make_unique<GemmGradient>(shape) : nullptr;
}

}  // namespace dptrain::backend::cpu
