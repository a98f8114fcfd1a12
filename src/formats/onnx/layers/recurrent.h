#pragma once

// What the recurrent layers' forms share. Private to export/onnx/layers.

#include <functional>
#include <vector>

#include "formats/onnx/onnx_layer.h"

namespace dptrain::formats::onnx {

/// What a recurrent layer gives, steps in the order of time.
struct Recurrence {
  Value sequence;             ///< [batch, steps, ...]
  Value last;                 ///< [batch, ...]: the output of the step that came last
  std::vector<Value> states;  ///< behind it
};

/// One step: the new states, the first of which is the step's output, of the old ones and of the step's input.
using Step = std::function<std::vector<Value>(Builder& body, const Value& x, const std::vector<Value>& states)>;

struct ScanOptions {
  bool reverse = false;          ///< the last step first
  Value mask{};                  ///< [batch, steps]; a step that it leaves out changes nothing
  bool zeros_if_masked = false;  ///< and gives zeros, instead of the output of the step before
};

/// By ONNX's Scan over x [batch, steps, ...].
Recurrence scan(Builder& to, const Value& x, const std::vector<Value>& states, const Step& step,
                const ScanOptions& options);

/// The outputs that a layer with these arguments gives.
std::vector<Value> recurrent_results(Builder& to, const Recurrence& made, bool return_sequences, bool return_state,
                                     bool go_backwards);

/// LSTM, GRU and SimpleRNN. `call` has the weights of one direction.
Recurrence recur(const config::Typed& layer, Call& call, bool zeros_if_masked);

}  // namespace dptrain::formats::onnx
