#pragma once

// `model.weights`: which file the weights of a fresh start come from, and how its layers are paired with the model's.
// Read by build() with the rest of the section, written out by write(); checkpoint/ does what it says. A plain value.

#include <array>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "config/typed.h"

namespace dptrain::graph {

struct Graph;
struct Port;

/// How layers of a file find layers of the model (docs/keras-files.md).
enum class WeightsMatch {
  kAuto,      ///< by name where enough names agree, else by topology
  kName,      ///< equal names
  kTopology,  ///< the k-th layer with weights is the k-th, in Keras's order
};

/// Regular expressions (ECMAScript) and what stands in their place, in the order of the config.
struct Renames {
  std::vector<std::pair<std::string, std::string>> rules;
  bool operator==(const Renames&) const = default;
};

struct WeightsSpec {
  config::Path file;
  WeightsMatch match = WeightsMatch::kAuto;
  Renames rename;                   ///< from names of the file to names of the model
  std::string up_to;                ///< name of a node: only it and what it is computed from is filled; "": all
  std::vector<std::string> expect;  ///< patterns: every such layer with weights must be filled
  std::vector<std::string> ignore;  ///< patterns: no such layer is filled
  bool skip_mismatch = false;       ///< what is of another shape is left out instead of being an error
};

const config::Schema& weights_schema();

/// Reads the key's value against a graph that is good otherwise: steps and layers that it names must be there.
/// Nothing for null and after reporting.
std::optional<WeightsSpec> read_weights(const config::Node& node, const config::Mark& where, const Graph& graph,
                                        const std::map<std::string, Port>& steps, config::Reader& reader);

}  // namespace dptrain::graph

template <>
struct dptrain::config::EnumNames<dptrain::graph::WeightsMatch> {
  using M = dptrain::graph::WeightsMatch;
  static constexpr std::array names{std::pair{M::kAuto, "auto"}, std::pair{M::kName, "name"},
                                    std::pair{M::kTopology, "topology"}};
};

template <>
struct dptrain::config::Value<dptrain::graph::Renames> {
  static bool read(const Node& node, Reader& reader, dptrain::graph::Renames& out);
  static Node write(const dptrain::graph::Renames& value);
  static Node schema();
};
