#pragma once

// Results of `bench`: table, CSV, JSON. Pure functions; any thread. `columns`: terminal width; none: unlimited.

#include <optional>
#include <string>
#include <vector>

#include "bench/bench.h"

namespace dptrain::bench {

/// Table and bench.csv, with speedup and efficiency relative to the first row; a verdict per row follows the table.
std::string bench_table(const std::vector<BenchRow>& rows, BenchData data,
                        std::optional<std::size_t> columns = std::nullopt);
std::string bench_csv(const std::vector<BenchRow>& rows);
std::string bench_json(const std::vector<BenchRow>& rows, const std::string& config, BenchData data);
/// The rows of a bench.json, without their devices and layers. Throws Error{kInternal} for anything else.
std::vector<BenchRow> rows_of_json(const std::string& text);
/// The time of each layer in a step, on CPUs also as a fraction of the measured peak.
std::string layer_table(const BenchRow& row, std::optional<std::size_t> columns = std::nullopt);

/// Compares with an earlier bench.json by replicas, threads and batch: a message for each row that is slower by more
/// than `max_regression` (0.03 is 3 %). Throws Error{kUsage} if the file cannot be read.
std::vector<std::string> regressions(const std::string& baseline_path, const std::vector<BenchRow>& rows,
                                     double max_regression);

// The table of `bench --layers` with the machine's limits: each pass with its bound.

/// "L1 96 KiB 412 GB/s, memory 23.1 GB/s": the higher rate of each level.
std::string levels_text(const backend::CpuLimits& limits);

/// Each pass of replica 0 with its work and bound, then the network's limit and its actual rate; "" without passes.
/// `columns`: width of the terminal; none: unlimited.
std::string bounds_table(const BenchRow& row, std::optional<std::size_t> columns = std::nullopt);

/// Samples per second of all replicas if all passes reach their bounds; 0 without passes.
double limit_rate(const BenchRow& row);

}  // namespace dptrain::bench
