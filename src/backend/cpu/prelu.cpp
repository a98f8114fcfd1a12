#include "nn/activations.h"

#include <algorithm>

#include "backend/device.h"
#include "kernels/cpu/elementwise.h"
#include "kernels/cpu/parallel.h"
#include "kernels/cpu/prelu.h"

namespace dptrain::backend::cpu {
namespace {

/// Axes of a sample along which alpha is shared or not; adjacent axes of one kind are joined. The innermost ones form a
/// matrix [positions, channels] for the kernels, and each() iterates over the others.
class Sharing {
 public:
  Sharing(const Shape& sample, const Shape& alpha) {
    std::vector<Axis> axes;
    for (int d = 0; d < sample.rank(); ++d) {
      if (sample[d] == 1) continue;
      const bool shared = alpha[d] == 1;
      if (!axes.empty() && axes.back().shared == shared)
        axes.back().extent *= sample[d];
      else
        axes.push_back({.extent = sample[d], .shared = shared, .x_stride = 0, .alpha_stride = 0});
    }
    for (const bool shared : {false, true}) {
      if (axes.empty() || axes.back().shared != shared) continue;
      (shared ? positions_ : channels_) = axes.back().extent;
      axes.pop_back();
    }
    std::int64_t x_stride = positions_ * channels_, alpha_stride = channels_;
    for (auto axis = axes.rbegin(); axis != axes.rend(); ++axis) {
      axis->x_stride = x_stride;
      axis->alpha_stride = axis->shared ? 0 : alpha_stride;
      x_stride *= axis->extent;
      if (!axis->shared) alpha_stride *= axis->extent;
    }
    outer_ = std::move(axes);
  }

  std::int64_t positions() const noexcept { return positions_; }
  std::int64_t channels() const noexcept { return channels_; }

  /// Calls f(offset into the sample, offset into alpha) for every matrix.
  template <class F>
  void each(const F& f, std::size_t axis = 0, std::int64_t x = 0, std::int64_t alpha = 0) const {
    if (axis == outer_.size()) return f(x, alpha);
    const Axis& a = outer_[axis];
    for (std::int64_t i = 0; i < a.extent; ++i) each(f, axis + 1, x + i * a.x_stride, alpha + i * a.alpha_stride);
  }

 private:
  struct Axis {
    std::int64_t extent;
    bool shared;
    std::int64_t x_stride, alpha_stride;
  };

  std::vector<Axis> outer_;
  std::int64_t positions_ = 1, channels_ = 1;
};

/// The gradient of a shared alpha is summed over each row and then over the rows. Without sharing it is summed over the
/// rows directly, by ranges of elements. Neither order depends on the number of threads.
class PReLUOp final : public Op {
 public:
  PReLUOp(const nn::PReLUSpec&, const OpContext& context, Device&)
      : sharing_(context.input(0), alpha_shape(context)),
        elements_(context.input(0).elements()),
        alphas_(alpha_shape(context).elements()) {
    if (alphas_ < elements_ && context.trains())
      scratch_ = static_cast<std::uint64_t>(context.rows * alphas_) * sizeof(float);
  }

  plan::Need need() const override { return {.saved = 0, .scratch = scratch_}; }

  void forward(const OpArgs& a) override {
    each_matrix(a.rows, [&](std::int64_t, std::int64_t at, std::int64_t alpha) {
      kernels::cpu::prelu_forward(a.in() + at, a.weights[0] + alpha, sharing_.positions(), sharing_.channels(),
                                  a.out() + at);
    });
  }

  void backward(const OpArgs& a) override {
    if (float* const gradient = a.weight_gradients[0]; gradient != nullptr)
      alphas_ == elements_ ? differentiate_own(a, gradient) : differentiate_shared(a, gradient);
    if (a.dx() == nullptr) return;
    each_matrix(a.rows, [&](std::int64_t, std::int64_t at, std::int64_t alpha) {
      kernels::cpu::prelu_input_gradient(a.in() + at, a.dy() + at, a.weights[0] + alpha, sharing_.positions(),
                                         sharing_.channels(), a.dx() + at);
    });
  }

 private:
  static const Shape& alpha_shape(const OpContext& context) {
    return context.plan.parameters[static_cast<std::size_t>(context.step.parameters[0])].shape;
  }

  /// f(row, offset into the batch, offset into alpha), rows in parallel.
  template <class F>
  void each_matrix(std::int64_t rows, const F& f) const {
    kernels::cpu::parallel_for(rows, [&](std::int64_t row) {
      sharing_.each([&](std::int64_t x, std::int64_t alpha) { f(row, row * elements_ + x, alpha); });
    });
  }

  void differentiate_own(const OpArgs& a, float* gradient) const {
    kernels::cpu::parallel_ranges(elements_, kernels::cpu::kPieceElements, [&](std::int64_t begin, std::int64_t end) {
      std::fill(gradient + begin, gradient + end, 0.0F);
      for (std::int64_t row = 0; row < a.rows; ++row) {
        const std::int64_t at = row * elements_ + begin;
        kernels::cpu::prelu_alpha_gradient(a.in() + at, a.dy() + at, 1, end - begin, gradient + begin);
      }
    });
  }

  void differentiate_shared(const OpArgs& a, float* gradient) const {
    auto* const of_rows = static_cast<float*>(a.scratch);
    kernels::cpu::fill(0.0F, of_rows, a.rows * alphas_);
    each_matrix(a.rows, [&](std::int64_t row, std::int64_t at, std::int64_t alpha) {
      kernels::cpu::prelu_alpha_gradient(a.in() + at, a.dy() + at, sharing_.positions(), sharing_.channels(),
                                         of_rows + row * alphas_ + alpha);
    });
    kernels::cpu::parallel_ranges(alphas_, kernels::cpu::kPieceElements, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i) {
        double sum = 0;
        for (std::int64_t row = 0; row < a.rows; ++row) sum += static_cast<double>(of_rows[row * alphas_ + i]);
        gradient[i] = static_cast<float>(sum);
      }
    });
  }

  Sharing sharing_;
  std::int64_t elements_, alphas_;
  std::uint64_t scratch_ = 0;
};

const RegisteredOp kCpuPReLU = op<nn::PReLUSpec, PReLUOp>(DeviceKind::kCpu);

}  // namespace
}  // namespace dptrain::backend::cpu
