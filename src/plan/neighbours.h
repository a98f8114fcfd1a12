#pragma once

// Consecutive steps of which the second reads what the first writes. The last pass of one op and the first pass of the
// next can then process the tensor together, piece by piece (backend/piecewise.h). Pure functions, any thread.

#include <cstddef>

#include "plan/plan.h"

namespace dptrain::plan {

/// Whether the output of step s is the first input of step s + 1, in the same shape and for the same rows. False for
/// several slots and for compute types other than float32.
bool hands_on(const Plan& plan, std::size_t s);

}  // namespace dptrain::plan
