// All optimizers except Lamb. Values that depend on the number of the update are computed on the host by describe() for
// GPUs, and in the kernels for CPUs, which do not call describe().

#include "nn/optimizers.h"

#include <cmath>

#include "backend/ops/optimizer_base.h"
#include "kernels/nadam_momenta.h"

namespace dptrain::backend::DPTRAIN_BACKEND {
namespace {

class SGDOp final : public OptimizerBase {
 public:
  SGDOp(const nn::SGDSpec& spec, const UpdateContext& context, Device& device)
      : OptimizerBase(spec, context, device),
        pass_{.momentum = spec.momentum, .nesterov = spec.nesterov, .weight_decay = weight_decay_} {}

  void run(const OptimizerArgs& a) override {
    const UpdateBuffers& b = a.buffers;
    kernel::sgd_update(at(a), pass_, state(a), b.gradients, a.n, weights(a),
                       pass_.momentum != 0 ? b.slots[0] : nullptr);
  }

 private:
  const kernels::SgdPass pass_;
};

class AdagradOp final : public OptimizerBase {
 public:
  AdagradOp(const nn::AdagradSpec& spec, const UpdateContext& context, Device& device)
      : OptimizerBase(spec, context, device), pass_{.epsilon = spec.epsilon, .weight_decay = weight_decay_} {}

  void run(const OptimizerArgs& a) override {
    kernel::adagrad_update(at(a), pass_, state(a), a.buffers.gradients, a.n, weights(a), a.buffers.slots[0]);
  }

 private:
  const kernels::AdagradPass pass_;
};

class AdadeltaOp final : public OptimizerBase {
 public:
  AdadeltaOp(const nn::AdadeltaSpec& spec, const UpdateContext& context, Device& device)
      : OptimizerBase(spec, context, device),
        pass_{.rho = spec.rho, .epsilon = spec.epsilon, .weight_decay = weight_decay_} {}

  void run(const OptimizerArgs& a) override {
    const UpdateBuffers& b = a.buffers;
    kernel::adadelta_update(at(a), pass_, state(a), b.gradients, a.n, weights(a), b.slots[0], b.slots[1]);
  }

 private:
  const kernels::AdadeltaPass pass_;
};

class RMSpropOp final : public OptimizerBase {
 public:
  RMSpropOp(const nn::RMSpropSpec& spec, const UpdateContext& context, Device& device)
      : OptimizerBase(spec, context, device),
        pass_{.rho = spec.rho, .momentum = spec.momentum, .epsilon = spec.epsilon, .weight_decay = weight_decay_},
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

class LionOp final : public OptimizerBase {
 public:
  LionOp(const nn::LionSpec& spec, const UpdateContext& context, Device& device)
      : OptimizerBase(spec, context, device),
        pass_{.beta_1 = spec.beta_1, .beta_2 = spec.beta_2, .weight_decay = weight_decay_} {}

  void run(const OptimizerArgs& a) override {
    kernel::lion_update(at(a), pass_, state(a), a.buffers.gradients, a.n, weights(a), a.buffers.slots[0]);
  }

 private:
  const kernels::LionPass pass_;
};

/// 1 - beta^t in update t = step + 1.
double bias_correction(double beta, const UpdateArgs& args) {
  return 1 - std::pow(beta, static_cast<double>(args.step + 1));
}

/// Adam and AdamW: they differ in a default.
class AdamOp final : public OptimizerBase {
 public:
  AdamOp(const nn::AdamSpec& spec, const UpdateContext& context, Device& device)
      : OptimizerBase(spec, context, device), pass_(adam_pass(spec)), amsgrad_(spec.amsgrad) {}

  void describe(const UpdateArgs& args, kernels::StepState& state) const override {
    state.hyper[0] =
        args.learning_rate * std::sqrt(bias_correction(pass_.beta_2, args)) / bias_correction(pass_.beta_1, args);
  }
  void run(const OptimizerArgs& a) override {
    const UpdateBuffers& b = a.buffers;
    kernel::adam_update(at(a), pass_, state(a), b.gradients, a.n, weights(a), b.slots[0], b.slots[1],
                        amsgrad_ ? b.slots[2] : nullptr);
  }

 private:
  const kernels::AdamPass pass_;
  const bool amsgrad_;
};

class AdamaxOp final : public OptimizerBase {
 public:
  AdamaxOp(const nn::AdamaxSpec& spec, const UpdateContext& context, Device& device)
      : OptimizerBase(spec, context, device), pass_(adam_pass(spec)) {}

  void describe(const UpdateArgs& args, kernels::StepState& state) const override {
    state.hyper[0] = args.learning_rate / bias_correction(pass_.beta_1, args);
  }
  void run(const OptimizerArgs& a) override {
    const UpdateBuffers& b = a.buffers;
    kernel::adamax_update(at(a), pass_, state(a), b.gradients, a.n, weights(a), b.slots[0], b.slots[1]);
  }

 private:
  const kernels::AdamPass pass_;
};

class NadamOp final : public OptimizerBase {
 public:
  NadamOp(const nn::NadamSpec& spec, const UpdateContext& context, Device& device)
      : OptimizerBase(spec, context, device), pass_(adam_pass(spec)) {}

  void describe(const UpdateArgs& args, kernels::StepState& state) const override {
    const kernels::NadamFactors factors = kernels::nadam_factors(pass_.beta_1, pass_.beta_2, args.step + 1);
    state.hyper[0] = factors.average;
    state.hyper[1] = factors.gradient;
    state.hyper[2] = factors.square;
  }
  void run(const OptimizerArgs& a) override {
    const UpdateBuffers& b = a.buffers;
    kernel::nadam_update(at(a), pass_, state(a), b.gradients, a.n, weights(a), b.slots[0], b.slots[1]);
  }

 private:
  const kernels::AdamPass pass_;
};

const RegisteredOptimizerOp kOptimizers[] = {
    optimizer_op<nn::SGDSpec, SGDOp>(kKind),           optimizer_op<nn::AdagradSpec, AdagradOp>(kKind),
    optimizer_op<nn::AdadeltaSpec, AdadeltaOp>(kKind), optimizer_op<nn::RMSpropSpec, RMSpropOp>(kKind),
    optimizer_op<nn::LionSpec, LionOp>(kKind),         optimizer_op<nn::AdamSpec, AdamOp>(kKind),
    optimizer_op<nn::AdamWSpec, AdamOp>(kKind),        optimizer_op<nn::AdamaxSpec, AdamaxOp>(kKind),
    optimizer_op<nn::NadamSpec, NadamOp>(kKind)};

}  // namespace
}  // namespace dptrain::backend::DPTRAIN_BACKEND
