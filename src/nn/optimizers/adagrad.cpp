#include "nn/optimizers/adagrad.h"

namespace dptrain::nn {
namespace {

const RegisteredOptimizer kAdagrad =
    optimizer<AdagradSpec>("Adagrad")
        .alias("adagrad")
        .key(config::key("initial_accumulator_value", &AdagradSpec::initial_accumulator_value).at_least(0))
        .key(config::key("epsilon", &AdagradSpec::epsilon).at_least(0))
        .by_element()
        .slots([](const AdagradSpec& spec) {
          return std::vector<SlotDef>{{"accumulator", static_cast<float>(spec.initial_accumulator_value)}};
        });

}  // namespace
}  // namespace dptrain::nn
