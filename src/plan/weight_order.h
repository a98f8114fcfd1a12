#pragma once

// Between Keras's axes of a weight and the arena's (Parameter::order). Pure functions, any thread.

#include "plan/plan.h"

namespace dptrain::plan {

/// Parameter::order of a layer's weight (Keras's place in the layer) on the device.
std::vector<int> weight_order(const Capabilities& device, const config::Typed& layer, std::size_t weight);

/// `arena` = `keras` with its axes in the order of the arena; both p.elements() floats, not overlapping.
void to_arena_order(const Parameter& p, const float* keras, float* arena);
void to_keras_order(const Parameter& p, const float* arena, float* keras);

}  // namespace dptrain::plan
