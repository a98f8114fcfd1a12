#include "nn/optimizers/adamw.h"

namespace dptrain::nn {
namespace {

const RegisteredOptimizer kAdamW = adam<AdamWSpec>("AdamW").alias("adamw");

}  // namespace
}  // namespace dptrain::nn
