#pragma once

#include <cstdint>

namespace dptrain::layers {

/// Every step of [steps, C] `size` times, one copy behind the other (Keras UpSampling1D).
struct UpSampling1DSpec {
  std::int64_t size = 2;
};

}  // namespace dptrain::layers
