#pragma once

// Shapes and types of one call of a layer.

#include <span>
#include <string>
#include <vector>

#include "config/family.h"
#include "nn/layer.h"

namespace dptrain::graph {

/// The outputs. Throws nn::LayerError when number, type, rank or extents of the inputs do not fit the layer, or
/// when the result is too large to be meant; inputs go by `names` in its message.
std::vector<nn::OutputDef> infer(const config::Typed& layer, std::span<const nn::TensorDef> inputs,
                                 std::span<const std::string> names);

}  // namespace dptrain::graph
