#include "optim/optimizers/adamw.h"

namespace dptrain::optim {
namespace {

const RegisteredOptimizer kAdamW = adam<AdamWSpec>("AdamW").alias("adamw").not_in_keras2();

}  // namespace
}  // namespace dptrain::optim
