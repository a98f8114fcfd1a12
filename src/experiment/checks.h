#pragma once

// Checks between the sections of a config. Main thread.

#include <vector>

#include "config/diagnostics.h"
#include "config/family.h"
#include "config/reader.h"
#include "experiment/sections.h"
#include "graph/graph.h"

namespace dptrain::experiment {

/// Errors at `place`, the key's: a number that is no power of two, and what needs more than its own shard or cuts
/// batches otherwise. `graph` may be null.
void check_virtual_shards(config::Reader& reader, const config::Mark& place, const ConfigFile& file,
                          const graph::Graph* graph);

// Transforms and the labels that they change or would have to change: MixUp and CutMix mix labels, which are rows of
// values then, whatever the data set holds; no transform moves labels with a value for each place of an image. Main
// thread.

/// The first transform that mixes samples; null when there is none.
const config::Typed* mixing_transform(const DataSection& data);
/// An error at that transform for each loss that takes class numbers only.
void check_mixed_labels(config::Reader& reader, const DataSection& data, const TrainSection& train,
                        const graph::Graph& graph);

/// Reports each transform that moves pixels if labels have a value for each of several positions, labels of a clip's
/// frames excepted. Reports each transform that scales values if one file is both inputs and labels.
void check_positional_labels(config::Reader& reader, const DataSection& data, const TrainSection& train,
                             const graph::Graph& graph);

// Whether the images reach a network as its published weights want them: the commonest reason why a pre-trained network
// knows nothing. Pure.

/// For a model whose weights come from a file: warns of each network that reads an Input directly where the transforms
/// of evaluation lack its preprocessing. Nothing without data.
void advise_preprocessing(const graph::Graph& graph, const DataSection& data, config::Diagnostics& diagnostics);

}  // namespace dptrain::experiment
