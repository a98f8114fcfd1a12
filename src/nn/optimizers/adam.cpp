#include "nn/optimizers/adam.h"

namespace dptrain::nn {
namespace {

const RegisteredOptimizer kAdam = adam<AdamSpec>("Adam").alias("adam");

}  // namespace
}  // namespace dptrain::nn
