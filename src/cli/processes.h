#pragma once

// A command that several processes run together, where a launcher has started them. Main thread.

#include <functional>

#include "cli/app.h"
#include "distributed/processes.h"

namespace dptrain::cli {

/// Joins the others, runs the body (null: there is this process alone) and sees to it that all end alike: what one
/// throws ends the others too, and process 0's exit code is everybody's. Call it before other threads are started.
int together(const std::function<int(distributed::Processes* processes)>& body);

}  // namespace dptrain::cli
