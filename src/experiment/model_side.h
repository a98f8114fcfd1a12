#pragma once

// What a model's inputs want of a data set. A pure function, any thread.

#include "data/source.h"
#include "graph/graph.h"

namespace dptrain::experiment {

/// Names, shapes, types and bounds of ids of the model's inputs; no outputs.
data::ModelSide input_side(const graph::Graph& graph);

}  // namespace dptrain::experiment
