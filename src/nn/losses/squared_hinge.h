#pragma once

namespace dptrain::nn {

/// The mean of max(0, 1 - y p)^2, labels as in HingeSpec (Keras 3, SquaredHinge).
struct SquaredHingeSpec {};

}  // namespace dptrain::nn
