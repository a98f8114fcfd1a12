#pragma once

namespace dptrain::nn {

/// The mean of (ln(1 + max(p, 1e-7)) - ln(1 + max(y, 1e-7)))^2 (Keras 3, MeanSquaredLogarithmicError).
struct MeanSquaredLogarithmicErrorSpec {};

}  // namespace dptrain::nn
