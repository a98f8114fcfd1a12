#pragma once

// Shapes of one call of a layer.

#include <span>
#include <string>

#include "config/family.h"
#include "core/shape.h"

namespace dptrain::graph {

/// The output's shape. Throws layers::LayerError when number, rank or extents of the inputs do not fit the layer, or
/// when the result is too large to be meant; inputs go by `names` in its message.
Shape infer(const config::Typed& layer, std::span<const Shape> inputs, std::span<const std::string> names);

}  // namespace dptrain::graph
