#pragma once

// All-reduce of replicas that share memory. The thread of each rank calls it for its own range of elements, between two
// barriers. Work is shared among the caller's threads.

#include <cstdint>

#include "kernels/sum_tree.h"

namespace dptrain::kernels::cpu {

/// Writes the sum of `count` arrays, in the order of SumTree(count), to each of them, for elements [begin, end). The
/// result depends neither on timing nor on the split into ranges.
void sum_ranks(float* const* arrays, int count, int64_t begin, int64_t end);

/// Sums `in` in the order of `merges` (SumTree::merges) and writes the result to each array of `out`. `in` is
/// unchanged, except for arrays that are also in `out`.
void sum_arrays(const float* const* in, const int* merges, int count, float* const* out, int outs, int64_t begin,
                int64_t end);

}  // namespace dptrain::kernels::cpu
