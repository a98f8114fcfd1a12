#pragma once

// Into how many micro-batches a replica cuts its rows so that what a step works on stays in the processor's caches.
// Pure functions; any thread.

#include <cstdint>

#include "plan/plan.h"

namespace dptrain::plan {

/// Whether a step's update is the same, to rounding, however its batch is cut into micro-batches: no layer takes
/// statistics of the batch. False, too, where a loss is a mean over valid positions, which a pass of its own would have
/// to count first.
bool rows_are_independent(const Plan& plan);

/// 1 where rows are not independent, where the config names slots (`device:`), which wait for one another, or where all
/// of them fit: the arena of activations and gradients of `rows` rows is at most `cache_bytes`. Else so many that the
/// arena of one micro-batch fits, but no more than the weights allow, which every micro-batch reads and gives gradients
/// of again: they may move half of the bytes that the activations do.
std::int64_t micro_batches_in_cache(const Plan& plan, std::int64_t rows, std::uint64_t cache_bytes);

}  // namespace dptrain::plan
