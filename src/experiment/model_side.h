#pragma once

// The data that a model's inputs and losses require. Pure functions, any thread.

#include "config/typed.h"
#include "data/source.h"
#include "experiment/sections.h"
#include "graph/graph.h"
#include "plan/plan.h"

namespace dptrain::experiment {

struct Experiment;

/// Names, shapes, types, bounds of ids and paddings of the model's inputs; no outputs.
data::ModelSide input_side(const graph::Graph& graph);
/// input_side() with the outputs of `objectives`; without objectives, with all outputs.
data::ModelSide model_side(const graph::Graph& graph, const std::vector<plan::Objective>& objectives);
/// model_side() with the transforms of training: `pixels` is what they expect.
data::ModelSide model_side(const Experiment& experiment);
/// Number of positions of an output: the product of all axes but the last.
std::int64_t positions_of(const Shape& output);
/// Reports an error at data.loader.bucket_by_length if no input has lengths.
void check_length_buckets(config::Reader& reader, const DataSection& data, const graph::Graph& graph);

}  // namespace dptrain::experiment
