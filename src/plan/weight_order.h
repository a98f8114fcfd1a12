#pragma once

// Between Keras's axes of a weight and the arena's (Parameter::order). Pure functions, any thread.

#include "plan/plan.h"

namespace dptrain::plan {

/// `arena` = `keras` with its axes in the order of the arena; both p.elements() floats, not overlapping.
void to_arena_order(const Parameter& p, const float* keras, float* arena);
void to_keras_order(const Parameter& p, const float* arena, float* keras);

}  // namespace dptrain::plan
