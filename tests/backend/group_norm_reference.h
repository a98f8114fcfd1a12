#pragma once

// Normalization within samples, in double: x is [rows, spatial, channels], in groups of adjacent channels.

#include <cmath>

#include "backend/harness.h"

namespace dptrain::test {

/// gamma and beta may be null.
inline Tensor naive_group_norm(Tensor x, std::int64_t spatial, std::int64_t channels, std::int64_t groups,
                               double epsilon, const Tensor* gamma, const Tensor* beta) {
  const std::int64_t width = channels / groups, size = spatial * channels;
  const auto n = static_cast<double>(spatial * width);
  for (std::int64_t row = 0; row < static_cast<std::int64_t>(x.values.size()) / size; ++row)
    for (std::int64_t g = 0; g < groups; ++g) {
      const auto each = [&](const auto& f) {
        for (std::int64_t s = 0; s < spatial; ++s)
          for (std::int64_t c = g * width; c < (g + 1) * width; ++c)
            f(x.values[static_cast<std::size_t>(row * size + s * channels + c)], static_cast<std::size_t>(c));
      };
      double mean = 0, variance = 0;
      each([&](double& v, std::size_t) { mean += v / n; });
      each([&](double& v, std::size_t) { variance += (v - mean) * (v - mean) / n; });
      each([&](double& v, std::size_t c) {
        v = (v - mean) / std::sqrt(variance + epsilon) * (gamma == nullptr ? 1 : gamma->values[c]) +
            (beta == nullptr ? 0 : beta->values[c]);
      });
    }
  return x;
}

}  // namespace dptrain::test
