// All optimizers except Lamb. Values that depend on the number of the update are computed on the host by describe() for
// GPUs, and in the kernels for CPUs, which do not call describe().

#include "nn/optimizers.h"

#include <cmath>
#include <utility>

#include "backend/ops/optimizer_base.h"
#include "kernels/nadam_momenta.h"

namespace dptrain::backend::DPTRAIN_BACKEND {
namespace {

kernels::SgdPass pass_of(const nn::SGDSpec& spec) {
  return {.momentum = spec.momentum, .nesterov = spec.nesterov, .weight_decay = spec.weight_decay.value_or(0)};
}
kernels::AdagradPass pass_of(const nn::AdagradSpec& spec) {
  return {.epsilon = spec.epsilon, .weight_decay = spec.weight_decay.value_or(0)};
}
kernels::AdadeltaPass pass_of(const nn::AdadeltaSpec& spec) {
  return {.rho = spec.rho, .epsilon = spec.epsilon, .weight_decay = spec.weight_decay.value_or(0)};
}
kernels::LionPass pass_of(const nn::LionSpec& spec) {
  return {.beta_1 = spec.beta_1, .beta_2 = spec.beta_2, .weight_decay = spec.weight_decay.value_or(0)};
}
kernels::AdamPass pass_of(const nn::AdamArguments& spec) { return adam_pass(spec); }

/// An optimizer whose kernel `update` takes the slots with these indices; null where the optimizer has fewer slots.
template <class Spec, auto update, std::size_t... slots>
class PassOp : public OptimizerBase {
 public:
  PassOp(const Spec& spec, const UpdateContext& context, Device& device)
      : OptimizerBase(context, device), pass_(pass_of(spec)) {}

  void run(const OptimizerArgs& a) override {
    const UpdateBuffers& b = a.buffers;
    update(at(a), pass_, state(a), b.gradients, a.n, weights(a),
           (slots < b.slots.size() ? b.slots[slots] : nullptr)...);
  }

 protected:
  const decltype(pass_of(std::declval<Spec>())) pass_;
};

class RMSpropOp final : public OptimizerBase {
 public:
  RMSpropOp(const nn::RMSpropSpec& spec, const UpdateContext& context, Device& device)
      : OptimizerBase(context, device),
        pass_{.rho = spec.rho,
              .momentum = spec.momentum,
              .epsilon = spec.epsilon,
              .weight_decay = spec.weight_decay.value_or(0)},
        centered_(spec.centered) {}

  /// Slots: velocity, then momentum and the average gradient, if used.
  void run(const OptimizerArgs& a) override {
    const bool momentum = pass_.momentum > 0;
    const UpdateBuffers& b = a.buffers;
    kernel::rmsprop_update(at(a), pass_, state(a), b.gradients, a.n, weights(a), b.slots[0],
                           momentum ? b.slots[1] : nullptr, centered_ ? b.slots[momentum ? 2 : 1] : nullptr);
  }

 private:
  const kernels::RmspropPass pass_;
  const bool centered_;
};

/// 1 - beta^t in update t = step + 1.
double bias_correction(double beta, const UpdateArgs& args) {
  return 1 - std::pow(beta, static_cast<double>(args.step + 1));
}

/// Adam and AdamW: they differ in a default.
class AdamOp final : public PassOp<nn::AdamSpec, kernel::adam_update, 0, 1, 2> {
 public:
  using PassOp::PassOp;
  void describe(const UpdateArgs& args, kernels::StepState& state) const override {
    state.hyper[0] =
        args.learning_rate * std::sqrt(bias_correction(pass_.beta_2, args)) / bias_correction(pass_.beta_1, args);
  }
};

class AdamaxOp final : public PassOp<nn::AdamaxSpec, kernel::adamax_update, 0, 1> {
 public:
  using PassOp::PassOp;
  void describe(const UpdateArgs& args, kernels::StepState& state) const override {
    state.hyper[0] = args.learning_rate / bias_correction(pass_.beta_1, args);
  }
};

class NadamOp final : public PassOp<nn::NadamSpec, kernel::nadam_update, 0, 1> {
 public:
  using PassOp::PassOp;
  void describe(const UpdateArgs& args, kernels::StepState& state) const override {
    const kernels::NadamFactors factors = kernels::nadam_factors(pass_.beta_1, pass_.beta_2, args.step + 1);
    state.hyper[0] = factors.average;
    state.hyper[1] = factors.gradient;
    state.hyper[2] = factors.square;
  }
};

const RegisteredOptimizerOp kOptimizers[] = {
    optimizer_op<nn::SGDSpec, PassOp<nn::SGDSpec, kernel::sgd_update, 0>>(kKind),
    optimizer_op<nn::AdagradSpec, PassOp<nn::AdagradSpec, kernel::adagrad_update, 0>>(kKind),
    optimizer_op<nn::AdadeltaSpec, PassOp<nn::AdadeltaSpec, kernel::adadelta_update, 0, 1>>(kKind),
    optimizer_op<nn::RMSpropSpec, RMSpropOp>(kKind),
    optimizer_op<nn::LionSpec, PassOp<nn::LionSpec, kernel::lion_update, 0>>(kKind),
    optimizer_op<nn::AdamSpec, AdamOp>(kKind),
    optimizer_op<nn::AdamWSpec, AdamOp>(kKind),
    optimizer_op<nn::AdamaxSpec, AdamaxOp>(kKind),
    optimizer_op<nn::NadamSpec, NadamOp>(kKind)};

}  // namespace
}  // namespace dptrain::backend::DPTRAIN_BACKEND
