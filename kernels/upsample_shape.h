#pragma once

// What an enlargement by whole factors is, the same for kernels/cpu and kernels/cuda.

#include <cstdint>

#ifndef DPTRAIN_HOST_DEVICE
#if defined(__CUDACC__)
#define DPTRAIN_HOST_DEVICE __host__ __device__
#else
#define DPTRAIN_HOST_DEVICE
#endif
#endif

namespace dptrain::kernels {

/// [rows, in_h, in_w, channels] to [rows, in_h * size_h, in_w * size_w, channels]. Bilinear: between the centres of the
/// input's pixels, the outermost ones beyond; else each pixel is repeated.
struct UpsampleShape {
  int64_t in_h, in_w, channels;
  int64_t size_h, size_w;
  bool bilinear;
};

/// One axis of it.
struct UpsampleAxis {
  int64_t in, size;
  bool bilinear;

  /// Where output o lies: (1 - share) of input `low` and `share` of `high`.
  struct Place {
    int64_t low, high;
    float share;
  };
  DPTRAIN_HOST_DEVICE Place place(int64_t o) const {
    if (!bilinear) return {o / size, o / size, 0.0F};
    // Centre (o + 1/2) / size - 1/2, as a fraction over 2 size; one pixel is added so that it is not negative.
    const int64_t twice = 2 * size, centre = 2 * o + 1 - size + twice, above = centre / twice;
    const float share = static_cast<float>(centre - above * twice) / static_cast<float>(twice);
    return {above > 0 ? above - 1 : 0, above < in ? above : in - 1, share};
  }
  /// The outputs [begin, end) that input i is a part of, and how much of it is in output o.
  DPTRAIN_HOST_DEVICE int64_t begin(int64_t i) const {
    const int64_t first = bilinear ? (i - 1) * size + size / 2 : i * size;
    return first > 0 ? first : 0;
  }
  DPTRAIN_HOST_DEVICE int64_t end(int64_t i) const {
    const int64_t last = bilinear ? (i + 1) * size + size / 2 : (i + 1) * size;
    return last < in * size ? last : in * size;
  }
  DPTRAIN_HOST_DEVICE float part(int64_t i, int64_t o) const {
    const Place p = place(o);
    return (p.low == i ? 1.0F - p.share : 0.0F) + (p.high == i ? p.share : 0.0F);
  }
};

}  // namespace dptrain::kernels
