#pragma once

// Broadcasting by index arithmetic, for the merge layers' tests.

#include <functional>

#include "backend/harness.h"

namespace dptrain::test {

/// Element by element over inputs aligned at the last axis; extents of 1 are repeated.
inline Reference merged(std::vector<Shape> shapes, Shape out, std::function<double(double, double)> combine) {
  return [=](const std::vector<Tensor>& in, const std::vector<Tensor>&) {
    Tensor y = batch(in[0].dim(0), out);
    const std::int64_t elements = out.elements();
    for (std::int64_t i = 0; i < static_cast<std::int64_t>(y.values.size()); ++i) {
      const std::int64_t row = i / elements;
      for (std::size_t k = 0; k < in.size(); ++k) {
        std::int64_t rest = i % elements, at = 0, stride = 1;
        for (int axis = 1; axis <= out.rank(); ++axis) {
          const std::int64_t index = rest % out[out.rank() - axis];
          rest /= out[out.rank() - axis];
          if (axis > shapes[k].rank()) continue;
          const std::int64_t extent = shapes[k][shapes[k].rank() - axis];
          at += (extent == 1 ? 0 : index) * stride;
          stride *= extent;
        }
        const double value = in[k].values[static_cast<std::size_t>(row * shapes[k].elements() + at)];
        double& result = y.values[static_cast<std::size_t>(i)];
        result = k == 0 ? value : combine(result, value);
      }
    }
    return y;
  };
}

}  // namespace dptrain::test
