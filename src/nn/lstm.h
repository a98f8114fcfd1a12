#pragma once

#include "nn/recurrent.h"

namespace dptrain::nn {

/// Keras LSTM (keras/src/nn/rnn/lstm.py): z = x K + h U + b in blocks i, f, c, o of `units` columns; with
/// s = recurrent_activation and a = activation:
///   c' = s(z_f) c + s(z_i) a(z_c),  h' = s(z_o) a(c'); h' is the step's output, (h', c') the state.
struct LSTMSpec : RecurrentSpec {
  Activation recurrent_activation = Activation::kSigmoid;
  bool unit_forget_bias = true;  ///< the f block of the bias begins with ones, whatever the initializer
};

/// kernel [features, 4 units], recurrent_kernel, bias of a cell of that name.
std::vector<WeightDef> lstm_weights(const std::string& cell, const LSTMSpec& spec, std::int64_t features);

}  // namespace dptrain::nn
