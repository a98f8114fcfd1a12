#pragma once

// The table of `bench --layers` about the machine's limit: every pass with its bound. Pure functions; any thread.

#include <optional>
#include <string>

#include "bench/bench.h"

namespace dptrain::bench {

/// "L1 96 KiB 412 GB/s, memory 23.1 GB/s": the better of each level's rates.
std::string levels_text(const backend::CpuLimits& limits);

/// Each pass of replica 0 with its work and its bound, then the network's own limit and the rate that is reached; ""
/// without passes. `columns`: of the terminal; none: of any width.
std::string bounds_table(const BenchRow& row, std::optional<std::size_t> columns = std::nullopt);

/// Samples per second with all passes at their bounds, of all replicas; 0 without passes.
double limit_rate(const BenchRow& row);

}  // namespace dptrain::bench
