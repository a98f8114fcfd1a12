#pragma once

// The all-reduce of replicas that share memory: each rank's thread calls it for its own range of elements, between two
// barriers. Work is shared among the caller's threads.

#include <cstdint>

#include "kernels/sum_tree.h"

namespace dptrain::kernels::cpu {

/// For each element in [begin, end): the sum of `count` arrays, in the order of SumTree(count), is written to every one
/// of them. So the result depends neither on timing nor on who does which range.
void sum_ranks(float* const* arrays, int count, int64_t begin, int64_t end);

/// The same in an order that the caller gives (SumTree::merges), from arrays that stay as they are into others; an
/// array may be among both.
void sum_arrays(const float* const* in, const int* merges, int count, float* const* out, int outs, int64_t begin,
                int64_t end);

}  // namespace dptrain::kernels::cpu
