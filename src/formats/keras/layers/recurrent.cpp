#include "nn/recurrent.h"
#include "formats/keras/keras_layer.h"
#include "nn/wrappers.h"

namespace dptrain::formats::keras {
namespace {

/// Keras 3 takes the initial state by keyword alone.
template <class Spec>
LayerBuilder<Spec> recurrent_layer() {
  return layer<Spec>()
      .keyword("initial_state")
      .unset({"activity_regularizer", "kernel_constraint", "recurrent_constraint", "bias_constraint"});
}

const RegisteredLayer kLstm = recurrent_layer<nn::LSTMSpec>();
const RegisteredLayer kGru = recurrent_layer<nn::GRUSpec>();
const RegisteredLayer kSimpleRnn = recurrent_layer<nn::SimpleRNNSpec>();

const RegisteredLayer kConvLstm2D =
    recurrent_layer<nn::ConvLSTM2DSpec>().behind("padding", "data_format", channels_last());

/// Without `backward_layer`: Keras makes it of the other.
const RegisteredLayer kBidirectional =
    layer<nn::BidirectionalSpec>().keyword("initial_state").writes("layer", [](const nn::BidirectionalSpec& spec) {
      return wrapped_layer(spec.layer);
    });

const RegisteredLayer kTimeDistributed = layer<nn::TimeDistributedSpec>().writes(
    "layer", [](const nn::TimeDistributedSpec& spec) { return wrapped_layer(spec.layer); });

}  // namespace
}  // namespace dptrain::formats::keras
