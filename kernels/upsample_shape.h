#pragma once

// What enlarging and resizing an image is, the same for kernels/cpu and kernels/cuda.

#include <cstdint>

#ifndef DPTRAIN_HOST_DEVICE
#if defined(__CUDACC__)
#define DPTRAIN_HOST_DEVICE __host__ __device__
#else
#define DPTRAIN_HOST_DEVICE
#endif
#endif

namespace dptrain::kernels {

/// [rows, in_h, in_w, channels] to [rows, out_h, out_w, channels], larger or smaller. The centres of outputs lie evenly
/// over the input. Bilinear: between the centres of the input's pixels, the outermost ones beyond; else the pixel that
/// a centre lies in, of two the later one.
struct UpsampleShape {
  int64_t in_h, in_w, channels;
  int64_t out_h, out_w;
  bool bilinear;
};

/// One axis of it, in whole numbers of 1 / (2 out) pixels of the input.
struct UpsampleAxis {
  int64_t in, out;
  bool bilinear;

  /// Where output o lies: (1 - share) of input `low` and `share` of `high`.
  struct Place {
    int64_t low, high;
    float share;
  };
  DPTRAIN_HOST_DEVICE Place place(int64_t o) const {
    const int64_t twice = 2 * out, centre = (2 * o + 1) * in;
    if (!bilinear) return {centre / twice, centre / twice, 0.0F};
    // Half a pixel before, as the values stand at the centres; one pixel is added so that it is not negative.
    const int64_t at = centre - out + twice, above = at / twice;
    const float share = static_cast<float>(at - above * twice) / static_cast<float>(twice);
    return {above > 0 ? above - 1 : 0, above < in ? above : in - 1, share};
  }
  /// The outputs [begin, end) that input i is a part of, and how much of it is in output o.
  DPTRAIN_HOST_DEVICE int64_t begin(int64_t i) const { return first_beyond(bilinear ? 2 * i - 1 : 2 * i); }
  DPTRAIN_HOST_DEVICE int64_t end(int64_t i) const {
    return i == in - 1 ? out : first_beyond(bilinear ? 2 * i + 3 : 2 * i + 2);
  }
  DPTRAIN_HOST_DEVICE float part(int64_t i, int64_t o) const {
    const Place p = place(o);
    return (p.low == i ? 1.0F - p.share : 0.0F) + (p.high == i ? p.share : 0.0F);
  }

 private:
  /// The first output whose centre lies at `halves` half pixels or beyond.
  DPTRAIN_HOST_DEVICE int64_t first_beyond(int64_t halves) const {
    const int64_t above = halves * out - in;  // of 2 in for each output
    return above <= 0 ? 0 : (above + 2 * in - 1) / (2 * in);
  }
};

}  // namespace dptrain::kernels
