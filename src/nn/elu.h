#pragma once

namespace dptrain::nn {

/// x if x > 0 else alpha * (e^x - 1) (Keras ELU).
struct ELUSpec {
  float alpha = 1.0F;
};

}  // namespace dptrain::nn
