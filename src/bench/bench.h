#pragma once

// bench: measures a step and its parts, as medians over `repeats` of `steps` steps after a warm-up. Synthetic data
// reuses one batch, so that only computing is measured; loader-only data computes nothing. Main thread.

#include <optional>
#include <string>
#include <vector>

#include "bench/bounds.h"
#include "experiment/experiment.h"
#include "plan/plan.h"
#include "runtime/replica.h"
#include "session/devices.h"

namespace dptrain::bench {

enum class BenchData { kReal, kSynthetic, kLoaderOnly };

struct BenchOptions {
  session::DeviceRequest devices;
  distributed::Processes* processes = nullptr;  ///< the processes that run the steps together
  std::optional<std::int64_t> batch{};          ///< global; absent: the config's
  BenchData data = BenchData::kSynthetic;
  std::int64_t steps = 100, warmup = 20, repeats = 3;
  bool layers = false;
};

struct LayerTime {
  std::string name, implementation;
  double forward_ms = 0, backward_ms = 0;          ///< in one step on replica 0
  double forward_gflops = 0, backward_gflops = 0;  ///< per second; 0: memory traffic only
};

struct BenchRow {
  int replicas = 1, threads = 1;  ///< replicas: of all processes
  int processes = 1;
  session::DeviceRequest devices;  ///< as resolved by the session
  std::vector<std::string> device_lines{};
  std::int64_t global_batch = 0;
  std::int64_t micro_batches = 1;  ///< per replica and step, without virtual shards
  double examples_per_second = 0, examples_per_second_min = 0, examples_per_second_max = 0;
  double step_ms = 0, forward_backward_ms = 0, comm_exposed_ms = 0, optimizer_ms = 0, data_wait_ms = 0;
  double start_seconds = 0;  ///< from the call to the end of the first step, without opening the data
  double open_data_seconds = 0;
  int workers = 0;                        ///< worker threads of the loader
  double loader_examples_per_second = 0;  ///< real and loader-only data: rate of the loader without computing
  std::uint64_t peak_bytes = 0;           ///< resident memory of the process
  std::uint64_t device_bytes = 0;         ///< GPUs: device memory of the largest replica
  std::vector<LayerTime> layers;
  /// Rate of operations of forward and backward, counted for direct computation, divided by `peak_gflops`. Empty on
  /// GPUs, with factors rounded to bfloat16, and without computing.
  std::optional<double> of_peak{};
  double peak_gflops = 0;  ///< measured float32 peak of all threads in use; 0: unknown
  /// Limits of all threads in use of this process, with `layers` on CPUs. No peak where `of_peak` is empty.
  backend::CpuLimits limits{};
  std::vector<PassTime> passes{};                 ///< as `limits`, for replica 0
  int virtual_shards = 0;                         ///< from the config; 0: off
  double examples_per_second_without_shards = 0;  ///< otherwise identical, with interleaved repeats
  double ratio_to_no_shards = 0;                  ///< median over pairs of repeats
};

/// Names a row of a table: "2x1", "4 x 2x1" for four processes.
std::string row_name(const BenchRow& row);

/// With parallel.virtual_shards and any computation, also measures the same run without shards.
BenchRow bench(const experiment::Experiment& experiment, const BenchOptions& options);

/// Remaining steps and minutes, given the time of one step; "" for a short run. Logged after the second step.
std::string bench_estimate(const BenchRow& row, const BenchOptions& options, double step_seconds);

/// One sentence with numbers: input-bound, compute-bound, or bound by the all-reduce. With real data also the separate
/// rates of loader and network; with passes also those farthest from their bounds.
std::string verdict(const BenchRow& row, BenchData data);

/// Cost of virtual shards: "8 virtual shards: 0.91 of the 14,210 samples/s without"; "" if there are none.
std::string shard_overhead(const BenchRow& row);

// The passes of a step on a CPU replica compared with their bounds, and all work outside of layers. Any thread.

/// Number of threads of all replicas of this process, which run at the same time.
int threads_in_use(const session::DeviceRequest& devices);

struct StepFacts {
  const plan::Plan& plan;
  const session::DeviceRequest& devices;  ///< CPUs, with the number of threads resolved
  double steps = 1;                       ///< number of steps in the profile
  int states = 0;                         ///< floats of optimizer state per trained weight
  int processes = 1;
  double update_ms = 0, waiting_ms = 0;  ///< time per step of the optimizer, and of waiting for other replicas
};

/// `limits`: for threads_in_use(). Omits passes without time and work. The pass that sums gradients is for replicas in
/// one process; with several processes it depends on the link, which is not measured here.
std::vector<PassTime> pass_times(const runtime::Replica::Profile& profile, const StepFacts& facts,
                                 const backend::CpuLimits& limits);

}  // namespace dptrain::bench
