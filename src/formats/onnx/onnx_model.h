#pragma once

// A model as an ONNX graph. Pure functions, any thread.

#include <cstdint>

#include "formats/onnx/onnx_graph.h"
#include "formats/preparation.h"
#include "graph/model.h"

namespace dptrain::formats::onnx {

inline constexpr int kLowestOpset = 13, kDefaultOpset = 17, kHighestOpset = 21;

struct ModelGraphOptions {
  /// Not null: raw samples come in, of tables an input for each column, which has the column's name.
  const Preparation* preparation = nullptr;
  bool steps_are_free = false;  ///< nodes are told of the length of steps as little as may be
};

/// Inputs and outputs have the names of their steps and dptrain's layout, the batch is free. Throws Error{kUsage} where
/// ONNX, or this opset, has no form for a layer; the error names it.
Graph model_graph(const graph::Model& model, std::int64_t opset, const ModelGraphOptions& options = {});
/// The oldest version of the format that has the opset, which the most programs open.
int ir_version_of(int opset);

// Sequences of any length: a file whose steps are free. Any thread; nothing is shared.

/// As model_graph(), with the steps of all sequences that come in free: kSteps. The graph is made for some lengths, and
/// is taken where it is the same for all of them but for the extents of what comes in and out. Throws Error{kUsage}
/// that names the step which depends on the length, and where no sequence comes in.
Graph free_steps_graph(const graph::Model& model, std::int64_t opset);

}  // namespace dptrain::formats::onnx
