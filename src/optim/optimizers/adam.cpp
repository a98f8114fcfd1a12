#include "optim/optimizers/adam.h"

namespace dptrain::optim {
namespace {

const RegisteredOptimizer kAdam = adam<AdamSpec>("Adam").alias("adam");

}  // namespace
}  // namespace dptrain::optim
