#pragma once

#include "replica/replica.h"

namespace dptrain::replica {

/// Throws Error{kUsage} where steps must be recorded (Graphs::kOn) and this replica, of so many slots, cannot do so.
void check_graphs(const Options& options, int slots);

}  // namespace dptrain::replica
