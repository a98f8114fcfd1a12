#pragma once

namespace dptrain::nn {

/// The sum over the last axis of y ln(y / p), both clipped to 1e-7..1 (Keras 3, KLDivergence).
struct KLDivergenceSpec {};

}  // namespace dptrain::nn
