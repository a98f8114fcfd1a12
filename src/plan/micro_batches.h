#pragma once

// The number of micro-batches with which a step's working set fits the caches. Pure functions; any thread.

#include <cstdint>

#include "plan/plan.h"

namespace dptrain::plan {

/// Whether splitting a batch into micro-batches leaves a step's update the same up to rounding. False if a layer uses
/// batch statistics, or if a loss is masked: its mean would require a pass that counts valid positions first.
bool rows_are_independent(const Plan& plan);

/// A replica's share of the processor's caches; zeros: unknown.
struct CacheShare {
  std::uint64_t wanted = 0;  ///< bytes that a micro-batch should fit in
  std::uint64_t last = 0;    ///< bytes of the last level; a micro-batch larger than this is of no use
};

/// Returns 1 if rows are not independent, if the config names slots (`device:`), or if the arena fits `cache.wanted`.
/// Otherwise returns the number with which the arena of one micro-batch fits. Two limits apply:
/// - the traffic of weights and their gradients, which repeats, is at most half that of the activations;
/// - nine tenths of the multiply-adds are in products of at least 256 vectors (rows times positions of an image).
/// Returns 1 if such a micro-batch exceeds `cache.last`.
std::int64_t micro_batches_in_cache(const Plan& plan, std::int64_t rows, const CacheShare& cache);

}  // namespace dptrain::plan
