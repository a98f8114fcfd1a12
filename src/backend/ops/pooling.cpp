// MaxPooling2D, AveragePooling2D and the global poolings.

#include "nn/pooling.h"

#include "backend/device.h"
#include "backend/ops/kernel_op.h"
#include "core/error.h"
#include "core/format.h"
#include "kernels/geometry.h"
#include "nn/geometry.h"
#include DPTRAIN_KERNELS(masked_steps.h)
#include DPTRAIN_KERNELS(pool.h)

namespace dptrain::backend::DPTRAIN_BACKEND {
namespace {

static_assert(nn::kMaxPoolWindow == kernels::kMaxPoolWindow);

/// `Spec`: MaxPooling2DSpec or AveragePooling2DSpec.
template <class Spec>
kernels::PoolWindow pool_window(const Spec& spec, const OpContext& context) {
  const Shape &in = context.input(0), &out = context.output();
  const Size2 strides = spec.strides.value_or(spec.pool_size);
  const nn::Window window = nn::window(in, spec.pool_size, strides, Size2{1, 1}, spec.padding);
  return {.in_h = in[0],
          .in_w = in[1],
          .channels = in[2],
          .out_h = out[0],
          .out_w = out[1],
          .kernel_h = spec.pool_size.h,
          .kernel_w = spec.pool_size.w,
          .stride_h = strides.h,
          .stride_w = strides.w,
          .pad_top = window.h.pad_before,
          .pad_left = window.w.pad_before};
}

/// The window of a MaxPooling2D, which saves positions in one byte. Throws Error{kUsage} if one byte is too small.
kernels::PoolWindow max_pool_window(const nn::MaxPooling2DSpec& spec, const OpContext& context, const Device& device) {
  const kernels::PoolWindow window = pool_window(spec, context);
  if (window.kernel_h * window.kernel_w > kernels::kMaxPoolWindow)
    throw Error(
        ErrorKind::kUsage,
        fmt::format("MaxPooling2D '{}': {} keeps positions in one byte: pool_size must have at most {} elements, "
                    "found {}x{}",
                    context.step.name, device.name(), kernels::kMaxPoolWindow, window.kernel_h, window.kernel_w));
  return window;
}

/// Saves one byte per output: which of the window was the largest.
class MaxPooling2DOp final : public KernelOp {
 public:
  MaxPooling2DOp(const nn::MaxPooling2DSpec& spec, const OpContext& context, Device& device)
      : KernelOp(context, device),
        window_(max_pool_window(spec, context, device)),
        undoes_relu_(static_cast<bool>(context.step.undoes)),
        saved_(context.step.has_backward ? static_cast<std::uint64_t>(context.rows * context.output().elements()) : 0) {
  }

  plan::Need need() const override { return {.saved = saved_, .scratch = 0}; }

  void forward(const OpArgs& a) override {
    auto* const argmax = a.training && saved_ > 0 ? static_cast<std::uint8_t*>(a.saved) : nullptr;
    kernel::max_pool_forward(launch(a), type_, window_, a.in<Element>(), a.rows, a.out<Element>(), argmax);
  }
  void backward(const OpArgs& a) override {
    kernel::max_pool_backward(launch(a), type_, window_, a.dy<Element>(), static_cast<const std::uint8_t*>(a.saved),
                              undoes_relu_ ? a.out<Element>() : nullptr, a.rows, a.dx<Element>());
  }

 private:
  kernels::PoolWindow window_;
  bool undoes_relu_;
  std::uint64_t saved_;
};

class AveragePooling2DOp final : public KernelOp {
 public:
  AveragePooling2DOp(const nn::AveragePooling2DSpec& spec, const OpContext& context, Device& device)
      : KernelOp(context, device), window_(pool_window(spec, context)) {}

  void forward(const OpArgs& a) override {
    kernel::avg_pool_forward(launch(a), type_, window_, a.in<Element>(), a.rows, a.out<Element>());
  }
  void backward(const OpArgs& a) override {
    kernel::avg_pool_backward(launch(a), type_, window_, a.dy<Element>(), a.rows, a.dx<Element>());
  }

 private:
  kernels::PoolWindow window_;
};

/// The mean over pixels or steps. With a mask it is the mean over the valid steps.
class GlobalAverageOp final : public KernelOp {
 public:
  GlobalAverageOp(const nn::GlobalAveragePooling1DSpec&, const OpContext& context, Device& device)
      : KernelOp(context, device),
        places_(context.input(0)[0]),
        channels_(context.input(0)[1]),
        mask_(context.mask()) {}
  GlobalAverageOp(const nn::GlobalAveragePooling2DSpec&, const OpContext& context, Device& device)
      : KernelOp(context, device), places_(context.input(0)[0] * context.input(0)[1]), channels_(context.input(0)[2]) {}

  void forward(const OpArgs& a) override {
    if (mask_)
      kernel::masked_mean_forward(launch(a), type_, a.in<Element>(), a.in<std::uint8_t>(*mask_), a.rows, places_,
                                  channels_, a.out<Element>());
    else
      kernel::global_avg_forward(launch(a), type_, a.in<Element>(), a.rows, places_, channels_, a.out<Element>());
  }
  void backward(const OpArgs& a) override {
    if (mask_)
      kernel::masked_mean_backward(launch(a), type_, a.dy<Element>(), a.in<std::uint8_t>(*mask_), a.rows, places_,
                                   channels_, a.dx<Element>());
    else
      kernel::global_avg_backward(launch(a), type_, a.dy<Element>(), a.rows, places_, channels_, a.dx<Element>());
  }

 private:
  std::int64_t places_, channels_;
  std::optional<std::size_t> mask_;
};

/// Saves the position of each channel's largest value.
class GlobalMaxPooling2DOp final : public KernelOp {
 public:
  GlobalMaxPooling2DOp(const nn::GlobalMaxPooling2DSpec&, const OpContext& context, Device& device)
      : KernelOp(context, device),
        spatial_(context.input(0)[0] * context.input(0)[1]),
        channels_(context.input(0)[2]),
        saved_(context.step.has_backward ? static_cast<std::uint64_t>(context.rows * channels_) * sizeof(std::int32_t)
                                         : 0) {}

  plan::Need need() const override { return {.saved = saved_, .scratch = 0}; }

  void forward(const OpArgs& a) override {
    auto* const argmax = a.training && saved_ > 0 ? static_cast<std::int32_t*>(a.saved) : nullptr;
    kernel::global_max_forward(launch(a), type_, a.in<Element>(), a.rows, spatial_, channels_, a.out<Element>(),
                               argmax);
  }
  void backward(const OpArgs& a) override {
    kernel::global_max_backward(launch(a), type_, a.dy<Element>(), static_cast<const std::int32_t*>(a.saved), a.rows,
                                spatial_, channels_, a.dx<Element>());
  }

 private:
  std::int64_t spatial_, channels_;
  std::uint64_t saved_;
};

const RegisteredOp kMaxPooling2D = op<nn::MaxPooling2DSpec, MaxPooling2DOp>(kKind, {.undoes = {undoes_relu()}});
const RegisteredOp kAveragePooling2D = op<nn::AveragePooling2DSpec, AveragePooling2DOp>(kKind);
const RegisteredOp kGlobalAveragePooling1D = op<nn::GlobalAveragePooling1DSpec, GlobalAverageOp>(kKind);
const RegisteredOp kGlobalAveragePooling2D = op<nn::GlobalAveragePooling2DSpec, GlobalAverageOp>(kKind);
const RegisteredOp kGlobalMaxPooling2D = op<nn::GlobalMaxPooling2DSpec, GlobalMaxPooling2DOp>(kKind);

}  // namespace
}  // namespace dptrain::backend::DPTRAIN_BACKEND
