#pragma once

#include <cstdint>

#include "kernels/philox.h"

namespace dptrain {

/// Purposes of the counter-based random streams: one unique number each. The user of a stream adds the index of the
/// layer or transform in the low bits.
enum class Purpose : std::uint32_t {
  kInitializer = 0x10000,  ///< + index of the weight
  kShuffle = 0x20000,      ///< counter: epoch
  kTransform = 0x30000,    ///< + index of the transform; counter: sample, epoch
  kDropout = 0x40000,      ///< + index of the step; see kernels/cpu/dropout.h
  kSynthetic = 0x50000,    ///< + role of the data set
  kSplit = 0x60000,
  kNoise = 0x70000,  ///< + index of the step; see kernels/cpu/noise.h
  kClip = 0x80000,   ///< start of a clip; counter: sample, epoch
  kSweep = 0x90000,  ///< + index of the varied key; counter: trial
};

/// Random numbers as a pure function of (seed, purpose, a, b, number of the draw), so there is no state to save or
/// share. Not thread-safe; cheap to construct.
class RandomStream {
 public:
  RandomStream(std::uint64_t seed, std::uint32_t purpose, std::uint64_t a = 0, std::uint32_t b = 0);

  std::uint32_t next_u32();
  /// In [0, 1), 24 bits.
  float uniform();
  /// In [0, n), without modulo bias; n > 0.
  std::uint64_t below(std::uint64_t n);
  /// Standard normal (Box-Muller).
  double normal();

 private:
  std::uint64_t seed_;
  std::uint32_t purpose_, b_;
  std::uint64_t a_;
  std::uint32_t block_ = 0;
  int used_ = 4;
  kernels::PhiloxBlock words_ = {};
};

}  // namespace dptrain
