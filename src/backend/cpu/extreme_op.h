#pragma once

// The largest or the smallest of inputs, extents of 1 spread: what Maximum and Minimum are.

#include <algorithm>
#include <limits>
#include <vector>

#include "backend/cpu/broadcast.h"
#include "backend/cpu/masked_fill.h"
#include "backend/device.h"
#include "backend/masked_inputs.h"
#include "kernels/cpu/elementwise.h"

namespace dptrain::backend::cpu {

/// Backward goes through the inputs in order; each takes the gradient of the elements at which it equals the output,
/// and leaves the rest to those after it.
class ExtremeOp : public Op {
 public:
  plan::Need need() const override { return {.saved = 0, .scratch = masked_.scratch() + scratch_}; }

  void forward(const OpArgs& a) override {
    const auto x = masked_.read(a, a.scratch, fill_masked);
    const auto in = [&](std::size_t i) { return static_cast<const float*>(x[i]); };
    std::size_t next = 1;
    if (inputs_[0].trivial() && inputs_[1].trivial()) {
      const auto of_two = largest_ ? kernels::cpu::maximum : kernels::cpu::minimum;
      of_two(in(0), in(1), a.out(), a.rows * elements_);
      next = 2;
    } else {
      inputs_[0].copy(in(0), a.rows, a.out());
    }
    for (; next < inputs_.size(); ++next)
      if (largest_)
        inputs_[next].maximum(in(next), a.rows, a.out());
      else
        inputs_[next].minimum(in(next), a.rows, a.out());
  }

  void backward(const OpArgs& a) override {
    const auto x = masked_.read(a, a.scratch, fill_masked);
    auto* const spread = reinterpret_cast<float*>(static_cast<std::byte*>(a.scratch) + masked_.scratch());
    for (std::size_t i = 0; i < inputs_.size(); ++i) {
      float* const dx = a.dx(i);
      const bool full = inputs_[i].trivial();
      float* const taken = dx == nullptr || full ? dx : spread;
      inputs_[i].take_where_equal(static_cast<const float*>(x[i]), a.out(), a.rows, a.dy(), taken);
      if (dx != nullptr && !full) inputs_[i].reduce(taken, a.rows, dx);
    }
  }

 protected:
  ExtremeOp(const OpContext& context, bool largest)
      : masked_(context, (largest ? -1.0F : 1.0F) * std::numeric_limits<float>::infinity(), std::nullopt),
        elements_(context.output().elements()),
        largest_(largest) {
    for (std::size_t i = 0; i < context.inputs(); ++i) inputs_.emplace_back(context.input(i), context.output());
    const bool spread = std::any_of(inputs_.begin(), inputs_.end(), [](const Broadcast& b) { return !b.trivial(); });
    if (spread && context.step.has_backward)
      scratch_ = static_cast<std::uint64_t>(context.rows * elements_) * sizeof(float);
  }

 private:
  MaskedInputs masked_;
  std::vector<Broadcast> inputs_;
  std::int64_t elements_;
  bool largest_;
  std::uint64_t scratch_ = 0;
};

}  // namespace dptrain::backend::cpu
