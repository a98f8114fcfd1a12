#pragma once

// A plan with the ops and the memory of one replica, but no memory allocated: for `check`, for `summary --plan` and for
// what to say when memory runs out. Main thread.

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
#include "plan/traffic.h"
#include "session/devices.h"
#include "session/feeds.h"

namespace dptrain::session {

struct DryPlan {
  graph::Model model;
  plan::Plan plan;                                               ///< points into `model`
  plan::MemoryPlan memory;                                       ///< of the first slot
  std::vector<plan::MemoryPlan> other_memories;                  ///< of the others
  std::vector<std::string> choices;                              ///< the device's implementation of each step
  std::vector<std::pair<double, double>> flops;                  ///< of each step and one sample: forward, backward
  std::vector<std::pair<plan::Traffic, plan::Traffic>> traffic;  ///< likewise, of `memory.rows` rows
  int slots = 0;                                                 ///< of the optimizer
  std::int64_t micro_batches = 1;                                ///< of a replica in a step of training
  /// All of the device's memory that a replica takes: of a GPU in the first slot, where its parameters lie.
  std::uint64_t replica_bytes = 0;
  std::uint64_t batch_bytes = 0;    ///< of these, what grows with the batch
  std::uint64_t staging_bytes = 0;  ///< of these, batches on their way to the ops
  /// Besides replica_bytes: data sets that the device makes batches of. With DryOptions::data.
  std::vector<FeedMemory> inputs;
  std::string inputs_unknown;      ///< why the data sets could not be looked at
  std::string device;              ///< its description
  std::uint64_t device_bytes = 0;  ///< of its memory that is free

  DryPlan() = default;
  DryPlan(const DryPlan&) = delete;
  DryPlan& operator=(const DryPlan&) = delete;

  /// replica_bytes and what the data sets take.
  std::uint64_t all_bytes() const;
  std::string text() const;
};

struct DryOptions {
  std::optional<std::int64_t> global_batch{};  ///< instead of the config's
  bool training = true;
  std::shared_ptr<backend::ConvChoices> conv_choices{};  ///< null: by rule
  bool data = false;                                     ///< open the data sets to see what a GPU keeps of them
};

/// `result` is filled in place: the plan keeps a pointer to the model's graph. Without a train section: prediction
/// only, of `kDefaultRows` samples. Throws as make_plan does.
inline constexpr std::int64_t kDefaultRows = 32;
void make_dry_plan(const experiment::Experiment& experiment, const DeviceRequest& devices, const DryOptions& options,
                   DryPlan& result);

/// Behind the message of an Error{kMemory}, once what was taken is free again: what a replica wants of how much, and
/// the largest global batch that fits.
std::string memory_advice(const experiment::Experiment& experiment, const DeviceRequest& devices,
                          const DryOptions& options);

// parallel.virtual_shards for so many replicas. Pure.

/// As replica::SetOptions has them. Throws Error{kUsage} for a number of replicas, of all processes, that does not
/// divide them, with those that do.
int virtual_shards(const experiment::ParallelSection& parallel, int ranks);

/// Slices of a replica's share of a batch in training: its shards, or else so many micro-batches.
std::int64_t slices_of_replica(const experiment::ConfigFile& config, int ranks, std::int64_t micro_batches);

/// Arenas of gradients that a replica has.
int gradient_arenas(const experiment::ConfigFile& config, int ranks, std::int64_t micro_batches);

// train.accumulate_steps of a run, where the config leaves it to dptrain.

/// Of one of so many replicas, each of so many threads. A micro-batch should fit what the threads have to themselves in
/// the second level, or an eighth of the replica's part of the last level, whichever is more.
plan::CacheShare cache_of_replica(const std::vector<machine::Cache>& caches, int replicas, int threads);

/// Micro-batches of a replica's `rows`: what the config says, 1 with virtual shards and on GPUs, else as many as
/// plan::micro_batches_in_cache() says of this machine. `devices`: threads resolved; `sharers`: processes on these
/// cores.
std::int64_t micro_batches(const experiment::ConfigFile& config, const plan::Plan& plan, const DeviceRequest& devices,
                           int sharers, std::int64_t rows);

}  // namespace dptrain::session
