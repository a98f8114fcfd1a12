#pragma once

// Sequences of any length: a file whose steps are free. Any thread; nothing is shared.

#include <cstdint>

#include "export/onnx/onnx_graph.h"
#include "graph/model.h"

namespace dptrain::exporting::onnx {

/// As model_graph(), with the steps of all sequences that come in free: kSteps. The graph is made for some lengths, and
/// is taken where it is the same for all of them but for the extents of what comes in and out. Throws Error{kUsage}
/// that names the step which depends on the length, and where no sequence comes in.
Graph free_steps_graph(const graph::Model& model, std::int64_t opset);

}  // namespace dptrain::exporting::onnx
