#pragma once

namespace dptrain::optim {

/// The sum over the last axis of y ln(y / p), both clipped to 1e-7..1 (Keras 3, KLDivergence).
struct KLDivergenceSpec {};

}  // namespace dptrain::optim
