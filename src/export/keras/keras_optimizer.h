#pragma once

// How Keras writes an optimizer: its class with the optimizer's own keys. Pure functions, any thread.

#include "config/family.h"

namespace dptrain::exporting::keras {

/// Whether Keras 2 loads it from a file, as one of its "legacy" optimizers: all but those that keras_optimizer.cpp
/// names.
bool in_keras2(const config::Typed& optimizer);
/// The arguments that the optimizer has beside OptimizerCommon's.
config::Node optimizer_arguments(const config::Typed& optimizer);

}  // namespace dptrain::exporting::keras
