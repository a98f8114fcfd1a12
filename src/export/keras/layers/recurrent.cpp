#include "export/keras/keras_layer.h"
#include "layers/bidirectional.h"
#include "layers/conv_lstm2d.h"
#include "layers/gru.h"
#include "layers/lstm.h"
#include "layers/simple_rnn.h"
#include "layers/time_distributed.h"

namespace dptrain::exporting::keras {
namespace {

/// Keras 3 takes the initial state by keyword alone.
template <class Spec>
LayerBuilder<Spec> recurrent_layer() {
  return layer<Spec>()
      .keyword("initial_state")
      .unset({"activity_regularizer", "kernel_constraint", "recurrent_constraint", "bias_constraint"});
}

const RegisteredLayer kLstm = recurrent_layer<layers::LSTMSpec>();
const RegisteredLayer kGru = recurrent_layer<layers::GRUSpec>();
const RegisteredLayer kSimpleRnn = recurrent_layer<layers::SimpleRNNSpec>();

const RegisteredLayer kConvLstm2D =
    recurrent_layer<layers::ConvLSTM2DSpec>().behind("padding", "data_format", channels_last());

/// Without `backward_layer`: Keras makes it of the other.
const RegisteredLayer kBidirectional =
    layer<layers::BidirectionalSpec>()
        .keyword("initial_state")
        .writes("layer", [](const layers::BidirectionalSpec& spec) { return wrapped_layer(spec.layer); });

const RegisteredLayer kTimeDistributed = layer<layers::TimeDistributedSpec>().writes(
    "layer", [](const layers::TimeDistributedSpec& spec) { return wrapped_layer(spec.layer); });

}  // namespace
}  // namespace dptrain::exporting::keras
