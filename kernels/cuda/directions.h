#pragma once

// Merging the outputs of a bidirectional recurrent layer, and cutting their gradient. Asynchronous on the launch's
// stream; any thread. Outputs are overwritten and are not inputs.

#include "core/dtype.h"
#include "kernels/cuda/launch.h"
#include "kernels/geometry.h"

namespace dptrain::kernels::DPTRAIN_BACKEND {

void merge_directions(const Launch& at, DType type, const DirectionShape& shape, const void* forward,
                      const void* backward, void* y);
/// The gradients of both from that of y. `forward` and `backward` are read by products alone.
void split_directions(const Launch& at, DType type, const DirectionShape& shape, const void* dy, const void* forward,
                      const void* backward, void* d_forward, void* d_backward);

}  // namespace dptrain::kernels::DPTRAIN_BACKEND
