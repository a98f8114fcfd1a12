#pragma once

// A model as an ONNX graph. Pure functions, any thread.

#include "export/onnx/onnx_graph.h"
#include "export/preparation.h"
#include "graph/model.h"

namespace dptrain::exporting::onnx {

inline constexpr int kLowestOpset = 13, kDefaultOpset = 17, kHighestOpset = 21;

/// Inputs and outputs have the names of their steps and dptrain's layout, the batch is free. Throws Error{kUsage} where
/// ONNX, or this opset, has no form for a layer; the error names it.
/// With a preparation raw samples come in: of tables an input for each column, which has the column's name.
Graph model_graph(const graph::Model& model, std::int64_t opset, const Preparation* preparation = nullptr);
/// The oldest version of the format that has the opset, which the most programs open.
int ir_version_of(int opset);

}  // namespace dptrain::exporting::onnx
