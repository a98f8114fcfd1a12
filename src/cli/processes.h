#pragma once

// Runs a command in all processes that a launcher started. Main thread.

#include <functional>

#include "cli/app.h"
#include "distributed/processes.h"

namespace dptrain::cli {

/// Joins the other processes and runs the body (null: this process is alone). An exception in one process ends the
/// others, and all return process 0's exit code if it is not 0. Call before other threads start.
int run_processes(const std::function<int(distributed::Processes* processes)>& body);

}  // namespace dptrain::cli
