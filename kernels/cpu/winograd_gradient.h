#pragma once

// What Winograd's pass for the gradient of the weights is given, and the bounds of its blocks. Words of winograd*.cpp
// alone.

#include <cstdint>

#include "kernels/cpu/winograd.h"

namespace dptrain::kernels::cpu {

/// What a pass for the gradient of the weights is given.
struct WinogradGradient {
  WinogradShape shape;
  int64_t rows = 0;
  const float *x = nullptr, *dy = nullptr;
  const uint8_t* taken = nullptr;
  float *dweights = nullptr, *dbias = nullptr;
};

/// Bytes: of the gradients of all pieces together; of the points of a block of tiles, a thread's own and shared.
inline constexpr int64_t kPartsBytes = 4 << 20, kOwnPoints = 1 << 20, kSharedPoints = 24 << 20;
inline constexpr int64_t kMostParts = 16;
/// Pieces of so many images and more consist of whole ones.
inline constexpr int64_t kManyImages = 4;
/// Bytes of the points of a block where dy's are handed on, and the most of transformed filters: they, their gradient
/// and the block share the second cache. With 2 MiB of it, both gradients of 16 to 32 channels take 0.84 to 0.95 of the
/// time of the two passes, of 32 to 64 0.93, of 40 to 48 0.95 to 1; with F(6x6, 3x3) from 32 to 64 1.01, of 64 1.0 to
/// 1.1.
inline constexpr int64_t kSharingPoints = 512 << 10, kSharingFilters = 352 << 10;
/// A piece of fewer tiles takes longer to add its gradient to the others' than to sum it: 8 images of 13x13, 32 to 64
/// channels, take a quarter of the time in one piece of 32 tiles.
inline constexpr int64_t kLeastTiles = 32;
/// Bytes of the second cache for the points and the sums of a block of the gradient that is finished at once.
inline constexpr int64_t kSumBlockBytes = 1280 << 10;

}  // namespace dptrain::kernels::cpu
