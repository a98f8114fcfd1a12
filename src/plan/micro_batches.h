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

/// What a replica has of the processor's caches; zeros: not known.
struct CacheShare {
  std::uint64_t wanted = 0;  ///< bytes that a micro-batch should fit
  std::uint64_t last = 0;    ///< bytes of the last level: a micro-batch that does not even fit these gains nothing
};

/// 1 where rows are not independent, where the config names slots (`device:`), which wait for one another, or where all
/// of them fit: the arena of activations and gradients of `rows` rows is at most `cache.wanted`. Else so many that the
/// arena of one micro-batch fits, but no more than
/// - the weights allow, which every micro-batch reads and gives gradients of again: they may move half of the bytes
/// that
///   the activations do;
/// - leave nine tenths of the multiply-adds in products of 256 vectors or more, rows times places in an image.
/// 1 where these then do not fit `cache.last`.
std::int64_t micro_batches_in_cache(const Plan& plan, std::int64_t rows, const CacheShare& cache);

}  // namespace dptrain::plan
