#pragma once

// Transforms and the labels that they change or would have to change: MixUp and CutMix mix labels, which are rows of
// values then, whatever the data set holds; no transform moves labels with a value for each place of an image. Main
// thread.

#include <vector>

#include "config/family.h"
#include "config/reader.h"
#include "experiment/sections.h"
#include "graph/graph.h"

namespace dptrain::experiment {

/// The first transform that mixes samples; null when there is none.
const config::Typed* mixing_transform(const DataSection& data);
/// An error at that transform for each loss that takes class numbers only.
void check_mixed_labels(config::Reader& reader, const DataSection& data, const TrainSection& train,
                        const graph::Graph& graph);

/// Reports each transform that moves pixels if labels have a value for each of several positions, labels of a clip's
/// frames excepted. Reports each transform that scales values if one file is both inputs and labels.
void check_positional_labels(config::Reader& reader, const DataSection& data, const TrainSection& train,
                             const graph::Graph& graph);

}  // namespace dptrain::experiment
