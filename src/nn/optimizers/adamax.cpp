#include "nn/optimizers/adamax.h"

namespace dptrain::nn {
namespace {

const RegisteredOptimizer kAdamax = optimizer<AdamaxSpec>("Adamax")
                                        .alias("adamax")
                                        .key(config::key("beta_1", &AdamaxSpec::beta_1).at_least(0).below(1))
                                        .key(config::key("beta_2", &AdamaxSpec::beta_2).at_least(0).below(1))
                                        .key(config::key("epsilon", &AdamaxSpec::epsilon).at_least(0))
                                        .by_element()
                                        .slots(std::vector<SlotDef>{{"momentum"}, {"norm"}});

}  // namespace
}  // namespace dptrain::nn
