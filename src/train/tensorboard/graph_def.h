#pragma once

// The network as a GraphDef (tensorflow/core/framework/graph.proto), for TensorBoard's tab Graphs: a node for each call
// of a layer with its arguments, sizes and number of parameters; blocks and networks are scopes. Pure.

#include <string>

#include "graph/model.h"

namespace dptrain::train::tensorboard {

std::string graph_def(const graph::Model& model);

}  // namespace dptrain::train::tensorboard
