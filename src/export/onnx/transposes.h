#pragma once

// Takes away the Transposes between layers that both want the channels behind the batch: a Transpose sinks through what
// does not care for the layout (elementwise ops, Concat, reductions, Pad, Slice, Softmax), whose axes change with it,
// until it meets another one; two make one, or none. What then nobody reads goes, too. Pure; any thread.

#include "export/onnx/onnx_graph.h"

namespace dptrain::exporting::onnx {

void cancel_transposes(Graph& graph);

}  // namespace dptrain::exporting::onnx
