// Add, Average, Subtract, Multiply, Maximum, Minimum and RepeatVector. Inputs of the output's shape are merged by one
// pass over flat arrays, others through Broadcast.

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>
#include <vector>

#include "backend/device.h"
#include "backend/masked_inputs.h"
#include "backend/ops/activations.h"
#include "core/shape.h"
#include "kernels/cpu/elementwise.h"
#include "kernels/cpu/masked_steps.h"
#include "kernels/cpu/parallel.h"
#include "nn/merging.h"
#include "nn/reshaping.h"

namespace dptrain::backend::cpu {
namespace {

/// Broadcasts a smaller tensor to a larger one along extents of 1; in backward, sums the larger one's gradient over the
/// broadcast axes. The caller's threads share the work by rows; sums are in the order of memory.
class Broadcast {
 public:
  /// Shapes of one sample, aligned at the last axis.
  Broadcast(const Shape& from, const Shape& to) : from_elements_(from.elements()), to_elements_(to.elements()) {
    const int missing = to.rank() - from.rank();
    for (int d = 0; d < to.rank(); ++d) {
      if (to[d] == 1) continue;
      const bool spread = d < missing || from[d - missing] == 1;
      if (!axes_.empty() && axes_.back().spread == spread)
        axes_.back().extent *= to[d];
      else
        axes_.push_back({.extent = to[d], .spread = spread, .from_stride = 0, .to_stride = 0});
    }
    if (axes_.empty()) axes_.push_back({.extent = 1, .spread = false, .from_stride = 0, .to_stride = 0});
    std::int64_t from_stride = 1, to_stride = 1;
    for (auto axis = axes_.rbegin(); axis != axes_.rend(); ++axis) {
      axis->from_stride = axis->spread ? 0 : from_stride;
      axis->to_stride = to_stride;
      if (!axis->spread) from_stride *= axis->extent;
      to_stride *= axis->extent;
    }
  }

  /// Whether both shapes have the same number of elements, so that no axis is broadcast.
  bool trivial() const noexcept { return from_elements_ == to_elements_; }

  /// y = broadcast x.
  void copy(const float* x, std::int64_t rows, float* y) const {
    if (trivial()) return kernels::cpu::copy({}, DType::kF32, x, y, rows * to_elements_);
    spread(x, rows, y, [](float, float value) { return value; });
  }
  /// y += broadcast x.
  void add(const float* x, std::int64_t rows, float* y) const {
    if (trivial()) return kernels::cpu::accumulate(x, y, rows * to_elements_);
    spread(x, rows, y, [](float old, float value) { return old + value; });
  }
  void subtract(const float* x, std::int64_t rows, float* y) const {
    combine(x, rows, y, kernels::cpu::subtract, [](float old, float value) { return old - value; });
  }
  void multiply(const float* x, std::int64_t rows, float* y) const {
    combine(x, rows, y, kernels::cpu::multiply, [](float old, float value) { return old * value; });
  }
  /// y = the larger (smaller) of y and broadcast x; NaN where one of them is.
  void maximum(const float* x, std::int64_t rows, float* y) const {
    combine(x, rows, y, kernels::cpu::maximum,
            [](float old, float value) { return old >= value || std::isnan(old) ? old : value; });
  }
  void minimum(const float* x, std::int64_t rows, float* y) const {
    combine(x, rows, y, kernels::cpu::minimum,
            [](float old, float value) { return old <= value || std::isnan(old) ? old : value; });
  }

  /// kernels::cpu::move_where_equal of broadcast x and y.
  void move_where_equal(const float* x, const float* y, std::int64_t rows, float* left, float* taken) const {
    if (trivial()) return kernels::cpu::move_where_equal(x, y, left, taken, rows * to_elements_);
    kernels::cpu::parallel_for(rows, [&](std::int64_t row) {
      const float* const source = x + row * from_elements_;
      each_run(0, 0, row * to_elements_, [&](std::int64_t from, std::int64_t to, std::int64_t n, bool is_spread) {
        for (std::int64_t i = 0; i < n; ++i) {
          const bool equal = source[is_spread ? from : from + i] == y[to + i];
          if (taken != nullptr) taken[to + i] = equal ? left[to + i] : 0.0F;
          if (equal) left[to + i] = 0.0F;
        }
      });
    });
  }

  /// dx = dy summed over the broadcast axes.
  void reduce(const float* dy, std::int64_t rows, float* dx) const {
    if (trivial()) return kernels::cpu::copy({}, DType::kF32, dy, dx, rows * to_elements_);
    kernels::cpu::parallel_for(rows, [&](std::int64_t row) {
      const float* const source = dy + row * to_elements_;
      float* const target = dx + row * from_elements_;
      std::fill_n(target, from_elements_, 0.0F);
      each_run(0, 0, 0, [&](std::int64_t from, std::int64_t to, std::int64_t n, bool is_spread) {
        if (is_spread) {
          double sum = 0;
          for (std::int64_t i = 0; i < n; ++i) sum += static_cast<double>(source[to + i]);
          target[from] += static_cast<float>(sum);
        } else {
          for (std::int64_t i = 0; i < n; ++i) target[from + i] += source[to + i];
        }
      });
    });
  }

 private:
  /// Adjacent axes of one kind are joined.
  struct Axis {
    std::int64_t extent;
    bool spread;
    std::int64_t from_stride, to_stride;
  };

  /// Calls run(from, to, n, spread) for every run of the last axis, offsets within one row.
  template <class Run>
  void each_run(std::size_t axis, std::int64_t from, std::int64_t to, const Run& run) const {
    const Axis& a = axes_[axis];
    if (axis + 1 == axes_.size()) return run(from, to, a.extent, a.spread);
    for (std::int64_t i = 0; i < a.extent; ++i) each_run(axis + 1, from + i * a.from_stride, to + i * a.to_stride, run);
  }

  /// y[i] = one(y[i], broadcast x[i]).
  template <class One>
  void spread(const float* x, std::int64_t rows, float* y, const One& one) const {
    kernels::cpu::parallel_for(rows, [&](std::int64_t row) {
      const float* const source = x + row * from_elements_;
      float* const target = y + row * to_elements_;
      each_run(0, 0, 0, [&](std::int64_t from, std::int64_t to, std::int64_t n, bool is_spread) {
        if (is_spread) {
          const float value = source[from];
          for (std::int64_t i = 0; i < n; ++i) target[to + i] = one(target[to + i], value);
        } else {
          for (std::int64_t i = 0; i < n; ++i) target[to + i] = one(target[to + i], source[from + i]);
        }
      });
    });
  }

  /// As spread(); flat(y, x, y, n) does the same for n elements where no axis is broadcast.
  template <class Flat, class One>
  void combine(const float* x, std::int64_t rows, float* y, const Flat& flat, const One& one) const {
    if (trivial()) return flat(y, x, y, rows * to_elements_);
    spread(x, rows, y, one);
  }

  std::vector<Axis> axes_;
  std::int64_t from_elements_, to_elements_;
};

/// Average, and the base of Add: a multiple of the sum of the inputs.
class SumOp : public Op {
 public:
  SumOp(const nn::AverageSpec&, const OpContext& context, Device&)
      : SumOp(context, 1.0F / static_cast<float>(context.step.inputs.size())) {}

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
      if (a.dx(i) != nullptr) inputs_[i].reduce(a.dy(), a.rows, a.dx(i));
    }
  }

 protected:
  SumOp(const OpContext& context, float factor) : elements_(context.output().elements()), factor_(factor) {
    for (std::size_t i = 0; i < context.step.inputs.size(); ++i)
      inputs_.emplace_back(context.input(i), context.output());
  }

  /// Whether there are two inputs, both of the output's shape.
  bool of_two() const { return inputs_.size() == 2 && inputs_[0].trivial() && inputs_[1].trivial(); }
  std::int64_t elements() const noexcept { return elements_; }

 private:
  void scale(const float* x, float* y, std::int64_t n) const { kernels::cpu::scale_offset(x, factor_, 0.0F, y, n); }

  std::vector<Broadcast> inputs_;
  std::int64_t elements_;
  float factor_;
};

class AddOp final : public SumOp {
 public:
  AddOp(const nn::AddSpec&, const OpContext& context, Device&) : SumOp(context, 1.0F), epilogue_(context) {}

  /// Two inputs with ReLU, the end of a residual block, are one pass in each direction.
  void forward(const OpArgs& a) override {
    if (of_two() && epilogue_.is_relu()) return kernels::cpu::add_relu(a.in(), a.in(1), a.out(), a.rows * elements());
    SumOp::forward(a);
    epilogue_.apply({}, a.out(), a.rows);
  }
  void backward(const OpArgs& a) override {
    if (of_two() && epilogue_.is_relu() && epilogue_.changes_gradient() && a.dx() != nullptr && a.dx(1) != nullptr)
      return kernels::cpu::add_relu_backward(a.out(), a.dy(), a.dx(), a.dx(1), a.rows * elements());
    epilogue_.undo({}, a.out(), a.dy(), a.rows);
    SumOp::backward(a);
  }

 private:
  Epilogue epilogue_;
};

class SubtractOp final : public Op {
 public:
  SubtractOp(const nn::SubtractSpec&, const OpContext& context, Device&)
      : first_(context.input(0), context.output()),
        second_(context.input(1), context.output()),
        elements_(context.output().elements()) {}

  void forward(const OpArgs& a) override {
    if (first_.trivial() && second_.trivial())
      return kernels::cpu::subtract(a.in(), a.in(1), a.out(), a.rows * elements_);
    first_.copy(a.in(), a.rows, a.out());
    second_.subtract(a.in(1), a.rows, a.out());
  }

  void backward(const OpArgs& a) override {
    if (a.dx() != nullptr) first_.reduce(a.dy(), a.rows, a.dx());
    if (a.dx(1) == nullptr) return;
    kernels::cpu::scale_offset(a.dy(), -1.0F, 0.0F, a.dy(), a.rows * elements_);
    second_.reduce(a.dy(), a.rows, a.dx(1));
  }

 private:
  Broadcast first_, second_;
  std::int64_t elements_;
};

/// kernels::cpu::fill_masked_steps as MaskedInputs calls it.
void fill_masked(const void* x, const std::uint8_t* mask, const std::uint8_t* others, std::int64_t steps,
                 std::int64_t width, float value, void* y) {
  kernels::cpu::fill_masked_steps(static_cast<const float*>(x), mask, others, steps, width, value,
                                  static_cast<float*>(y));
}

class MaskedMergeOp : public Op {
 public:
  plan::Need need() const override { return {.saved = 0, .scratch = masked_.scratch() + scratch_}; }

 protected:
  /// `neutral`, `where_none`: as for MaskedInputs.
  MaskedMergeOp(const OpContext& context, float neutral, std::optional<float> where_none)
      : masked_(context, neutral, where_none), elements_(context.output().elements()) {
    for (std::size_t i = 0; i < context.inputs(); ++i) inputs_.emplace_back(context.input(i), context.output());
    if (!std::ranges::all_of(inputs_, &Broadcast::trivial) && context.step.has_backward)
      scratch_ = static_cast<std::uint64_t>(context.rows * elements_) * sizeof(float);
  }

  /// The part of scratch for the gradient of an input before its sum over broadcast axes.
  float* unreduced(const OpArgs& a) const {
    return reinterpret_cast<float*>(static_cast<std::byte*>(a.scratch) + masked_.scratch());
  }

  MaskedInputs masked_;
  std::vector<Broadcast> inputs_;
  std::int64_t elements_;

 private:
  std::uint64_t scratch_ = 0;
};

/// The gradient of an input is the output's gradient times all other inputs, summed where the input is broadcast.
class MultiplyOp final : public MaskedMergeOp {
 public:
  MultiplyOp(const nn::MultiplySpec&, const OpContext& context, Device&) : MaskedMergeOp(context, 1.0F, 0.0F) {}

  void forward(const OpArgs& a) override {
    const auto x = masked_.read(a, a.scratch, fill_masked);
    inputs_[0].copy(static_cast<const float*>(x[0]), a.rows, a.out());
    for (std::size_t i = 1; i < inputs_.size(); ++i)
      inputs_[i].multiply(static_cast<const float*>(x[i]), a.rows, a.out());
  }

  void backward(const OpArgs& a) override {
    const auto x = masked_.read(a, a.scratch, fill_masked);
    for (std::size_t i = 0; i < inputs_.size(); ++i) {
      float* const dx = a.dx(i);
      if (dx == nullptr) continue;
      const bool full = inputs_[i].trivial();
      float* const product = full ? dx : unreduced(a);
      kernels::cpu::copy({}, DType::kF32, a.dy(), product, a.rows * elements_);
      for (std::size_t j = 0; j < inputs_.size(); ++j)
        if (j != i) inputs_[j].multiply(static_cast<const float*>(x[j]), a.rows, product);
      if (!full) inputs_[i].reduce(product, a.rows, dx);
      masked_.end_gradient(a, i, [&](const std::uint8_t* mask, std::int64_t steps, std::int64_t width) {
        kernels::cpu::keep_valid_steps({}, DType::kF32, dx, mask, steps, width, dx);
      });
    }
  }
};

/// Maximum and Minimum. Backward visits the inputs in order: an element's gradient is that of the first input that
/// equals the output.
class ExtremeOp final : public MaskedMergeOp {
 public:
  ExtremeOp(const nn::MaximumSpec&, const OpContext& context, Device&)
      : MaskedMergeOp(context, -kInfinity, std::nullopt), largest_(true) {}
  ExtremeOp(const nn::MinimumSpec&, const OpContext& context, Device&)
      : MaskedMergeOp(context, kInfinity, std::nullopt), largest_(false) {}

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
    for (std::size_t i = 0; i < inputs_.size(); ++i) {
      float* const dx = a.dx(i);
      const bool full = inputs_[i].trivial();
      float* const taken = dx == nullptr || full ? dx : unreduced(a);
      inputs_[i].move_where_equal(static_cast<const float*>(x[i]), a.out(), a.rows, a.dy(), taken);
      if (dx != nullptr && !full) inputs_[i].reduce(taken, a.rows, dx);
    }
  }

 private:
  static constexpr float kInfinity = std::numeric_limits<float>::infinity();
  bool largest_;
};

class RepeatVectorOp final : public Op {
 public:
  RepeatVectorOp(const nn::RepeatVectorSpec&, const OpContext& context, Device&)
      : copies_(context.input(0), context.output()) {}

  void forward(const OpArgs& a) override { copies_.copy(a.in(), a.rows, a.out()); }
  void backward(const OpArgs& a) override { copies_.reduce(a.dy(), a.rows, a.dx()); }

 private:
  Broadcast copies_;
};

const RegisteredOp kCpuAdd = op<nn::AddSpec, AddOp>(DeviceKind::kCpu, {.fuses = {fuses_activation()}});
const RegisteredOp kCpuAverage = op<nn::AverageSpec, SumOp>(DeviceKind::kCpu);
const RegisteredOp kCpuSubtract = op<nn::SubtractSpec, SubtractOp>(DeviceKind::kCpu);
const RegisteredOp kCpuMultiply = op<nn::MultiplySpec, MultiplyOp>(DeviceKind::kCpu);
const RegisteredOp kCpuMaximum = op<nn::MaximumSpec, ExtremeOp>(DeviceKind::kCpu);
const RegisteredOp kCpuMinimum = op<nn::MinimumSpec, ExtremeOp>(DeviceKind::kCpu);
const RegisteredOp kCpuRepeatVector = op<nn::RepeatVectorSpec, RepeatVectorOp>(DeviceKind::kCpu);

}  // namespace
}  // namespace dptrain::backend::cpu
