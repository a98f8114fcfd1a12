#pragma once

// MaskedInputs: inputs of Multiply, Maximum and Minimum with masks. As in Keras 3, masked steps are replaced by a
// neutral value. Owned by one op; used from the replica's thread.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "backend/op.h"
#include "backend/parts.h"
#include "core/dtype.h"

namespace dptrain::backend {

class MaskedInputs {
 public:
  /// `neutral` replaces masked steps. At steps that are masked in all inputs, the first input is `where_none`, or keeps
  /// its values if that is nullopt.
  MaskedInputs(const OpContext& context, float neutral, std::optional<float> where_none)
      : rows_(context.rows), neutral_(neutral), where_none_(where_none), pointers_(context.inputs()) {
    for (std::size_t i = 0; i < context.inputs(); ++i) {
      Input& input = inputs_.emplace_back();
      input.mask = context.mask(i);
      if (!input.mask) {
        all_masked_ = false;
        continue;
      }
      const int tensor = context.step.inputs[*input.mask];
      input.steps = context.plan.tensors[static_cast<std::size_t>(tensor)].shape.elements();
      input.width = context.input(i).elements() / input.steps;
      input.place = bytes_;
      bytes_ += aligned_part(rows_ * context.input(i).elements(), context.plan.compute);
    }
  }

  std::uint64_t scratch() const { return bytes_; }

  /// Returns the inputs to read: those of the call, or copies in `scratch`, valid until the next call of read().
  /// `fill(x, mask, others, steps, width, value, y)` is the device's fill_masked_steps().
  template <class Fill>
  std::span<const void* const> read(const OpArgs& a, void* scratch, const Fill& fill) {
    for (std::size_t i = 0; i < inputs_.size(); ++i) {
      const Input& input = inputs_[i];
      pointers_[i] = a.inputs[i];
      if (!input.mask) continue;
      const auto* const mask = a.in<std::uint8_t>(*input.mask);
      void* const y = static_cast<std::byte*>(scratch) + input.place;
      const auto keep = [&](const std::uint8_t* others, float value) {
        fill(pointers_[i], mask, others, a.rows * input.steps, input.width, value, y);
        pointers_[i] = y;
      };
      if (i > 0 || !all_masked_) {
        keep(nullptr, neutral_);
        continue;
      }
      if (where_none_) keep(nullptr, *where_none_);
      for (std::size_t j = 1; j < inputs_.size(); ++j)
        if (const auto* const others = a.in<std::uint8_t>(*inputs_[j].mask); others != mask) keep(others, neutral_);
    }
    return pointers_;
  }

  /// Calls `zero(mask, steps, width)` if input i has a mask: the gradient of masked steps is zero.
  template <class Zero>
  void end_gradient(const OpArgs& a, std::size_t i, const Zero& zero) const {
    const Input& input = inputs_[i];
    if (input.mask) zero(a.in<std::uint8_t>(*input.mask), a.rows * input.steps, input.width);
  }

 private:
  struct Input {
    std::optional<std::size_t> mask;
    std::int64_t steps = 0, width = 0;  ///< per sample
    std::uint64_t place = 0;            ///< offset in scratch
  };

  std::int64_t rows_;
  float neutral_;
  std::optional<float> where_none_;
  bool all_masked_ = true;
  std::uint64_t bytes_ = 0;
  std::vector<Input> inputs_;
  std::vector<const void*> pointers_;
};

}  // namespace dptrain::backend
