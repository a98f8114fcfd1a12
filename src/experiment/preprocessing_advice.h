#pragma once

// Whether the images reach a network as its published weights want them: the commonest reason why a pre-trained network
// knows nothing. Pure.

#include "config/diagnostics.h"
#include "experiment/sections.h"
#include "graph/graph.h"

namespace dptrain::experiment {

/// For a model whose weights come from a file: warns of each network that reads an Input directly where the transforms
/// of evaluation lack its preprocessing. Nothing without data.
void advise_preprocessing(const graph::Graph& graph, const DataSection& data, config::Diagnostics& diagnostics);

}  // namespace dptrain::experiment
