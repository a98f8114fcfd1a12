#include "nn/optimizers/sgd.h"

namespace dptrain::nn {
namespace {

const RegisteredOptimizer kSgd =
    optimizer<SGDSpec>("SGD")
        .alias("sgd")
        .key(config::key("momentum", &SGDSpec::momentum).at_least(0).at_most(1))
        .key(config::key("nesterov", &SGDSpec::nesterov))
        .by_element()
        .slots([](const SGDSpec& spec) {
          return spec.momentum != 0 ? std::vector<SlotDef>{{"momentum"}} : std::vector<SlotDef>{};
        })
        .variant("momentum: 0.9")
        .variant("momentum: 0.9, nesterov: true");

}  // namespace
}  // namespace dptrain::nn
