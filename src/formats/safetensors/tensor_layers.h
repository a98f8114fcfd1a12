#pragma once

// The layers of a safetensors file: "conv1/kernel" is the kernel of conv1, and "layer1.0.conv.weight" the weight of
// "layer1.0.conv". Pure.

#include "formats/safetensors/safetensors.h"
#include "formats/stored_layers.h"

namespace dptrain::formats {

/// Weights of a layer in Keras's order, whatever the order in the file: the names say it.
StoredLayers layers_of(const Safetensors& file);

}  // namespace dptrain::formats
