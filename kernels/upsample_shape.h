#pragma once

// What enlarging and resizing an image is, the same for kernels/cpu and kernels/cuda.

#include <cstdint>
#include <type_traits>

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

/// One axis of it, in whole numbers of 1 / (2 out) pixels of the input: of 64 bits, or of 32 where fits_32_bits(), for
/// a GPU divides 64 bits slowly.
template <class Int>
struct UpsampleAxisOf {
  Int in, out;
  bool bilinear;

  /// Where output o lies: (1 - share) of input `low` and `share` of `high`.
  struct Place {
    Int low, high;
    float share;
  };
  DPTRAIN_HOST_DEVICE Place place(Int o) const {
    const Int twice = 2 * out, centre = (2 * o + 1) * in;
    if (!bilinear) {
      const Int nearest = quotient(centre, twice);
      return {nearest, nearest, 0.0F};
    }
    // Half a pixel before, as the values stand at the centres; one pixel is added so that it is not negative.
    const Int at = centre - out + twice, above = quotient(at, twice);
    const float share = static_cast<float>(at - above * twice) / static_cast<float>(twice);
    return {above > 0 ? above - 1 : 0, above < in ? above : in - 1, share};
  }
  /// The outputs [begin, end) that input i is a part of, and how much of it is in output o.
  DPTRAIN_HOST_DEVICE Int begin(Int i) const { return first_beyond(bilinear ? 2 * i - 1 : 2 * i); }
  DPTRAIN_HOST_DEVICE Int end(Int i) const {
    return i == in - 1 ? out : first_beyond(bilinear ? 2 * i + 3 : 2 * i + 2);
  }
  DPTRAIN_HOST_DEVICE float part(Int i, Int o) const {
    const Place p = place(o);
    return (p.low == i ? 1.0F - p.share : 0.0F) + (p.high == i ? p.share : 0.0F);
  }

 private:
  /// The first output whose centre lies at `halves` half pixels or beyond.
  DPTRAIN_HOST_DEVICE Int first_beyond(Int halves) const {
    const Int above = halves * out - in;  // of 2 in for each output
    return above <= 0 ? 0 : quotient(above + 2 * in - 1, 2 * in);
  }
  /// a / b, neither negative.
  DPTRAIN_HOST_DEVICE static Int quotient(Int a, Int b) {
    using Unsigned = std::make_unsigned_t<Int>;
    return static_cast<Int>(static_cast<Unsigned>(a) / static_cast<Unsigned>(b));
  }
};
using UpsampleAxis = UpsampleAxisOf<int64_t>;

/// No number that an axis computes with is larger than 2 in out + 2 in + out.
inline bool fits_32_bits(const UpsampleShape& s) {
  const auto fits = [](int64_t in, int64_t out) { return (in + 1) * (out + 1) <= INT32_MAX / 2; };
  return s.in_h < INT32_MAX && s.in_w < INT32_MAX && s.out_h < INT32_MAX && s.out_w < INT32_MAX &&
         fits(s.in_h, s.out_h) && fits(s.in_w, s.out_w);
}

}  // namespace dptrain::kernels
