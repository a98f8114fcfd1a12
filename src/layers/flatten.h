#pragma once

namespace dptrain::layers {

/// Everything after the batch as one axis, row-major H, W, C (Keras Flatten).
struct FlattenSpec {};

}  // namespace dptrain::layers
