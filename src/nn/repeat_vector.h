#pragma once

#include <cstdint>

namespace dptrain::nn {

/// [features] -> [n, features]: the vector n times (Keras RepeatVector).
struct RepeatVectorSpec {
  std::int64_t n = 1;
};

}  // namespace dptrain::nn
