#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "core/shape.h"

namespace dptrain::nn {

/// 1 - 2 sum y p / (sum y + sum p + 1e-7), the sums over `axis`, for each place of the other axes (Keras 3, Dice). Axes
/// count from 1, for 0 is the batch's, and must be neighbours: [1, 2, 3] of [H, W, C] gives one number per sample,
/// [1, 2] one per sample and class. Keras's default, null, sums over the batch, too: that is no mean over samples, so
/// replicas and micro-batches would change it, and the plan refuses it.
struct DiceSpec {
  std::optional<std::vector<std::int64_t>> axis;
};

/// How the sums of one sample lie in memory: [outer, length, inner], a number for each of outer * inner.
struct DiceSums {
  std::int64_t outer = 1, length = 1, inner = 1;
};
/// For axes that fit.
DiceSums dice_sums(const DiceSpec& spec, const Shape& output);

}  // namespace dptrain::nn
