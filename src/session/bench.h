#pragma once

// bench: how fast a step is and where its time goes. Warm-up, then repeats of so many steps each; medians over the
// repeats. With synthetic data one batch lies in memory and is used again and again: pure compute. With loader-only
// data nothing is computed. Main thread.

#include <optional>
#include <string>
#include <vector>

#include "plan/plan.h"
#include "replica/replica.h"
#include "session/bounds.h"
#include "session/devices.h"
#include "session/session.h"

namespace dptrain::session {

enum class BenchData { kReal, kSynthetic, kLoaderOnly };

struct BenchOptions {
  DeviceRequest devices;
  mpi::Processes* processes = nullptr;  ///< that take the steps together
  std::optional<std::int64_t> batch{};  ///< global; absent: the config's
  BenchData data = BenchData::kSynthetic;
  std::int64_t steps = 100, warmup = 20, repeats = 3;
  bool layers = false;
};

struct LayerTime {
  std::string name, implementation;
  double forward_ms = 0, backward_ms = 0;          ///< of one step, replica 0
  double forward_gflops = 0, backward_gflops = 0;  ///< per second; 0: memory traffic only
};

struct BenchRow {
  int replicas = 1, threads = 1;  ///< replicas of all processes
  int processes = 1;
  DeviceRequest devices;  ///< as the session had them
  std::vector<std::string> device_lines{};
  std::int64_t global_batch = 0;
  std::int64_t micro_batches = 1;  ///< of a replica in a step; virtual shards apart
  double examples_per_second = 0, examples_per_second_min = 0, examples_per_second_max = 0;
  double step_ms = 0, forward_backward_ms = 0, comm_exposed_ms = 0, optimizer_ms = 0, data_wait_ms = 0;
  double start_seconds = 0;  ///< from the call to the end of the first step, data opening apart
  double open_data_seconds = 0;
  int workers = 0;                        ///< of the loader
  double loader_examples_per_second = 0;  ///< real and loader-only data: what the loader delivers when nobody computes
  std::uint64_t peak_bytes = 0;           ///< resident, of the process
  std::uint64_t device_bytes = 0;         ///< GPUs: what the largest replica has taken of its device's memory
  std::vector<LayerTime> layers;
  /// Operations of forward and backward, computed directly, per second over `peak_gflops`; none on GPUs, with factors
  /// rounded to bfloat16, and without computing.
  std::optional<double> of_peak{};
  double peak_gflops = 0;  ///< of float32, measured, of all threads in use; 0: not known
  /// Of all threads in use of this process; with `layers` on CPUs. Without a peak where `of_peak` has none.
  backend::CpuLimits limits{};
  std::vector<PassTime> passes{};                 ///< likewise, of replica 0
  int virtual_shards = 0;                         ///< the config's; 0: none
  double examples_per_second_without_shards = 0;  ///< everything else the same, repeats in turns
  double ratio_to_no_shards = 0;                  ///< median over pairs of repeats
};

/// "2x1", "4 x 2x1" of four processes: what a row of a table is about.
std::string row_name(const BenchRow& row);

/// With parallel.virtual_shards, and something to compute, the same is measured without, too.
BenchRow bench(const experiment::Experiment& experiment, const BenchOptions& options);

/// Before a long time without a word: how many steps and minutes are to come, when one step takes so long; "" before a
/// short one. bench() logs it after the second step.
std::string bench_outlook(const BenchRow& row, const BenchOptions& options, double step_seconds);

/// One sentence in numbers: input-bound, compute-bound, or bound by the all-reduce; with real data also what the loader
/// and the network do without each other, and with passes which of them are farthest from their bounds.
std::string verdict(const BenchRow& row, BenchData data);

/// The price of virtual shards: "8 virtual shards: 0.91 of the 14,210 samples/s without"; "" if
/// there are none.
std::string price_of_shards(const BenchRow& row);

// The passes of a step beside their bounds, of one replica on the CPU: of every layer forward and backward, and of what
// is no layer. Any thread.

/// Threads of all replicas of this process, all at work at once.
int threads_in_use(const DeviceRequest& devices);

struct StepFacts {
  const plan::Plan& plan;
  const DeviceRequest& devices;  ///< CPUs, threads worked out
  double steps = 1;              ///< that the profile is the sum of
  int states = 0;                ///< floats of optimizer state for each trained weight
  int processes = 1;
  double update_ms = 0, waiting_ms = 0;  ///< of a step: the optimizer; for other replicas
};

/// `limits`: of threads_in_use(). Passes that take no time and have nothing to do are left out. The sum of gradients is
/// that of replicas in one process; of several the link decides, which is not measured here.
std::vector<PassTime> pass_times(const replica::Replica::Profile& profile, const StepFacts& facts,
                                 const backend::CpuLimits& limits);

}  // namespace dptrain::session
