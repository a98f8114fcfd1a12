#pragma once

// A plan with the ops and the memory of one replica, without allocating that memory. For `check`, for `summary --plan`,
// and for the advice when memory runs out. Main thread.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/machine.h"
#include "experiment/experiment.h"
#include "experiment/sections.h"
#include "graph/model.h"
#include "plan/memory.h"
#include "plan/micro_batches.h"
#include "plan/plan.h"
#include "session/device_datasets.h"
#include "session/devices.h"

namespace dptrain::session {

struct DryPlan {
  graph::Model model;
  plan::Plan plan;                               ///< points into `model`
  plan::MemoryPlan memory;                       ///< memory of the primary slot
  std::vector<plan::MemoryPlan> other_memories;  ///< memory of the secondary slots
  std::vector<std::string> choices;              ///< the device's implementation of each step
  std::vector<std::pair<double, double>> flops;  ///< per step, for one sample: forward, backward
  int slots = 0;                                 ///< arrays of optimizer state
  std::int64_t micro_batches = 1;                ///< per replica in a training step
  /// All device memory of a replica; on GPUs that of the primary slot, which has the parameters.
  std::uint64_t replica_bytes = 0;
  std::uint64_t batch_bytes = 0;    ///< the part that grows with the batch
  std::uint64_t staging_bytes = 0;  ///< the part for copies of batches on the device
  /// Not in replica_bytes: data sets from which the device makes batches. Only with DryOptions::data.
  std::vector<DatasetMemory> inputs;
  std::string inputs_unknown;      ///< error that kept the data sets from being opened
  std::string device;              ///< description of the device
  std::uint64_t device_bytes = 0;  ///< free memory of the device

  DryPlan() = default;
  DryPlan(const DryPlan&) = delete;
  DryPlan& operator=(const DryPlan&) = delete;

  /// replica_bytes plus the memory of the data sets.
  std::uint64_t all_bytes() const;
  std::string text() const;
};

struct DryOptions {
  std::optional<std::int64_t> global_batch{};  ///< overrides the config
  bool training = true;
  std::shared_ptr<backend::ConvChoices> conv_choices{};  ///< null: by rule
  bool data = false;                                     ///< open the data sets to compute their memory on a GPU
};

/// Fills `result` in place, because the plan points to the model's graph. Without a train section: prediction only,
/// with `kDefaultRows` samples. Throws as make_plan does.
inline constexpr std::int64_t kDefaultRows = 32;
void make_dry_plan(const experiment::Experiment& experiment, const DeviceRequest& devices, const DryOptions& options,
                   DryPlan& result);

/// Text to append to the message of an Error{kMemory}, once the memory is free again: required and available memory of
/// a replica, and the largest global batch that fits.
std::string memory_advice(const experiment::Experiment& experiment, const DeviceRequest& devices,
                          const DryOptions& options);

// parallel.virtual_shards for a number of replicas. Pure functions.

/// As in runtime::SetOptions. Throws Error{kUsage} if `ranks`, the replicas of all processes, does not divide the
/// number of shards; the message lists valid numbers.
int virtual_shards(const experiment::ParallelSection& parallel, int ranks);

/// Number of slices of a replica's share of a training batch: its shards, otherwise `micro_batches`.
std::int64_t slices_of_replica(const experiment::ConfigFile& config, int ranks, std::int64_t micro_batches);

/// Number of gradient arenas of a replica.
int gradient_arenas(const experiment::ConfigFile& config, int ranks, std::int64_t micro_batches);

// train.accumulate_steps of a run if the config does not set it.

/// Cache of one of `replicas` replicas with `threads` threads each. A micro-batch should fit the second-level caches of
/// its threads, or an eighth of the replica's part of the last level, whichever is larger.
plan::CacheShare cache_of_replica(const std::vector<machine::Cache>& caches, int replicas, int threads);

/// Micro-batches for `rows` of a replica: the value in the config, 1 with virtual shards and on GPUs, otherwise
/// plan::micro_batches_in_cache(). `devices`: threads resolved. `sharers`: processes on the same cores.
std::int64_t micro_batches(const experiment::ConfigFile& config, const plan::Plan& plan, const DeviceRequest& devices,
                           int sharers, std::int64_t rows);

}  // namespace dptrain::session
