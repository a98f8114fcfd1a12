#pragma once

namespace dptrain::train {

/// Keras's TerminateOnNaN: ends a run whose loss is not finite.
struct TerminateOnNaNSpec {};

}  // namespace dptrain::train
