#pragma once

// All-reduce of replicas in shared memory: each rank's thread calls it for its own elements, between two barriers. The
// caller's threads share the work.

#include <cstdint>

#include "kernels/sum_tree.h"

namespace dptrain::kernels::cpu {

/// Writes the sum of `count` arrays, in the order of SumTree(count), to each of them, for elements [begin, end).
void sum_ranks(float* const* arrays, int count, int64_t begin, int64_t end);

/// Writes the sum of `in`, in the order of `merges` (SumTree::merges), to each array of `out`. An array may be in both.
void sum_arrays(const float* const* in, const int* merges, int count, float* const* out, int outs, int64_t begin,
                int64_t end);

}  // namespace dptrain::kernels::cpu
