#pragma once

// The `blocks:` and `shared:` of a model, read but not expanded.

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "config/reader.h"

namespace dptrain::graph {

/// One of a block's `params:`.
struct Parameter {
  std::string name;
  std::optional<config::Node> fallback;  ///< absent: required
};

/// A layer type made of layers: every use makes new weights.
struct Block {
  std::vector<Parameter> parameters;
  config::Node layers;
};

/// A layer, or a list of layers, with one set of weights: every use shares them.
struct Shared {
  config::Mark mark;
  config::Node definition;  ///< one step, or a list of them
};

struct Definitions {
  std::map<std::string, Block> blocks;
  std::map<std::string, Shared> shared;

  /// Every type name that a step can have, built-in layers first.
  std::vector<std::string> type_names() const;
};

/// Reports and leaves out what is wrong. `model` is the section's map.
Definitions read_definitions(const config::Node& model, config::Reader& reader);

}  // namespace dptrain::graph
