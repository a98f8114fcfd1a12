#pragma once

// What `bench --layers` shows of the machine's limit: every pass beside its bound. Pure functions; any thread.

#include <string>

#include "session/bench.h"

namespace dptrain::cli {

/// "L1 96 KiB 412 GB/s, memory 23.1 GB/s": the better of each level's rates.
std::string levels_text(const device::CpuLimits& limits);

/// Each pass of replica 0 with what it must do, its bound and what that is, and the network's own limit beside what is
/// reached; "" without passes.
std::string bounds_table(const session::BenchRow& row);

/// Samples per second with all passes at their bounds, of all replicas; 0 without passes.
double limit_rate(const session::BenchRow& row);

}  // namespace dptrain::cli
