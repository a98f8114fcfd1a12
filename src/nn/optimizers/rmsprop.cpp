#include "nn/optimizers/rmsprop.h"

namespace dptrain::nn {
namespace {

std::vector<SlotDef> rmsprop_slots(const RMSpropSpec& rmsprop) {
  std::vector<SlotDef> all{{"velocity"}};
  if (rmsprop.momentum > 0) all.push_back({"momentum"});
  if (rmsprop.centered) all.push_back({"average_gradient"});
  return all;
}

const RegisteredOptimizer kRmsprop = optimizer<RMSpropSpec>("RMSprop")
                                         .alias("rmsprop")
                                         .key(config::key("rho", &RMSpropSpec::rho).at_least(0).at_most(1))
                                         .key(config::key("momentum", &RMSpropSpec::momentum).at_least(0).at_most(1))
                                         .key(config::key("epsilon", &RMSpropSpec::epsilon).at_least(0))
                                         .key(config::key("centered", &RMSpropSpec::centered))
                                         .by_element()
                                         .slots(rmsprop_slots)
                                         .variant("momentum: 0.5")
                                         .variant("centered: true, momentum: 0.5");

}  // namespace
}  // namespace dptrain::nn
