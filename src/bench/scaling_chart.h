#pragma once

// scaling.svg of `dptrain bench`. Pure; any thread.

#include <string>
#include <vector>

#include "bench/bench.h"
#include "plot/chart.h"

namespace dptrain::bench {

/// Throughput and the time for so many samples, against the number of replicas, or against the batch where that alone
/// was swept. A line for each value of what else was swept: the batch, of all replicas or of each, and the threads.
/// Over replicas the ideal of each line goes from its first row as the cores do. `rows`: one or more.
plot::Chart scaling_chart(const std::vector<BenchRow>& rows, const std::string& title, double samples);

}  // namespace dptrain::bench
