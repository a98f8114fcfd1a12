#include "nn/optimizers/lamb.h"

namespace dptrain::nn {
namespace {

const RegisteredOptimizer kLamb = optimizer<LambSpec>("Lamb")
                                      .alias("lamb")
                                      .key(config::key("beta_1", &LambSpec::beta_1).at_least(0).below(1))
                                      .key(config::key("beta_2", &LambSpec::beta_2).at_least(0).below(1))
                                      .key(config::key("epsilon", &LambSpec::epsilon).at_least(0))
                                      .slots(std::vector<SlotDef>{{"momentum"}, {"velocity"}});

}  // namespace
}  // namespace dptrain::nn
