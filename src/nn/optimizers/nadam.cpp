#include "nn/optimizers/nadam.h"

namespace dptrain::nn {
namespace {

const RegisteredOptimizer kNadam = optimizer<NadamSpec>("Nadam")
                                       .alias("nadam")
                                       .key(config::key("beta_1", &NadamSpec::beta_1).at_least(0).below(1))
                                       .key(config::key("beta_2", &NadamSpec::beta_2).at_least(0).below(1))
                                       .key(config::key("epsilon", &NadamSpec::epsilon).at_least(0))
                                       .by_element()
                                       .slots(std::vector<SlotDef>{{"momentum"}, {"velocity"}});

}  // namespace
}  // namespace dptrain::nn
