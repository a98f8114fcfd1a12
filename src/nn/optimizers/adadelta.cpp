#include "nn/optimizers/adadelta.h"

namespace dptrain::nn {
namespace {

const RegisteredOptimizer kAdadelta = optimizer<AdadeltaSpec>("Adadelta")
                                          .alias("adadelta")
                                          .key(config::key("rho", &AdadeltaSpec::rho).at_least(0).at_most(1))
                                          .key(config::key("epsilon", &AdadeltaSpec::epsilon).at_least(0))
                                          .by_element()
                                          .slots(std::vector<SlotDef>{{"accumulated_grad"}, {"accumulated_delta_var"}});

}  // namespace
}  // namespace dptrain::nn
