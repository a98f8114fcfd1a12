#pragma once

// train.accumulate_steps of a run, where the config leaves it to dptrain.

#include <cstdint>

#include "core/machine.h"
#include "experiment/sections.h"
#include "plan/micro_batches.h"
#include "session/devices.h"

namespace dptrain::session {

/// Of one of so many replicas, each of so many threads. A micro-batch should fit what the threads have to themselves in
/// the second level, or an eighth of the replica's part of the last level, whichever is more.
plan::CacheShare cache_of_replica(const std::vector<machine::Cache>& caches, int replicas, int threads);

/// Micro-batches of a replica's `rows`: what the config says, 1 with virtual shards and on GPUs, else as many as
/// plan::micro_batches_in_cache() says of this machine. `devices`: threads resolved; `sharers`: processes on these
/// cores.
std::int64_t micro_batches(const experiment::ConfigFile& config, const plan::Plan& plan, const DeviceRequest& devices,
                           int sharers, std::int64_t rows);

}  // namespace dptrain::session
