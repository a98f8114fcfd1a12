#pragma once

namespace dptrain::nn {

/// The mean of e^2 / 2 where |e| = |p - y| <= delta, else of delta |e| - delta^2 / 2 (Keras 3, Huber).
struct HuberSpec {
  double delta = 1;
};

}  // namespace dptrain::nn
