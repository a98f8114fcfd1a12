#pragma once

namespace dptrain::nn {

/// The mean of 100 |p - y| / max(|y|, 1e-7) (Keras 3, MeanAbsolutePercentageError).
struct MeanAbsolutePercentageErrorSpec {};

}  // namespace dptrain::nn
