#pragma once

// Shape rules of the layers with several inputs. Private to the room.

#include <span>
#include <string>

#include "core/shape.h"
#include "nn/layer.h"

namespace dptrain::nn {

/// The common shape of inputs of an elementwise operation: equal extents, or 1 stretched to the other's (Keras's rule
/// for merge layers; a missing leading axis counts as 1). Throws LayerError.
Shape broadcast(std::span<const Shape> inputs);
/// Of layers that compute with valid steps alone, which are those of all inputs: their steps must be equally many.
MaskRule mask_of_equal_steps(std::span<const Shape> inputs);
/// "inputs differ: {0} is 28x28x128, {1} is 56x56x64"; the graph builder puts the names in.
std::string inputs_differ(std::span<const Shape> inputs);

}  // namespace dptrain::nn
