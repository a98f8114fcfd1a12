#pragma once

// Activations that ops take over (plan/capabilities.h), the same on CPUs and GPUs.

#include "config/family.h"
#include "layers/activation.h"

namespace dptrain::device {

bool op_fuses_activation(const config::Typed& layer, layers::Activation activation);
bool op_masks_relu(const config::Typed& pooling);

}  // namespace dptrain::device
