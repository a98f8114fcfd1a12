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
  std::vector<std::string> inputs;  ///< names of what it reads; empty: it is one, called input
  std::vector<Parameter> parameters;
  config::Node layers;
};

/// A layer, or a list of layers, with one set of weights: every use shares them.
struct Shared {
  config::Mark mark;
  config::Node definition;          ///< one step, or a list of them
  std::vector<std::string> inputs;  ///< as a block's; only of a list
};

struct Definitions {
  std::map<std::string, Block> blocks;
  std::map<std::string, Shared> shared;

  /// Every type name that a step can have: built-in layers, networks, blocks, shared layers.
  std::vector<std::string> type_names() const;
};

/// `params` and `layers` of one block, whose place is `mark`; `others` are keys that the caller reads. Nothing after
/// reporting.
std::optional<Block> read_block(const config::Node& node, const config::Mark& mark, std::vector<std::string> others,
                                config::Reader& reader);
/// Reports and leaves out what is wrong. `model` is the section's map.
Definitions read_definitions(const config::Node& model, config::Reader& reader);

}  // namespace dptrain::graph
