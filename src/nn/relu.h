#pragma once

#include <optional>

namespace dptrain::nn {

/// max_value if x >= max_value; x if threshold < x; negative_slope * (x - threshold) otherwise (Keras ReLU).
struct ReLUSpec {
  std::optional<float> max_value;
  float negative_slope = 0;
  float threshold = 0;
};

}  // namespace dptrain::nn
