#pragma once

namespace dptrain::nn {

/// The mean of |p - y|; the gradient at p == y is zero (Keras 3, MeanAbsoluteError).
struct MeanAbsoluteErrorSpec {};

}  // namespace dptrain::nn
