#pragma once

#include <cstdint>

namespace dptrain::nn {

/// Every step of [steps, C] `size` times, one copy behind the other (Keras UpSampling1D).
struct UpSampling1DSpec {
  std::int64_t size = 2;
};

}  // namespace dptrain::nn
