#pragma once

// Which layer of a file belongs to which layer of a model. Pure functions of both lists; docs/keras-files.md has the
// rules.

#include <optional>
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
  std::string failure;  ///< why it cannot be done; then there are no pairs
};

/// The two lists to be paired. Layers without weights take no part.
struct Sides {
  Sides(const StoredLayers& stored, const graph::Model& model, const graph::WeightsSpec& spec);

  const StoredLayers& stored;
  const graph::Model& model;
  std::vector<std::size_t> source;  ///< of the file, in its order
  std::vector<int> target;          ///< of the model up to `up_to`, in Keras's order

  bool fits(const Pair& pair) const;  ///< in number and shapes
};

Pairing by_name(const Sides& sides, const graph::Renames& renames);
/// With fewer layers in the file than in the model, the one part of the graph that they fill, if there is one.
Pairing by_topology(const Sides& sides, const graph::WeightsSpec& spec);
/// As the spec says; for kAuto whichever fits, and why.
Pairing pair_layers(const Sides& sides, const graph::WeightsSpec& spec);

}  // namespace dptrain::formats
