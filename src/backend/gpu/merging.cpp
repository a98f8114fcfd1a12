// Add, Average, Subtract, Multiply, Maximum, Minimum and RepeatVector: one kernel each, also for broadcast inputs.

#include <limits>
#include <optional>
#include <stdexcept>
#include <vector>

#include "backend/gpu/gpu_op.h"
#include "backend/masked_inputs.h"
#include "backend/op.h"
#include "backend/ops/activations.h"
#include "backend/ops/backend.h"
#include "core/error.h"
#include "core/format.h"
#include "kernels/cuda/masked_steps.h"
#include "kernels/cuda/merge.h"
#include "nn/merging.h"
#include "nn/reshaping.h"

namespace dptrain::backend::DPTRAIN_BACKEND {
namespace {

/// Throws Error{kUsage} if the kernels do not support the number of inputs or axes.
kernel::Merge merge_of(const OpContext& context) try {
  std::vector<std::vector<std::int64_t>> inputs;
  for (std::size_t i = 0; i < context.inputs(); ++i) inputs.push_back(context.input(i).dims());
  return kernel::Merge(inputs, context.output().dims());
} catch (const std::invalid_argument& error) {
  throw Error(ErrorKind::kUsage, fmt::format("{} '{}': {}", context.step.spec.name(), context.step.name, error.what()));
}

class MergeOp : public GpuOp {
 protected:
  MergeOp(const OpContext& context, Device& device) : GpuOp(context, device), merge_(merge_of(context)) {}

  /// Calls f(i, dx) for every input whose gradient is needed.
  template <class F>
  void each_gradient(const OpArgs& a, const F& f) const {
    for (int i = 0; i < merge_.inputs; ++i)
      if (void* const dx = a.input_gradients[static_cast<std::size_t>(i)]; dx != nullptr) f(i, dx);
  }

  kernel::Merge merge_;
};

/// A ReLU epilogue is part of both passes; any other is a separate pass. Both gradients of a sum of two are one pass.
class AddOp final : public MergeOp {
 public:
  AddOp(const nn::AddSpec&, const OpContext& context, Device& device) : MergeOp(context, device), epilogue_(context) {}

  void forward(const OpArgs& a) override {
    kernel::add_forward(at(a), type_, merge_, a.inputs.data(), a.rows, epilogue_.is_relu(), a.out<void>());
    if (!epilogue_.is_relu()) epilogue_.apply(at(a), a.out<void>(), a.rows);
  }

  void backward(const OpArgs& a) override {
    const bool masks = epilogue_.is_relu() && epilogue_.changes_gradient();
    if (masks && merge_.inputs == 2 && merge_.trivial(0) && merge_.trivial(1) && a.input_gradients[0] != nullptr &&
        a.input_gradients[1] != nullptr)
      return kernel::add_relu_backward(at(a), type_, a.out<void>(), a.dy<void>(), a.rows * merge_.output_elements,
                                       a.input_gradients[0], a.input_gradients[1]);
    if (!masks) epilogue_.undo(at(a), a.out<void>(), a.dy<void>(), a.rows);
    each_gradient(a, [&](int i, void* dx) {
      kernel::add_backward(at(a), type_, merge_, i, masks ? a.out<void>() : nullptr, a.dy<void>(), a.rows, dx);
    });
  }

 private:
  Epilogue epilogue_;
};

/// Average and Subtract. The gradient of an input is a multiple of dy.
class LinearMergeOp final : public MergeOp {
 public:
  LinearMergeOp(const nn::AverageSpec&, const OpContext& context, Device& device)
      : MergeOp(context, device),
        forward_(kernel::average_forward),
        first_(1.0F / static_cast<float>(merge_.inputs)),
        others_(first_) {}
  LinearMergeOp(const nn::SubtractSpec&, const OpContext& context, Device& device)
      : MergeOp(context, device), forward_(kernel::subtract_forward), first_(1.0F), others_(-1.0F) {}

  void forward(const OpArgs& a) override { forward_(at(a), type_, merge_, a.inputs.data(), a.rows, a.out<void>()); }
  void backward(const OpArgs& a) override {
    each_gradient(a, [&](int i, void* dx) {
      kernel::scaled_backward(at(a), type_, merge_, i, i == 0 ? first_ : others_, a.dy<void>(), a.rows, dx);
    });
  }

 private:
  decltype(&kernel::average_forward) forward_;
  float first_, others_;  ///< factors of the inputs' gradients
};

/// Binds kernel::fill_masked_steps for MaskedInputs.
auto masked_fill(const kernel::Launch& at, DType type) {
  return
      [=](const void* x, const std::uint8_t* mask, const std::uint8_t* others, std::int64_t steps, std::int64_t width,
          float value, void* y) { kernel::fill_masked_steps(at, type, x, mask, others, steps, width, value, y); };
}

class MaskedMergeOp : public MergeOp {
 public:
  plan::Need need() const override { return {.saved = 0, .scratch = masked_.scratch()}; }

 protected:
  /// `neutral`, `where_none`: as for MaskedInputs.
  MaskedMergeOp(const OpContext& context, Device& device, float neutral, std::optional<float> where_none)
      : MergeOp(context, device), masked_(context, neutral, where_none) {}

  const void* const* inputs(const OpArgs& a) { return masked_.read(a, a.scratch, masked_fill(at(a), type_)).data(); }

  MaskedInputs masked_;
};

/// The gradient of an input is dy times all other inputs, summed over broadcast axes.
class MultiplyOp final : public MaskedMergeOp {
 public:
  MultiplyOp(const nn::MultiplySpec&, const OpContext& context, Device& device)
      : MaskedMergeOp(context, device, 1.0F, 0.0F) {}

  void forward(const OpArgs& a) override {
    kernel::multiply_forward(at(a), type_, merge_, inputs(a), a.rows, a.out<void>());
  }
  void backward(const OpArgs& a) override {
    const void* const* const x = inputs(a);
    each_gradient(a, [&](int i, void* dx) {
      kernel::multiply_backward(at(a), type_, merge_, i, x, a.dy<void>(), a.rows, dx);
      masked_.end_gradient(a, static_cast<std::size_t>(i),
                           [&](const std::uint8_t* mask, std::int64_t steps, std::int64_t width) {
                             kernel::keep_valid_steps(at(a), type_, dx, mask, steps, width, dx);
                           });
    });
  }
};

class ExtremeOp final : public MaskedMergeOp {
 public:
  ExtremeOp(const nn::MaximumSpec&, const OpContext& context, Device& device)
      : MaskedMergeOp(context, device, -kInfinity, std::nullopt), which_(kernel::Extreme::kLargest) {}
  ExtremeOp(const nn::MinimumSpec&, const OpContext& context, Device& device)
      : MaskedMergeOp(context, device, kInfinity, std::nullopt), which_(kernel::Extreme::kSmallest) {}

  void forward(const OpArgs& a) override {
    kernel::extreme_forward(at(a), type_, which_, merge_, inputs(a), a.rows, a.out<void>());
  }
  void backward(const OpArgs& a) override {
    const void* const* const x = inputs(a);
    each_gradient(a, [&](int i, void* dx) {
      kernel::extreme_backward(at(a), type_, merge_, i, x, a.out<void>(), a.dy<void>(), a.rows, dx);
    });
  }

 private:
  static constexpr float kInfinity = std::numeric_limits<float>::infinity();
  kernel::Extreme which_;
};

/// A sum with one input that is broadcast to the copies.
class RepeatVectorOp final : public GpuOp {
 public:
  RepeatVectorOp(const nn::RepeatVectorSpec& spec, const OpContext& context, Device& device)
      : GpuOp(context, device), merge_({{1, context.input(0)[0]}}, {spec.n, context.input(0)[0]}) {}

  void forward(const OpArgs& a) override {
    kernel::add_forward(at(a), type_, merge_, a.inputs.data(), a.rows, false, a.out<void>());
  }
  void backward(const OpArgs& a) override {
    kernel::add_backward(at(a), type_, merge_, 0, nullptr, a.dy<void>(), a.rows, a.input_gradients[0]);
  }

 private:
  kernel::Merge merge_;
};

const RegisteredOp kAdd = op<nn::AddSpec, AddOp>(kKind, {.fuses = {fuses_activation()}});
const RegisteredOp kAverage = op<nn::AverageSpec, LinearMergeOp>(kKind);
const RegisteredOp kSubtract = op<nn::SubtractSpec, LinearMergeOp>(kKind);
const RegisteredOp kMultiply = op<nn::MultiplySpec, MultiplyOp>(kKind);
const RegisteredOp kMaximum = op<nn::MaximumSpec, ExtremeOp>(kKind);
const RegisteredOp kMinimum = op<nn::MinimumSpec, ExtremeOp>(kKind);
const RegisteredOp kRepeatVector = op<nn::RepeatVectorSpec, RepeatVectorOp>(kKind);

}  // namespace
}  // namespace dptrain::backend::DPTRAIN_BACKEND
