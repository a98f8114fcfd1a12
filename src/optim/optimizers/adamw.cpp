#include "optim/optimizers/adamw.h"

namespace dptrain::optim {
namespace {

const RegisteredOptimizer kAdamW = adam<AdamWSpec>("AdamW").alias("adamw");

}  // namespace
}  // namespace dptrain::optim
