#pragma once

// The definition of an optimizer: everything that does not depend on a device, with Keras's names, defaults and
// equations (docs/reference/numerics.md). nn/optimizers.h has the specs, nn/optimizers.cpp one `optimizer<Spec>(...)`
// expression each that registers it. The family is filled before main and read-only afterwards: any thread may read it.

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "config/type_builder.h"
#include "nn/schedule.h"

namespace dptrain::nn {

config::Family& optimizer_family();
using Optimizer = config::Of<optimizer_family>;

/// Arguments of every Keras optimizer. At most one of the three clips is set.
struct OptimizerCommon {
  LearningRate learning_rate;  ///< 0.001 unless the optimizer has another default
  /// Decoupled: w -= lr * weight_decay * w, every trainable weight, before the update.
  std::optional<double> weight_decay;
  std::optional<double> clipnorm;         ///< per weight tensor: g * c / max(|g|, c)
  std::optional<double> clipvalue;        ///< g clamped to [-c, c]
  std::optional<double> global_clipnorm;  ///< over all weights
  bool use_ema = false;                   ///< avg = m * avg + (1 - m) * w after each update; starts as w
  double ema_momentum = 0.99;
  std::optional<std::int64_t> ema_overwrite_frequency;  ///< w = avg every so many steps
};

/// One float of state per trainable weight element: Keras's slot name ("momentum", "velocity", ...) and its first
/// value. The name is that of the array in checkpoints, too.
struct SlotDef {
  std::string name;
  float initial = 0;
};

struct OptimizerType final : config::TypeDef {
  std::function<const OptimizerCommon&(const void* spec)> common;
  /// In the order in which devices and checkpoints store them, without the averages of EMA.
  std::function<std::vector<SlotDef>(const void* spec)> slots;
  /// Whether a plain update computes an element's weight and slots from that element's old values and gradient alone. A
  /// zero gradient and the slots' initial values then leave the weight unchanged.
  bool by_element = false;
  /// Arguments that select another branch of the update, as in a config: "momentum: 0.9". Tests run each of them.
  std::vector<std::string> variants;
};

const OptimizerType& optimizer_type(const config::Typed& optimizer);
const OptimizerCommon& common(const config::Typed& optimizer);
/// In the order in which devices and checkpoints store them. Not included: "average", which is added last with use_ema.
std::vector<SlotDef> slots(const config::Typed& optimizer);
/// Whether the whole update, including clipping, is element-wise and keeps no averages.
bool is_elementwise(const config::Typed& optimizer);

/// Error in the combination of the common arguments, or "".
std::string clip_error(const OptimizerCommon& common);

/// Builder, one expression per optimizer. Converting it to RegisteredOptimizer registers it:
///   const RegisteredOptimizer kSgd = optimizer<SGDSpec>("SGD").key(...).slots(...);
/// It adds the learning rate before the optimizer's own keys, and the other common ones after them.
template <class Spec>
class OptimizerBuilder : public config::TypeBuilder<OptimizerBuilder<Spec>, Spec, OptimizerType> {
  using Base = config::TypeBuilder<OptimizerBuilder<Spec>, Spec, OptimizerType>;
  using Base::self;
  using Base::type_;
  using Base::untyped;
  using Common = OptimizerCommon;

 public:
  explicit OptimizerBuilder(const std::string& name) : Base(name) {
    this->positional(config::key("learning_rate", &Common::learning_rate)
                         .check(rate_error)
                         .doc("a number, or a schedule such as CosineDecay"));
    type_->common = [](const void* spec) -> const OptimizerCommon& { return *static_cast<const Spec*>(spec); };
    type_->slots = [](const void*) { return std::vector<SlotDef>{}; };
  }

  OptimizerBuilder&& slots(std::vector<SlotDef> all) {
    type_->slots = [all = std::move(all)](const void*) { return all; };
    return self();
  }
  OptimizerBuilder&& slots(std::vector<SlotDef> (*of)(const Spec&)) { return type_->slots = untyped(of), self(); }
  OptimizerBuilder&& by_element() { return type_->by_element = true, self(); }
  OptimizerBuilder&& variant(std::string arguments) { return type_->variants.push_back(std::move(arguments)), self(); }

  std::unique_ptr<OptimizerType> build() {
    this->key(config::key("weight_decay", &Common::weight_decay)
                  .at_least(0)
                  .doc("share of the weights that each step subtracts, times the rate"))
        .key(config::key("clipnorm", &Common::clipnorm)
                 .above(0)
                 .doc("largest norm of the gradient of each weight; not with clipvalue or global_clipnorm"))
        .key(config::key("clipvalue", &Common::clipvalue)
                 .above(0)
                 .doc("largest absolute value of a gradient; not with clipnorm or global_clipnorm"))
        .key(config::key("global_clipnorm", &Common::global_clipnorm)
                 .above(0)
                 .doc("largest norm of all gradients together; not with clipnorm or clipvalue"))
        .key(config::key("use_ema", &Common::use_ema).doc("whether to keep moving averages of the weights"))
        .key(config::key("ema_momentum", &Common::ema_momentum)
                 .between(0, 1)
                 .doc("share of the averages that each step keeps"))
        .key(config::key("ema_overwrite_frequency", &Common::ema_overwrite_frequency)
                 .at_least(1)
                 .doc("steps between two times that the averages replace the weights"))
        .rule([](const Spec& spec) { return clip_error(spec); });
    return Base::build();
  }
};

template <class Spec>
OptimizerBuilder<Spec> optimizer(const std::string& name) {
  return OptimizerBuilder<Spec>(name);
}

using RegisteredOptimizer = config::Registration<optimizer_family>;

}  // namespace dptrain::nn
