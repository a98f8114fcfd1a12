#pragma once

// Arguments of Winograd's weight gradient, and block sizes. Only for winograd*.cpp.

#include <cstdint>

#include "kernels/cpu/winograd.h"

namespace dptrain::kernels::cpu {

struct WinogradGradient {
  WinogradShape shape;
  int64_t rows = 0;
  const float *x = nullptr, *dy = nullptr;
  const uint8_t* argmax = nullptr;
  float *dweights = nullptr, *dbias = nullptr;
};

/// Bytes: gradients of all pieces together; points of a block of tiles, per thread and shared.
inline constexpr int64_t kPartsBytes = 4 << 20, kOwnPoints = 1 << 20, kSharedPoints = 24 << 20;
inline constexpr int64_t kMaxParts = 16;
/// With at least this many images, pieces consist of whole images.
inline constexpr int64_t kManyImages = 4;
/// Maximum bytes of a block's points in a fused pass, and of transformed filters, which share the L2 cache. With 2 MiB
/// of it, fused gradients of 16 to 64 channels take 0.84 to 1 of the time of two passes (F(6x6, 3x3): 1 to 1.1).
inline constexpr int64_t kSharingPoints = 512 << 10, kSharingFilters = 352 << 10;
/// Minimum tiles of a piece, because adding gradients takes time: 8 images of 13x13, 32 to 64 channels, take a quarter
/// of the time in one piece of 32 tiles.
inline constexpr int64_t kMinTiles = 32;
/// Bytes of the L2 cache for the points and sums of a block of the gradient that is completed at once.
inline constexpr int64_t kSumBlockBytes = 1280 << 10;

}  // namespace dptrain::kernels::cpu
