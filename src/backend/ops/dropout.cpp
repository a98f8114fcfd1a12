// Dropout, StochasticDepth, SpatialDropout2D, GaussianDropout and GaussianNoise. Nothing is saved for backward: the
// draws are a function of (seed, step of the plan, optimizer step, row of the global batch).

#include <optional>

#include "backend/ops/kernel_op.h"
#include "core/random.h"
#include "nn/dropout.h"
#include DPTRAIN_KERNELS(dropout.h)
#include DPTRAIN_KERNELS(elementwise.h)
#include DPTRAIN_KERNELS(noise.h)

namespace dptrain::backend::DPTRAIN_BACKEND {
namespace {

/// In training, calls change() with the layer's rate or deviation if that is above 0. Otherwise copies the input.
class RandomOp : public KernelOp {
 public:
  plan::Need need() const override { return {.saved = 0, .scratch = scratch_}; }
  void forward(const OpArgs& a) override { run(a, a.training, a.in<Element>(), a.out<Element>()); }
  void backward(const OpArgs& a) override { run(a, true, a.dy<Element>(), a.dx<Element>()); }

 protected:
  /// `cpu_floats`: scratch of the CPU's kernel.
  RandomOp(Purpose purpose, float amount, const OpContext& context, Device& device, std::int64_t cpu_floats = 0)
      : KernelOp(context, device),
        elements_(context.output().elements()),
        amount_(amount),
        scratch_(kIsCpu ? static_cast<std::uint64_t>(cpu_floats) * sizeof(float) : 0),
        seed_(static_cast<std::uint32_t>(context.seed ^ context.seed >> 32)),
        stream_(static_cast<std::uint32_t>(purpose) + context.stream()) {}

  virtual void change(const OpArgs& a, const Element* x, Element* y) const = 0;

  /// `Draw`: kernel::Dropout or kernel::Noise. Calls f(draw) on CPUs, whose kernels have the step in Draw. Calls
  /// f(draw, state) on GPUs, whose kernels read the step from device memory, so that a recorded step draws anew.
  template <class Draw, class F>
  void with_draw(const OpArgs& a, const F& f) const {
    if constexpr (kIsCpu)
      f(draw<Draw>(a, amount_));
    else
      f(draw<Draw>(a, amount_), a.state);
  }

  std::int64_t elements_;

 private:
  void run(const OpArgs& a, bool training, const Element* x, Element* y) const {
    if (!training || amount_ <= 0) return kernel::copy(launch(a), type_, x, y, a.rows * elements_);
    change(a, x, y);
  }

  template <class Draw>
  Draw draw(const OpArgs& a, float amount) const {
    if constexpr (kIsCpu)
      return {amount, seed_, stream_, static_cast<std::uint64_t>(a.step), a.first_row};
    else
      return {amount, seed_, stream_, a.first_row};
  }

  float amount_;
  std::uint64_t scratch_;
  std::uint32_t seed_, stream_;
};

/// Dropout of single elements, or of numbers that are broadcast over the axes of a sample (Dropout's noise_shape,
/// StochasticDepth).
class DropoutOp final : public RandomOp {
 public:
  DropoutOp(const nn::DropoutSpec& spec, const OpContext& context, Device& device)
      : DropoutOp(spec.rate, spread_axes(spec, context.input(0)), context, device) {}
  DropoutOp(const nn::StochasticDepthSpec& spec, const OpContext& context, Device& device)
      : DropoutOp(spec.drop_path_rate, kernels::BroadcastAxes{.axes = 1, .extent = {context.input(0).elements()}},
                  context, device) {}

 private:
  DropoutOp(float rate, std::optional<kernels::BroadcastAxes> spread, const OpContext& context, Device& device)
      : RandomOp(Purpose::kDropout, rate, context, device, spread ? context.rows * spread->numbers : 0),
        spread_(spread) {}

  /// The axes of a Dropout's noise_shape; nullopt if every element has its own draw. Adjacent axes of one kind are
  /// joined.
  static std::optional<kernels::BroadcastAxes> spread_axes(const nn::DropoutSpec& spec, const Shape& in) {
    const std::optional<nn::SampleNoise> noise = nn::sample_noise(spec, in);
    if (!noise) return std::nullopt;
    kernels::BroadcastAxes all{.axes = 1, .extent = {1}, .numbers = noise->shape.elements(), .one_row = noise->one_row};
    std::int64_t stride = all.numbers;
    bool drawn = false;  // along the last axis of `all`
    for (int axis = 0; axis < in.rank(); ++axis) {
      const bool draws = noise->shape[axis] == in[axis];
      stride /= noise->shape[axis];
      if (axis > 0 && draws != drawn) all.extent[all.axes++] = 1;
      all.extent[all.axes - 1] *= in[axis];
      all.stride[all.axes - 1] = draws ? stride : 0;
      drawn = draws;
    }
    return all;
  }

  void change(const OpArgs& a, const Element* x, Element* y) const override {
    with_draw<kernel::Dropout>(a, [&](const auto& dropout, auto... state) {
      if (!spread_)
        kernel::dropout_forward(launch(a), type_, dropout, state..., x, a.rows, elements_, y);
      else if constexpr (kIsCpu)
        kernel::broadcast_dropout(launch(a), type_, dropout, *spread_, state..., x, a.rows,
                                  static_cast<float*>(a.scratch), y);
      else
        kernel::broadcast_dropout(launch(a), type_, dropout, *spread_, state..., x, a.rows, y);
    });
  }

  std::optional<kernels::BroadcastAxes> spread_;
};

class SpatialDropout2DOp final : public RandomOp {
 public:
  SpatialDropout2DOp(const nn::SpatialDropout2DSpec& spec, const OpContext& context, Device& device)
      : RandomOp(Purpose::kDropout, spec.rate, context, device, context.rows * context.output().back()),
        channels_(context.output().back()),
        positions_(elements_ / channels_) {}

 private:
  void change(const OpArgs& a, const Element* x, Element* y) const override {
    with_draw<kernel::Dropout>(a, [&](const auto& dropout, auto... state) {
      if constexpr (kIsCpu)
        kernel::spatial_dropout(launch(a), type_, dropout, state..., x, a.rows, positions_, channels_,
                                static_cast<float*>(a.scratch), y);
      else
        kernel::spatial_dropout(launch(a), type_, dropout, state..., x, a.rows, positions_, channels_, y);
    });
  }

  std::int64_t channels_, positions_;
};

class GaussianDropoutOp final : public RandomOp {
 public:
  GaussianDropoutOp(const nn::GaussianDropoutSpec& spec, const OpContext& context, Device& device)
      : RandomOp(Purpose::kNoise, nn::deviation(spec), context, device) {}

 private:
  void change(const OpArgs& a, const Element* x, Element* y) const override {
    with_draw<kernel::Noise>(a, [&](const auto& noise, auto... state) {
      kernel::multiply_noise(launch(a), type_, noise, state..., x, a.rows, elements_, y);
    });
  }
};

class GaussianNoiseOp final : public RandomOp {
 public:
  GaussianNoiseOp(const nn::GaussianNoiseSpec& spec, const OpContext& context, Device& device)
      : RandomOp(Purpose::kNoise, spec.stddev, context, device) {}

  /// Does not need the noise.
  void backward(const OpArgs& a) override {
    kernel::copy(launch(a), type_, a.dy<Element>(), a.dx<Element>(), a.rows * elements_);
  }

 private:
  void change(const OpArgs& a, const Element* x, Element* y) const override {
    with_draw<kernel::Noise>(a, [&](const auto& noise, auto... state) {
      kernel::add_noise(launch(a), type_, noise, state..., x, a.rows, elements_, y);
    });
  }
};

const RegisteredOp kDropout = op<nn::DropoutSpec, DropoutOp>(kKind);
const RegisteredOp kStochasticDepth = op<nn::StochasticDepthSpec, DropoutOp>(kKind);
const RegisteredOp kSpatialDropout2D = op<nn::SpatialDropout2DSpec, SpatialDropout2DOp>(kKind);
const RegisteredOp kGaussianDropout = op<nn::GaussianDropoutSpec, GaussianDropoutOp>(kKind);
const RegisteredOp kGaussianNoise = op<nn::GaussianNoiseSpec, GaussianNoiseOp>(kKind);

}  // namespace
}  // namespace dptrain::backend::DPTRAIN_BACKEND
