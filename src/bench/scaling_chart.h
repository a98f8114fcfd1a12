#pragma once

// scaling.svg of `dptrain bench`. Pure; any thread.

#include <string>
#include <vector>

#include "bench/bench.h"
#include "plot/chart.h"

namespace dptrain::bench {

/// Throughput and the time for `samples` samples over the number of replicas, or over the batch if only that was swept.
/// A line per batch (global or per replica) and number of threads. Over replicas, each line's ideal scales its first
/// row with the cores. `rows` must not be empty.
plot::Chart scaling_chart(const std::vector<BenchRow>& rows, const std::string& title, double samples);

}  // namespace dptrain::bench
