#pragma once

// The all-reduce of replicas that share memory: each rank's thread calls it for its own range of elements, between two
// barriers. Work is shared among the caller's threads.

#include <cstdint>

namespace dptrain::kernels::cpu {

/// For each element in [begin, end): the sum over the ranks, in rank order, is written to every rank's array. So the
/// result depends neither on timing nor on who does which range.
void sum_ranks(float* const* arrays, int ranks, int64_t begin, int64_t end);

}  // namespace dptrain::kernels::cpu
