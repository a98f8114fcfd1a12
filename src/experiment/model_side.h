#pragma once

// What a model's inputs want of a data set. Pure functions, any thread.

#include "config/reader.h"
#include "data/source.h"
#include "experiment/sections.h"
#include "graph/graph.h"

namespace dptrain::experiment {

/// Names, shapes, types, bounds of ids and paddings of the model's inputs; no outputs.
data::ModelSide input_side(const graph::Graph& graph);
/// An error at data.loader.bucket_by_length where no input has lengths.
void check_length_buckets(config::Reader& reader, const DataSection& data, const graph::Graph& graph);

}  // namespace dptrain::experiment
