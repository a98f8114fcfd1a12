#pragma once

namespace dptrain::nn {

/// The mean of p - y ln(p + 1e-7) (Keras 3, Poisson).
struct PoissonSpec {};

}  // namespace dptrain::nn
