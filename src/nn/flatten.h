#pragma once

namespace dptrain::nn {

/// Everything after the batch as one axis, row-major H, W, C (Keras Flatten).
struct FlattenSpec {};

}  // namespace dptrain::nn
