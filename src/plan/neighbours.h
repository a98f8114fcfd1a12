#pragma once

// Steps that hand a tensor straight on to the step that runs next: where an op's last pass and the next op's first one
// can go over the tensor together, piece by piece (backend/piecewise.h). Read off the plan; any thread.

#include <cstddef>

#include "plan/plan.h"

namespace dptrain::plan {

/// What step s writes is the first input of step s + 1, in the same shape and for the same rows. Of one slot alone.
bool hands_on(const Plan& plan, std::size_t s);

}  // namespace dptrain::plan
