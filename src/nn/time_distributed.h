#pragma once

#include "nn/wrapped_layer.h"

namespace dptrain::nn {

/// Keras TimeDistributed (keras/src/nn/rnn/time_distributed.py): the layer, with one set of weights, applied to
/// every step of [steps, ...]. To the layer, all steps of all samples are one batch, so its moments are over all of
/// them (as in Keras 2; Keras 3 takes those of each step apart) and its dropout draws for each. A mask of steps passes.
struct TimeDistributedSpec {
  WrappedLayer layer;  ///< one input, one output
};

}  // namespace dptrain::nn
