#pragma once

// Merging the outputs of a bidirectional recurrent layer, and cutting their gradient. May be called from any thread;
// work is shared among the caller's threads. Outputs are overwritten and are not inputs; each number is computed by
// itself.

#include "kernels/geometry.h"

namespace dptrain::kernels::cpu {

void merge_directions(const DirectionShape& shape, const float* forward, const float* backward, float* y);
/// The gradients of both from that of y. `forward` and `backward` are read by products alone.
void split_directions(const DirectionShape& shape, const float* dy, const float* forward, const float* backward,
                      float* d_forward, float* d_backward);

}  // namespace dptrain::kernels::cpu
