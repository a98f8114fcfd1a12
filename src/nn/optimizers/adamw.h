#pragma once

#include "nn/optimizers/adam.h"

namespace dptrain::nn {

/// Adam with decoupled weight decay (Loshchilov and Hutter 2019).
struct AdamWSpec : AdamSpec {
  AdamWSpec() { weight_decay = 0.004; }
};

}  // namespace dptrain::nn
