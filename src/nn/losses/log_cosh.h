#pragma once

namespace dptrain::nn {

/// The mean of ln cosh(p - y) (Keras 3, LogCosh: x + softplus(-2x) - ln 2).
struct LogCoshSpec {};

}  // namespace dptrain::nn
