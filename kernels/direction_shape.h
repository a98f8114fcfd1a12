#pragma once

// How the outputs of two recurrent passes, one through time and one against it, become one. The same for both kinds of
// kernels.

#include <cstdint>

namespace dptrain::kernels {

enum class DirectionMerge { kConcat, kSum, kMul, kAve };

/// The outputs of each pass are [rows, steps, units] in the order in which it took the steps, or with `steps` 1 those
/// of its last step. Step t of a row is merged from number t of the forward pass and number steps - 1 - t of the
/// backward one, to [units] or, side by side, [2 units]; zeros where the mask leaves it out.
struct DirectionShape {
  std::int64_t rows = 0, steps = 1, units = 0;
  DirectionMerge merge = DirectionMerge::kConcat;
  const std::uint8_t* mask = nullptr;  ///< [rows, steps]; null: every step is valid

  std::int64_t width() const { return merge == DirectionMerge::kConcat ? 2 * units : units; }
};

}  // namespace dptrain::kernels
