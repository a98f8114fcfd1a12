#include "nn/optimizers/lion.h"

namespace dptrain::nn {
namespace {

const RegisteredOptimizer kLion = optimizer<LionSpec>("Lion")
                                      .alias("lion")
                                      .key(config::key("beta_1", &LionSpec::beta_1).above(0).at_most(1))
                                      .key(config::key("beta_2", &LionSpec::beta_2).at_least(0).below(1))
                                      .by_element()
                                      .slots(std::vector<SlotDef>{{"momentum"}});

}  // namespace
}  // namespace dptrain::nn
