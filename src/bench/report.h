#pragma once

// The results of `bench`: table, CSV, JSON. Pure functions over rows; any thread. `columns`: of the
// terminal that shows a table; none: of any width.

#include <optional>
#include <string>
#include <vector>

#include "bench/bench.h"

namespace dptrain::bench {

/// Columns of the table and of bench.csv; speedup and efficiency against the first row. A verdict for each row follows
/// the table.
std::string bench_table(const std::vector<BenchRow>& rows, BenchData data,
                        std::optional<std::size_t> columns = std::nullopt);
std::string bench_csv(const std::vector<BenchRow>& rows);
std::string bench_json(const std::vector<BenchRow>& rows, const std::string& config, BenchData data);
/// The rows of a bench.json, without their devices and layers. Throws Error{kInternal} for anything else.
std::vector<BenchRow> rows_of_json(const std::string& text);
/// The time of each layer in a step, on CPUs also as a fraction of the measured peak.
std::string layer_table(const BenchRow& row, std::optional<std::size_t> columns = std::nullopt);

/// Rows of an earlier bench.json that are the same work, matched by replicas, threads and batch: messages for those
/// that are slower now by more than `max_regression` (0.03 is 3 %). Throws Error{kUsage} when the file cannot be read.
std::vector<std::string> regressions(const std::string& baseline_path, const std::vector<BenchRow>& rows,
                                     double max_regression);

// The table of `bench --layers` about the machine's limit: every pass with its bound.

/// "L1 96 KiB 412 GB/s, memory 23.1 GB/s": the better of each level's rates.
std::string levels_text(const backend::CpuLimits& limits);

/// Each pass of replica 0 with its work and its bound, then the network's own limit and the rate that is reached; ""
/// without passes. `columns`: of the terminal; none: of any width.
std::string bounds_table(const BenchRow& row, std::optional<std::size_t> columns = std::nullopt);

/// Samples per second with all passes at their bounds, of all replicas; 0 without passes.
double limit_rate(const BenchRow& row);

}  // namespace dptrain::bench
