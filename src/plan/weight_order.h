#pragma once

// Converts a weight between Keras's axis order and the arena's (Parameter::order). Pure functions; any thread.

#include "plan/plan.h"

namespace dptrain::plan {

/// Parameter::order of a layer's weight on the device; `weight` is its index in Keras's order.
std::vector<int> weight_order(const Capabilities& device, const config::Typed& layer, std::size_t weight);

/// Copies `keras` to `arena` in the arena's axis order. Both are p.elements() floats and must not overlap.
void to_arena_order(const Parameter& p, const float* keras, float* arena);
void to_keras_order(const Parameter& p, const float* arena, float* keras);

}  // namespace dptrain::plan
