#pragma once

// Checks between the sections of a config. Main thread.

#include "config/typed.h"
#include "experiment/sections.h"
#include "graph/graph.h"

namespace dptrain::experiment {

/// Reports at `place`, the key's location: a number that is not a power of two, and settings that need a single shard
/// or split batches in another way. `graph` may be null.
void check_virtual_shards(config::Reader& reader, const config::Mark& place, const ConfigFile& file,
                          const graph::Graph* graph);

// Checks of transforms against labels. MixUp and CutMix turn labels into rows of values. Transforms do not move labels
// that have a value for each position of an image. Main thread.

/// The first transform that mixes samples, or null.
const config::Typed* mixing_transform(const DataSection& data);
/// Reports at that transform each loss that only accepts class indices.
void check_mixed_labels(config::Reader& reader, const DataSection& data, const TrainSection& train,
                        const graph::Graph& graph);

/// Reports each transform that moves pixels if labels have a value for each of several positions, labels of a clip's
/// frames excepted. Reports each transform that scales values if one file is both inputs and labels.
void check_positional_labels(config::Reader& reader, const DataSection& data, const TrainSection& train,
                             const graph::Graph& graph);

// Checks that images have the preprocessing of published weights, without which predictions are useless. Pure.

/// Warns of each network that reads an Input directly if the eval transforms lack its preprocessing. For models whose
/// weights come from a file. Does nothing without data.
void advise_preprocessing(const graph::Graph& graph, const DataSection& data, config::Diagnostics& diagnostics);

}  // namespace dptrain::experiment
