#pragma once

#include "nn/recurrent.h"

namespace dptrain::nn {

/// Keras GRU (keras/src/nn/rnn/gru.py): blocks z, r, h of `units` columns; s = recurrent_activation, a =
/// activation:
///   z = s(x K_z + h U_z + b_z), r = s(x K_r + h U_r + b_r), h' = z h + (1 - z) c, which is the step's output, where
///   c = a(x K_h + b_h + r (h U_h + d_h)) with reset_after, else a(x K_h + b_h + (r h) U_h).
/// With reset_after the bias has a second row d, of h U.
struct GRUSpec : RecurrentSpec {
  Activation recurrent_activation = Activation::kSigmoid;
  bool reset_after = true;
};

}  // namespace dptrain::nn
