#include "nn/optimizers.h"

namespace dptrain::nn {
namespace {

/// A key for a share from 0 to 1.
template <class Spec>
config::Key<Spec, double> share_key(const char* name, double Spec::*member, const std::string& what) {
  return config::key(name, member).between(0, 1).doc("share of " + what);
}

const RegisteredOptimizer kSgd =
    optimizer<SGDSpec>("SGD")
        .alias("sgd")
        .doc("gradient descent, optionally with momentum")
        .key(share_key("momentum", &SGDSpec::momentum, "the previous step that is added"))
        .key(config::key("nesterov", &SGDSpec::nesterov).doc("whether to use Nesterov momentum"))
        .by_element()
        .slots([](const SGDSpec& spec) {
          return spec.momentum != 0 ? std::vector<SlotDef>{{"momentum"}} : std::vector<SlotDef>{};
        })
        .variant("momentum: 0.9")
        .variant("momentum: 0.9, nesterov: true");

const RegisteredOptimizer kAdagrad =
    optimizer<AdagradSpec>("Adagrad")
        .alias("adagrad")
        .doc("divides the gradient by the root of the sum of its squares")
        .key(config::key("initial_accumulator_value", &AdagradSpec::initial_accumulator_value)
                 .at_least(0)
                 .doc("initial value of the sums of squares"))
        .key(config::key("epsilon", &AdagradSpec::epsilon).at_least(0).doc("added under the root"))
        .by_element()
        .slots([](const AdagradSpec& spec) {
          return std::vector<SlotDef>{{"accumulator", static_cast<float>(spec.initial_accumulator_value)}};
        });

const RegisteredOptimizer kAdadelta =
    optimizer<AdadeltaSpec>("Adadelta")
        .alias("adadelta")
        .doc("scales the gradient by the size of earlier steps; `learning_rate` is 1 in the paper")
        .key(share_key("rho", &AdadeltaSpec::rho, "the average square that each step keeps"))
        .key(config::key("epsilon", &AdadeltaSpec::epsilon).at_least(0).doc("added under both roots"))
        .by_element()
        .slots({{"accumulated_grad"}, {"accumulated_delta_var"}});

const RegisteredOptimizer kRmsprop =
    optimizer<RMSpropSpec>("RMSprop")
        .alias("rmsprop")
        .doc("divides the gradient by the root of its mean square; the default of `train.optimizer`")
        .key(share_key("rho", &RMSpropSpec::rho, "the average square that each step keeps"))
        .key(share_key("momentum", &RMSpropSpec::momentum, "the previous step that is added"))
        .key(config::key("epsilon", &RMSpropSpec::epsilon).at_least(0).doc("added under the root"))
        .key(config::key("centered", &RMSpropSpec::centered)
                 .doc("whether to divide by the variance of the gradient, not by its mean square"))
        .by_element()
        .slots([](const RMSpropSpec& spec) {
          std::vector<SlotDef> all{{"velocity"}};
          if (spec.momentum > 0) all.push_back({"momentum"});
          if (spec.centered) all.push_back({"average_gradient"});
          return all;
        })
        .variant("momentum: 0.5")
        .variant("centered: true, momentum: 0.5");

const RegisteredOptimizer kLion =
    optimizer<LionSpec>("Lion")
        .alias("lion")
        .doc(
            "steps by the sign of the momentum; use a `learning_rate` 3 to 10 times smaller than Adam's and a larger "
            "`weight_decay`")
        .key(share_key("beta_1", &LionSpec::beta_1, "the average gradient in the direction of a step").above(0))
        .key(share_key("beta_2", &LionSpec::beta_2, "the average gradient that each step keeps").below(1))
        .by_element()
        .slots({{"momentum"}});

/// An optimizer with Adam's arguments. `kept`: description of the average that beta_2 decays.
template <class Spec>
OptimizerBuilder<Spec> adam_relative(const std::string& name, const std::string& kept = "average square") {
  return optimizer<Spec>(name)
      .key(share_key("beta_1", &AdamArguments::beta_1, "the average gradient that each step keeps").below(1))
      .key(share_key("beta_2", &AdamArguments::beta_2, "the " + kept + " that each step keeps").below(1))
      .key(config::key("epsilon", &AdamArguments::epsilon).at_least(0).doc("added to the divisor"));
}

template <class Spec>
OptimizerBuilder<Spec> adam(const std::string& name) {
  return adam_relative<Spec>(name)
      .key(config::key("amsgrad", &AdamSpec::amsgrad).doc("whether to divide by the largest average square so far"))
      .by_element()
      .slots([](const Spec& spec) {
        std::vector<SlotDef> all{{"momentum"}, {"velocity"}};
        if (spec.amsgrad) all.push_back({"velocity_hat"});
        return all;
      })
      .variant("amsgrad: true");
}

const RegisteredOptimizer kAdam =
    adam<AdamSpec>("Adam").alias("adam").doc("steps by moving averages of the gradient and of its square");

const RegisteredOptimizer kAdamW = adam<AdamWSpec>("AdamW").alias("adamw").doc("`Adam` with weight decay");

const RegisteredOptimizer kAdamax = adam_relative<AdamaxSpec>("Adamax", "largest gradient")
                                        .alias("adamax")
                                        .doc("`Adam` with the infinity norm")
                                        .by_element()
                                        .slots({{"momentum"}, {"norm"}});

const RegisteredOptimizer kNadam = adam_relative<NadamSpec>("Nadam")
                                       .alias("nadam")
                                       .doc("`Adam` with Nesterov momentum")
                                       .by_element()
                                       .slots({{"momentum"}, {"velocity"}});

const RegisteredOptimizer kLamb =
    adam_relative<LambSpec>("Lamb")
        .alias("lamb")
        .doc("`Adam` that scales each tensor's step to the norm of its weights; for large batches")
        .slots({{"momentum"}, {"velocity"}});

}  // namespace
}  // namespace dptrain::nn
