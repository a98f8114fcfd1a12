// The optimizer's pass of the CPU device: kernels/cpu/optimizer.h over the flat arenas.

#include <cmath>

#include "core/error.h"
#include "core/format.h"
#include "device/cpu/cpu_device.h"
#include "kernels/cpu/elementwise.h"
#include "kernels/cpu/optimizer.h"

namespace dptrain::device::cpu {
namespace {

namespace kernel = kernels::cpu;

class CpuUpdate final : public Update {
 public:
  explicit CpuUpdate(const UpdateContext& context)
      : plan_(context.plan),
        optimizer_(context.optimizer),
        common_(optim::common(optimizer_)),
        goes_on_(context.goes_on) {}

  void run(const UpdateBuffers& b, const optim::UpdateArgs& args, const kernels::StepState*, Stream&) override {
    if (b.loss_scale != nullptr && leave_out(b)) {
      if (common_.use_ema && args.step == 0) kernel::copy(b.weights, b.average, plan_.trainable_end);
      return;
    }
    add_regularizer_gradients(b);
    clip(b);
    update(b, args);
    update_statistics(b);
    if (common_.use_ema) average(b, args.step);
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
  /// Whether this step changes nothing, because gradients are not finite, or because an earlier step's were not.
  bool leave_out(const UpdateBuffers& b) const {
    kernels::LossScale& account = *b.loss_scale;
    if (account.found_inf == 0 && kernel::all_finite(b.gradients, plan_.statistics_end)) return false;
    account.found_inf = goes_on_ ? 0 : 1;
    if (goes_on_) ++account.skipped;
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
    if (common_.clipvalue) kernel::clip_by_value(static_cast<float>(*common_.clipvalue), n, b.gradients);
    if (common_.global_clipnorm) clip_norm(b.gradients, n, *common_.global_clipnorm);
    if (common_.clipnorm)
      for (const plan::Parameter& p : plan_.parameters)
        if (p.kind == plan::ParameterKind::kTrainable)
          clip_norm(b.gradients + p.offset, p.elements(), *common_.clipnorm);
  }

  /// g = g limit / max(|g|, limit).
  static void clip_norm(float* g, std::int64_t n, double limit) {
    const double norm = std::sqrt(kernel::sum_of_squares(g, n));
    if (!(norm <= limit)) kernel::scale(static_cast<float>(limit / norm), n, g);  // a NaN goes on to the weights
  }

  void update(const UpdateBuffers& b, const optim::UpdateArgs& args) const {
    if (const auto* adam = optimizer_.get_if<optim::AdamSpec>()) return update_adam(*adam, b, args);
    if (const auto* adamw = optimizer_.get_if<optim::AdamWSpec>()) return update_adam(*adamw, b, args);
    const std::int64_t n = plan_.trainable_end;
    if (common_.weight_decay) kernel::weight_decay(args.learning_rate * *common_.weight_decay, n, b.weights);
    if (const auto* sgd = optimizer_.get_if<optim::SGDSpec>()) {
      const kernel::SgdStep step{
          .learning_rate = args.learning_rate, .momentum = sgd->momentum, .nesterov = sgd->nesterov};
      kernel::sgd_update(step, b.gradients, n, b.weights, sgd->momentum != 0 ? b.slots[0] : nullptr);
    } else if (const auto* rmsprop = optimizer_.get_if<optim::RMSpropSpec>()) {
      update_rmsprop(*rmsprop, b, args);
    } else if (const auto* adagrad = optimizer_.get_if<optim::AdagradSpec>()) {
      kernel::adagrad_update(args.learning_rate, adagrad->epsilon, b.gradients, n, b.weights, b.slots[0]);
    } else {
      throw Error(ErrorKind::kInternal, fmt::format("{}: the CPU device has no such optimizer", optimizer_.name()));
    }
  }

  void update_adam(const optim::AdamSpec& adam, const UpdateBuffers& b, const optim::UpdateArgs& args) const {
    const kernel::AdamStep step{.learning_rate = args.learning_rate,
                                .beta_1 = adam.beta_1,
                                .beta_2 = adam.beta_2,
                                .epsilon = adam.epsilon,
                                .weight_decay = adam.weight_decay.value_or(0),
                                .step = args.step + 1 - (b.loss_scale != nullptr ? b.loss_scale->skipped : 0)};
    kernel::adam_update(step, b.gradients, plan_.trainable_end, b.weights, b.slots[0], b.slots[1],
                        adam.amsgrad ? b.slots[2] : nullptr);
  }

  /// Slots: velocity, then momentum and the average gradient where there are any.
  void update_rmsprop(const optim::RMSpropSpec& rmsprop, const UpdateBuffers& b, const optim::UpdateArgs& args) const {
    const kernel::RmspropStep step{.learning_rate = args.learning_rate,
                                   .rho = rmsprop.rho,
                                   .momentum = rmsprop.momentum,
                                   .epsilon = rmsprop.epsilon};
    const bool momentum = rmsprop.momentum > 0;
    kernel::rmsprop_update(step, b.gradients, plan_.trainable_end, b.weights, b.slots[0],
                           momentum ? b.slots[1] : nullptr, rmsprop.centered ? b.slots[momentum ? 2 : 1] : nullptr);
  }

  /// new = momentum old + (1 - momentum) value, where the value stands in the gradients' arena.
  void update_statistics(const UpdateBuffers& b) const {
    for (const plan::Parameter& p : plan_.parameters)
      if (p.kind == plan::ParameterKind::kStatistic)
        kernel::ema_update(p.momentum, b.gradients + p.offset, p.elements(), b.weights + p.offset);
  }

  void average(const UpdateBuffers& b, std::int64_t step) const {
    const std::int64_t n = plan_.trainable_end;
    if (step == 0)
      kernel::copy(b.weights, b.average, n);
    else
      kernel::ema_update(common_.ema_momentum, b.weights, n, b.average);
    if (common_.ema_overwrite_frequency && (step + 1) % *common_.ema_overwrite_frequency == 0)
      kernel::copy(b.average, b.weights, n);
  }

  const plan::Plan& plan_;
  config::Typed optimizer_;
  const optim::OptimizerCommon& common_;  // of optimizer_
  const bool goes_on_;
};

}  // namespace

std::unique_ptr<Update> make_cpu_update(const UpdateContext& context) { return std::make_unique<CpuUpdate>(context); }

}  // namespace dptrain::device::cpu
