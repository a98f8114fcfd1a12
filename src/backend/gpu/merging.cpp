// Add, Average, Subtract, Multiply, Maximum, Minimum and RepeatVector: one kernel each, also for broadcast inputs.

#include <limits>
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

/// A ReLU epilogue is part of both passes; any other is a separate pass. Both gradients of a sum of two are one pass.
class AddOp final : public GpuOp {
 public:
  AddOp(const nn::AddSpec&, const OpContext& context, Device& device)
      : GpuOp(context, device), merge_(merge_of(context)), epilogue_(context) {}

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
    for (int i = 0; i < merge_.inputs; ++i)
      if (void* const dx = a.input_gradients[static_cast<std::size_t>(i)]; dx != nullptr)
        kernel::add_backward(at(a), type_, merge_, i, masks ? a.out<void>() : nullptr, a.dy<void>(), a.rows, dx);
  }

 private:
  kernel::Merge merge_;
  Epilogue epilogue_;
};

class AverageOp final : public GpuOp {
 public:
  AverageOp(const nn::AverageSpec&, const OpContext& context, Device& device)
      : GpuOp(context, device), merge_(merge_of(context)) {}

  void forward(const OpArgs& a) override {
    kernel::average_forward(at(a), type_, merge_, a.inputs.data(), a.rows, a.out<void>());
  }

  void backward(const OpArgs& a) override {
    const float share = 1.0F / static_cast<float>(merge_.inputs);
    for (int i = 0; i < merge_.inputs; ++i)
      if (void* const dx = a.input_gradients[static_cast<std::size_t>(i)]; dx != nullptr)
        kernel::scaled_backward(at(a), type_, merge_, i, share, a.dy<void>(), a.rows, dx);
  }

 private:
  kernel::Merge merge_;
};

class SubtractOp final : public GpuOp {
 public:
  SubtractOp(const nn::SubtractSpec&, const OpContext& context, Device& device)
      : GpuOp(context, device), merge_(merge_of(context)) {}

  void forward(const OpArgs& a) override {
    kernel::subtract_forward(at(a), type_, merge_, a.inputs.data(), a.rows, a.out<void>());
  }

  void backward(const OpArgs& a) override {
    for (int i = 0; i < merge_.inputs; ++i)
      if (void* const dx = a.input_gradients[static_cast<std::size_t>(i)]; dx != nullptr)
        kernel::scaled_backward(at(a), type_, merge_, i, i == 0 ? 1.0F : -1.0F, a.dy<void>(), a.rows, dx);
  }

 private:
  kernel::Merge merge_;
};

/// Binds kernel::fill_masked_steps for MaskedInputs.
auto masked_fill(const kernel::Launch& at, DType type) {
  return
      [=](const void* x, const std::uint8_t* mask, const std::uint8_t* others, std::int64_t steps, std::int64_t width,
          float value, void* y) { kernel::fill_masked_steps(at, type, x, mask, others, steps, width, value, y); };
}

/// The gradient of an input is dy times all other inputs, summed over broadcast axes.
class MultiplyOp final : public GpuOp {
 public:
  MultiplyOp(const nn::MultiplySpec&, const OpContext& context, Device& device)
      : GpuOp(context, device), masked_(context, 1.0F, 0.0F), merge_(merge_of(context)) {}

  plan::Need need() const override { return {.saved = 0, .scratch = masked_.scratch()}; }

  void forward(const OpArgs& a) override {
    kernel::multiply_forward(at(a), type_, merge_, inputs(a), a.rows, a.out<void>());
  }

  void backward(const OpArgs& a) override {
    const void* const* const x = inputs(a);
    for (int i = 0; i < merge_.inputs; ++i) {
      void* const dx = a.input_gradients[static_cast<std::size_t>(i)];
      if (dx == nullptr) continue;
      kernel::multiply_backward(at(a), type_, merge_, i, x, a.dy<void>(), a.rows, dx);
      masked_.end_gradient(a, static_cast<std::size_t>(i),
                           [&](const std::uint8_t* mask, std::int64_t steps, std::int64_t width) {
                             kernel::keep_valid_steps(at(a), type_, dx, mask, steps, width, dx);
                           });
    }
  }

 private:
  const void* const* inputs(const OpArgs& a) { return masked_.read(a, a.scratch, masked_fill(at(a), type_)).data(); }

  MaskedInputs masked_;
  kernel::Merge merge_;
};

class ExtremeOp final : public GpuOp {
 public:
  ExtremeOp(const nn::MaximumSpec&, const OpContext& context, Device& device)
      : ExtremeOp(context, device, kernel::Extreme::kLargest) {}
  ExtremeOp(const nn::MinimumSpec&, const OpContext& context, Device& device)
      : ExtremeOp(context, device, kernel::Extreme::kSmallest) {}

  plan::Need need() const override { return {.saved = 0, .scratch = masked_.scratch()}; }

  void forward(const OpArgs& a) override {
    kernel::extreme_forward(at(a), type_, which_, merge_, inputs(a), a.rows, a.out<void>());
  }

  void backward(const OpArgs& a) override {
    const void* const* const x = inputs(a);
    for (int i = 0; i < merge_.inputs; ++i)
      if (void* const dx = a.input_gradients[static_cast<std::size_t>(i)]; dx != nullptr)
        kernel::extreme_backward(at(a), type_, merge_, i, x, a.out<void>(), a.dy<void>(), a.rows, dx);
  }

 private:
  ExtremeOp(const OpContext& context, Device& device, kernel::Extreme which)
      : GpuOp(context, device),
        masked_(context, (which == kernel::Extreme::kLargest ? -1.0F : 1.0F) * std::numeric_limits<float>::infinity(),
                std::nullopt),
        merge_(merge_of(context)),
        which_(which) {}

  const void* const* inputs(const OpArgs& a) { return masked_.read(a, a.scratch, masked_fill(at(a), type_)).data(); }

  MaskedInputs masked_;
  kernel::Merge merge_;
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
const RegisteredOp kAverage = op<nn::AverageSpec, AverageOp>(kKind);
const RegisteredOp kSubtract = op<nn::SubtractSpec, SubtractOp>(kKind);
const RegisteredOp kMultiply = op<nn::MultiplySpec, MultiplyOp>(kKind);
const RegisteredOp kMaximum = op<nn::MaximumSpec, ExtremeOp>(kKind);
const RegisteredOp kMinimum = op<nn::MinimumSpec, ExtremeOp>(kKind);
const RegisteredOp kRepeatVector = op<nn::RepeatVectorSpec, RepeatVectorOp>(kKind);

}  // namespace
}  // namespace dptrain::backend::DPTRAIN_BACKEND
