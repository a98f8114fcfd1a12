#pragma once

// Pairs the layers of a file with those of a model, by the rules in docs/reference/keras-files.md. Pure functions.

#include <string>
#include <vector>

#include "formats/stored_layers.h"
#include "graph/model.h"

namespace dptrain::formats {

struct Pair {
  int layer = 0;           ///< index into Graph::layers
  std::size_t stored = 0;  ///< index into the layers of the file
};

struct Pairing {
  std::vector<Pair> pairs;
  std::string how;
  std::string failure;  ///< why there are no pairs
};

/// The two lists to pair. Layers without weights are not listed.
struct Sides {
  Sides(const StoredLayers& stored, const graph::Model& model, const graph::WeightsSpec& spec);

  const StoredLayers& stored;
  const graph::Model& model;
  std::vector<std::size_t> source;  ///< layers of the file, in its order
  std::vector<int> target;          ///< layers of the model up to `up_to`, in Keras's order

  bool fits(const Pair& pair) const;  ///< number and shapes of the weights are equal
};

Pairing by_name(const Sides& sides, const graph::Renames& renames);
/// If the file has fewer layers than the model, pairs the only part of the graph that they fill.
Pairing by_topology(const Sides& sides, const graph::WeightsSpec& spec);
/// By the spec; kAuto tries both, and `how` gives the reason.
Pairing pair_layers(const Sides& sides, const graph::WeightsSpec& spec);

}  // namespace dptrain::formats
