#pragma once

namespace dptrain::optim {

/// The mean of (p - y)^2 (Keras 3, MeanSquaredError).
struct MeanSquaredErrorSpec {};

}  // namespace dptrain::optim
