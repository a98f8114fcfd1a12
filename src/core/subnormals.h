#pragma once

namespace dptrain {

/// From here on the calling thread reads and writes 0 for floats below 1.2e-38, and so does every thread that it then
/// starts. x86 takes some hundred cycles for an instruction that meets one, and training does make them: gradients of
/// what a network is sure of, Adam's moments of weights that get none. TensorFlow does the same.
void flush_subnormals() noexcept;

/// The opposite, as threads are to begin with.
void keep_subnormals() noexcept;

}  // namespace dptrain
