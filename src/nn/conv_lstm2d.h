#pragma once

#include "nn/conv2d.h"
#include "nn/lstm.h"

namespace dptrain::nn {

/// Keras ConvLSTM2D (keras/src/nn/rnn/conv_lstm2d.py): an LSTM over steps [steps, H, W, C] whose products are
/// convolutions, of the inputs with strides and padding as Conv2D has them, of the state with "same". `units` are
/// Keras's filters: of the state [H', W', filters]. Dropout draws for each number and, alike in all steps, for each
/// gate.
struct ConvLSTM2DSpec : LSTMSpec {
  Size2 kernel_size{1, 1};
  Size2 strides{1, 1};
  Padding padding = Padding::kValid;
  Size2 dilation_rate{1, 1};
};

/// The convolution of the inputs, to the four gates of all channels, and that of the state. `groups`: 4 where each gate
/// has inputs of its own, one behind the other in the channels.
Conv2DSpec input_convolution(const ConvLSTM2DSpec& spec, std::int64_t groups);
Conv2DSpec state_convolution(const ConvLSTM2DSpec& spec, std::int64_t groups);

}  // namespace dptrain::nn
