#pragma once

// Transforms that mix samples (MixUp, CutMix) mix their labels: rows of values, whatever the data set holds. Main
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

}  // namespace dptrain::experiment
