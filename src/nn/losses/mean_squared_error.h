#pragma once

namespace dptrain::nn {

/// The mean of (p - y)^2 (Keras 3, MeanSquaredError).
struct MeanSquaredErrorSpec {};

}  // namespace dptrain::nn
