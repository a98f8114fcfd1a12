#pragma once

// A multiple of the sum of inputs, extents of 1 spread: what Add and Average are.

#include <vector>

#include "backend/cpu/broadcast.h"
#include "backend/device.h"
#include "kernels/cpu/elementwise.h"

namespace dptrain::backend::cpu {

class SumOp : public Op {
 public:
  void forward(const OpArgs& a) override {
    std::size_t next = 1;
    if (inputs_[0].trivial() && inputs_[1].trivial()) {
      kernels::cpu::add(a.in(), a.in(1), a.out(), a.rows * elements_);
      next = 2;
    } else {
      inputs_[0].copy(a.in(), a.rows, a.out());
    }
    for (; next < inputs_.size(); ++next) inputs_[next].add(a.in(next), a.rows, a.out());
    if (factor_ != 1) scale(a.out(), a.out(), a.rows * elements_);
  }

  void backward(const OpArgs& a) override {
    if (factor_ != 1) scale(a.dy(), a.dy(), a.rows * elements_);
    for (std::size_t i = 0; i < inputs_.size(); ++i) {
      if (a.dx(i) == nullptr) continue;
      if (inputs_[i].trivial())
        kernels::cpu::copy({}, DType::kF32, a.dy(), a.dx(i), a.rows * elements_);
      else
        inputs_[i].reduce(a.dy(), a.rows, a.dx(i));
    }
  }

 protected:
  SumOp(const OpContext& context, float factor) : elements_(context.output().elements()), factor_(factor) {
    for (std::size_t i = 0; i < context.step.inputs.size(); ++i)
      inputs_.emplace_back(context.input(i), context.output());
  }

  /// Two inputs of the output's shape.
  bool of_two() const { return inputs_.size() == 2 && inputs_[0].trivial() && inputs_[1].trivial(); }
  std::int64_t elements() const noexcept { return elements_; }

 private:
  void scale(const float* x, float* y, std::int64_t n) const { kernels::cpu::scale_offset(x, factor_, 0.0F, y, n); }

  std::vector<Broadcast> inputs_;
  std::int64_t elements_;
  float factor_;
};

}  // namespace dptrain::backend::cpu
