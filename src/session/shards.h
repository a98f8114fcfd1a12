#pragma once

// parallel.virtual_shards for so many replicas. Pure.

#include "experiment/sections.h"

namespace dptrain::session {

/// As replica::SetOptions has them. Throws Error{kUsage} for a number of replicas, of all processes, that does not
/// divide them, with those that do.
int virtual_shards(const experiment::ParallelSection& parallel, int ranks);

/// Slices of a replica's share of a batch in training: its shards, or else so many micro-batches.
std::int64_t slices_of_replica(const experiment::ConfigFile& config, int ranks, std::int64_t micro_batches);

/// Arenas of gradients that a replica has.
int gradient_arenas(const experiment::ConfigFile& config, int ranks, std::int64_t micro_batches);

}  // namespace dptrain::session
