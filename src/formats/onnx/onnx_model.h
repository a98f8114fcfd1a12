#pragma once

// A model as an ONNX graph. Pure functions, any thread.

#include <cstdint>

#include "formats/onnx/onnx_graph.h"
#include "formats/preparation.h"
#include "graph/model.h"

namespace dptrain::formats::onnx {

inline constexpr int kLowestOpset = 13, kDefaultOpset = 17, kHighestOpset = 21;

struct ModelGraphOptions {
  /// Not null: inputs are raw samples; a table has one input for each column, with the column's name.
  const Preparation* preparation = nullptr;
  bool steps_are_free = false;  ///< nodes depend on the number of steps as little as possible
};

/// Inputs and outputs have the names of their steps and dptrain's layout, and the batch is free. Throws Error{kUsage}
/// that names a layer for which ONNX, or this opset, has no form.
Graph model_graph(const graph::Model& model, std::int64_t opset, const ModelGraphOptions& options = {});
/// The oldest version of the format that has the opset, because most programs open it.
int ir_version_of(int opset);

/// As model_graph(), for input sequences of any length (kSteps): graphs of several lengths must be equal except for the
/// extents of values. Throws Error{kUsage} that names a step that depends on the length, or if no input is a sequence.
Graph free_steps_graph(const graph::Model& model, std::int64_t opset);

}  // namespace dptrain::formats::onnx
