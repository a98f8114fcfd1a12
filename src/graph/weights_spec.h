#pragma once

// `model.weights`: the file with the initial weights, and the rules that match its layers to the model's. build() reads
// it, write() writes it, formats/checkpoint applies it. A plain value.

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

/// How layers of a file are matched to layers of the model (docs/reference/keras-files.md).
enum class WeightsMatch {
  kAuto,  ///< by name if enough names agree, else by topology
  kName,
  kTopology,  ///< the k-th layer with weights, in Keras's order
};

/// Regular expressions (ECMAScript) and their replacements, in the order of the config.
struct Renames {
  std::vector<std::pair<std::string, std::string>> rules;
  bool operator==(const Renames&) const = default;
};

struct WeightsSpec {
  config::Path file;
  WeightsMatch match = WeightsMatch::kAuto;
  Renames rename;                   ///< from names of the file to names of the model
  std::string up_to;                ///< name of a node: fills only it and the nodes it depends on; "": all
  std::vector<std::string> expect;  ///< patterns: every matching layer with weights must be filled
  std::vector<std::string> ignore;  ///< patterns: matching layers are not filled
  bool skip_mismatch = false;       ///< skip weights of another shape instead of reporting an error
};

const config::Schema& weights_schema();

/// Reads the key and checks its names in the otherwise valid graph. nullopt for null and after reporting an error.
std::optional<WeightsSpec> read_weights(const config::Node& node, const config::Mark& where, const Graph& graph,
                                        const std::map<std::string, Port>& steps, config::Reader& reader);

}  // namespace dptrain::graph

namespace dptrain::config {
template <>
struct EnumNames<graph::WeightsMatch> {
  using M = graph::WeightsMatch;
  static constexpr std::array names{std::pair{M::kAuto, "auto"}, std::pair{M::kName, "name"},
                                    std::pair{M::kTopology, "topology"}};
};
DPTRAIN_CONFIG_VALUE(graph::Renames);
}  // namespace dptrain::config
