#pragma once

// Philox4x32-10, a counter-based generator (Salmon, Moraes, Dror, Shaw: "Parallel Random Numbers: As Easy as 1, 2, 3",
// SC 2011). Four random words are a pure function of a 128-bit counter and a 64-bit key. The caller defines the
// counter, so results are independent of threads, devices and the order of calls. For host and CUDA kernels.

#include <cstdint>

#if defined(__CUDACC__)
#define DPTRAIN_HOST_DEVICE __host__ __device__
#else
#define DPTRAIN_HOST_DEVICE
#endif

namespace dptrain::kernels {

struct PhiloxKey {
  uint32_t word[2];
};

struct PhiloxBlock {
  uint32_t word[4];
};

/// Multipliers and key increments of table 2 of the paper.
inline constexpr uint32_t kPhiloxMultiplier0 = 0xD2511F53U;
inline constexpr uint32_t kPhiloxMultiplier1 = 0xCD9E8D57U;
inline constexpr uint32_t kPhiloxKeyStep0 = 0x9E3779B9U;
inline constexpr uint32_t kPhiloxKeyStep1 = 0xBB67AE85U;
inline constexpr int kPhiloxRounds = 10;

DPTRAIN_HOST_DEVICE inline PhiloxBlock philox4x32(PhiloxBlock counter, PhiloxKey key) {
  for (int round = 0; round < kPhiloxRounds; ++round) {
    const uint64_t product0 = static_cast<uint64_t>(kPhiloxMultiplier0) * counter.word[0];
    const uint64_t product1 = static_cast<uint64_t>(kPhiloxMultiplier1) * counter.word[2];
    counter = PhiloxBlock{
        {static_cast<uint32_t>(product1 >> 32) ^ counter.word[1] ^ key.word[0], static_cast<uint32_t>(product1),
         static_cast<uint32_t>(product0 >> 32) ^ counter.word[3] ^ key.word[1], static_cast<uint32_t>(product0)}};
    key.word[0] += kPhiloxKeyStep0;
    key.word[1] += kPhiloxKeyStep1;
  }
  return counter;
}

/// Uniform in [0, 1), from the upper 24 bits, which a float represents exactly.
DPTRAIN_HOST_DEVICE inline float philox_uniform(uint32_t bits) {
  return static_cast<float>(bits >> 8) * (1.0F / 16777216.0F);
}

}  // namespace dptrain::kernels
