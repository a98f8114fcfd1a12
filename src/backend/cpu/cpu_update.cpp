// CpuUpdate: the optimizer's pass over the flat arenas on the CPU. Contains the work that all optimizers share, and
// calls the optimizer's own op.

#include <algorithm>
#include <cmath>

#include "backend/cpu/cpu_device.h"
#include "backend/optimizer_op.h"
#include "kernels/cpu/elementwise.h"
#include "kernels/cpu/optimizer.h"
#include "nn/optimizer.h"

namespace dptrain::backend::cpu {
namespace {

namespace kernel = kernels::cpu;

class CpuUpdate final : public Update {
 public:
  CpuUpdate(const UpdateContext& context, Device& device)
      : plan_(context.plan),
        optimizer_(context.optimizer),
        common_(nn::common(optimizer_)),
        continue_after_nonfinite_(context.continue_after_nonfinite),
        op_(make_optimizer_op(context, device)) {}

  void run(const UpdateBuffers& b, const UpdateArgs& args, const kernels::StepState*, Stream& stream) override {
    UpdateArgs update = args;
    if (b.loss_scale != nullptr) {
      update.step -= b.loss_scale->skipped;
      if (skip_if_not_finite(b)) {
        if (common_.use_ema && update.step == 0)
          kernel::copy({}, DType::kF32, b.weights, b.average, plan_.trainable_end);
        return;
      }
    }
    add_regularizer_gradients(b);
    clip(b);
    op_->run({.buffers = b, .n = plan_.trainable_end, .update = update, .stream = stream});
    for (RowTable* table : b.tables) table->update(update);
    update_statistics(b);
    if (common_.use_ema) average(b, update.step);
  }

  void penalty(const float* weights, double* value, Stream&) override {
    double sum = 0;
    for (const plan::Parameter& p : plan_.parameters)
      if (is_regularized(p))
        sum += kernel::l1l2_value(weights + p.offset, p.elements(), static_cast<float>(p.penalty.l1),
                                  static_cast<float>(p.penalty.l2));
    *value = sum;
  }

 private:
  /// Whether this step changes nothing, because its gradients or those of an earlier step are not finite.
  bool skip_if_not_finite(const UpdateBuffers& b) const {
    kernels::LossScale& account = *b.loss_scale;
    if (account.found_inf == 0 && kernel::all_finite(b.gradients, plan_.statistics_end) &&
        std::ranges::all_of(b.tables, &RowTable::is_finite))
      return false;
    account.found_inf = continue_after_nonfinite_ ? 0 : 1;
    if (continue_after_nonfinite_) ++account.skipped;
    return true;
  }

  /// Frozen weights have no penalty, as in Keras.
  static bool is_regularized(const plan::Parameter& p) {
    return p.kind == plan::ParameterKind::kTrainable && (p.penalty.l1 != 0 || p.penalty.l2 != 0);
  }

  void add_regularizer_gradients(const UpdateBuffers& b) const {
    for (const plan::Parameter& p : plan_.parameters)
      if (is_regularized(p))
        kernel::add_l1l2_gradient(b.weights + p.offset, p.elements(), static_cast<float>(p.penalty.l1),
                                  static_cast<float>(p.penalty.l2), 1.0F, b.gradients + p.offset);
  }

  void clip(const UpdateBuffers& b) const {
    const std::int64_t n = plan_.trainable_end;
    if (common_.clipvalue) {
      const auto limit = static_cast<float>(*common_.clipvalue);
      kernel::clip_by_value(limit, n, b.gradients);
      for (RowTable* table : b.tables) table->clip(limit);
    }
    if (common_.global_clipnorm) clip_norm(b.gradients, n, *common_.global_clipnorm);
    if (common_.clipnorm)
      for (const plan::Parameter& p : plan_.parameters)
        if (p.kind == plan::ParameterKind::kTrainable)
          clip_norm(b.gradients + p.offset, p.elements(), *common_.clipnorm);
  }

  /// g = g limit / max(|g|, limit).
  static void clip_norm(float* g, std::int64_t n, double limit) {
    const double norm = std::sqrt(kernel::sum_of_squares(g, n));
    if (!(norm <= limit)) kernel::scale(static_cast<float>(limit / norm), n, g);  // a NaN propagates to the weights
  }

  /// new = momentum old + (1 - momentum) value, where the value is in the gradients' arena.
  void update_statistics(const UpdateBuffers& b) const {
    for (const plan::Parameter& p : plan_.parameters)
      if (p.kind == plan::ParameterKind::kStatistic)
        kernel::ema_update(p.momentum, b.gradients + p.offset, p.elements(), b.weights + p.offset);
  }

  /// `step`: number of previous updates.
  void average(const UpdateBuffers& b, std::int64_t step) const {
    const std::int64_t n = plan_.trainable_end;
    if (step == 0)
      kernel::copy({}, DType::kF32, b.weights, b.average, n);
    else
      kernel::ema_update(common_.ema_momentum, b.weights, n, b.average);
    if (common_.ema_overwrite_frequency && (step + 1) % *common_.ema_overwrite_frequency == 0)
      kernel::copy({}, DType::kF32, b.average, b.weights, n);
  }

  const plan::Plan& plan_;
  config::Typed optimizer_;
  const nn::OptimizerCommon& common_;  // part of optimizer_
  const bool continue_after_nonfinite_;
  std::unique_ptr<OptimizerOp> op_;
};

}  // namespace

std::unique_ptr<Update> make_cpu_update(const UpdateContext& context, Device& device) {
  return std::make_unique<CpuUpdate>(context, device);
}

}  // namespace dptrain::backend::cpu
