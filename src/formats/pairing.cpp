#include "formats/pairing.h"

#include <algorithm>
#include <functional>
#include <map>
#include <set>

#include "core/format.h"
#include "core/quantity.h"
#include "core/text.h"
#include "graph/definitions.h"

namespace dptrain::formats {
namespace {

/// For regular expressions: the library recurses on each letter.
constexpr std::size_t kLongestName = 1000;

bool has_weights(const graph::Graph& graph, int layer) {
  return !graph.layers[static_cast<std::size_t>(layer)].weights.empty();
}

/// The layers with weights in the part of the graph that computes a node, in Keras's order.
std::vector<int> weighted_up_to(graph::Graph& scratch, int node) {
  scratch.outputs = {node};
  std::vector<int> order;
  for (const int layer : graph::keras_order(scratch))
    if (has_weights(scratch, layer)) order.push_back(layer);
  return order;
}

int node_called(const graph::Graph& graph, const std::string& name) {
  for (std::size_t i = 0; i < graph.nodes.size(); ++i)
    if (graph.nodes[i].name == name) return static_cast<int>(i);
  return -1;
}

std::string flat(std::string name) {
  std::replace(name.begin(), name.end(), '/', '_');
  return name;
}

class Renamer {
 public:
  explicit Renamer(const graph::Renames& renames) {
    for (const auto& [pattern, name] : renames.rules) rules_.emplace_back(Pattern(pattern), dollars(name));
  }
  /// Applies all rules in order.
  std::string operator()(std::string name) const {
    for (const auto& [pattern, with] : rules_)
      if (name.size() <= kLongestName) name = pattern.replaced(name, with);
    return name;
  }

 private:
  /// Converts Python's "\1" to "$1".
  static std::string dollars(const std::string& name) {
    std::string text;
    for (std::size_t i = 0; i < name.size(); ++i) {
      const bool group = name[i] == '\\' && i + 1 < name.size() && name[i + 1] >= '0' && name[i + 1] <= '9';
      text += group ? '$' : name[i];
    }
    return text;
  }

  std::vector<std::pair<Pattern, std::string>> rules_;
};

/// Pairs free layers with equal keys. A key that two free layers of the file share is not used.
void pair_equal(const Sides& sides, const std::function<std::string(std::size_t)>& key_of,
                std::map<std::size_t, int>& done, std::set<int>& filled) {
  std::map<std::string, std::vector<std::size_t>> sources;
  for (const std::size_t s : sides.source)
    if (!done.contains(s)) sources[key_of(s)].push_back(s);
  for (const int layer : sides.target) {
    if (filled.contains(layer)) continue;
    const auto found = sources.find(flat(sides.model.graph.layers[static_cast<std::size_t>(layer)].name));
    if (found == sources.end() || found->second.size() != 1) continue;
    done.emplace(found->second.front(), layer);
    filled.insert(layer);
  }
}

std::vector<Pair> in_order(const std::vector<int>& target, const std::vector<std::size_t>& source) {
  std::vector<Pair> pairs;
  for (std::size_t i = 0; i < target.size() && i < source.size(); ++i) pairs.push_back({target[i], source[i]});
  return pairs;
}

bool all_fit(const Sides& sides, const std::vector<Pair>& pairs) {
  return std::all_of(pairs.begin(), pairs.end(), [&](const Pair& pair) { return sides.fits(pair); });
}

/// For a file without an order: pairs the k-th layers of each class. Fails if a class has different numbers.
Pairing by_class(const Sides& sides, const std::vector<int>& target) {
  std::map<std::string, std::vector<std::size_t>> sources;
  std::map<std::string, std::set<std::string>> scopes;
  for (const std::size_t s : sides.source) {
    const StoredLayer& layer = sides.stored.layers[s];
    sources[layer.kind].push_back(s);
    scopes[layer.kind].insert(layer.scope);
  }
  std::map<std::string, std::vector<int>> targets;
  for (const int layer : target)
    targets[graph::snake_case(sides.model.graph.layers[static_cast<std::size_t>(layer)].spec.name())].push_back(layer);
  Pairing result;
  result.how = "by class and number";
  for (const auto& [kind, layers] : targets) {
    const std::vector<std::size_t>& found = sources[kind];
    if (found.size() != layers.size()) {
      result.failure = fmt::format("it has {} of class {} with weights, the model {}", counted(found.size(), "layer"),
                                   kind, layers.size());
      return result;
    }
    if (scopes[kind].size() > 1) {
      result.failure = fmt::format(
          "it has layers of class {} in several models and not their order; save the model as "
          ".keras or .h5 instead",
          kind);
      return result;
    }
    for (const Pair& pair : in_order(layers, found)) result.pairs.push_back(pair);
  }
  return result;
}

/// Pairs up to the last node whose part of the graph has exactly the file's layers. Fails if several parts fit.
Pairing part_of_graph(const Sides& sides) {
  graph::Graph scratch = sides.model.graph;
  Pairing result;
  std::vector<int> layers;
  for (int node = static_cast<int>(scratch.nodes.size()) - 1; node >= 0; --node) {
    const std::vector<int> order = weighted_up_to(scratch, node);
    if (order.size() != sides.source.size() || order == layers) continue;
    std::vector<Pair> pairs = in_order(order, sides.source);
    if (!all_fit(sides, pairs)) continue;
    const std::string& name = sides.model.graph.nodes[static_cast<std::size_t>(node)].name;
    if (!layers.empty()) {
      result.failure = fmt::format("it fits the model {} as well as up to '{}'; select one with up_to",
                                   result.how.substr(std::string("by topology ").size()), name);
      result.pairs.clear();
      return result;
    }
    layers = order;
    result.pairs = std::move(pairs);
    result.how = fmt::format("by topology up to '{}'", name);
  }
  if (layers.empty())
    result.failure = fmt::format("it has {} with weights, the model {}, and no part of the model has exactly those",
                                 counted(sides.source.size(), "layer"), sides.target.size());
  return result;
}

}  // namespace

Sides::Sides(const StoredLayers& stored_layers, const graph::Model& filled, const graph::WeightsSpec& spec)
    : stored(stored_layers), model(filled) {
  for (std::size_t i = 0; i < stored.layers.size(); ++i)
    if (!stored.layers[i].weights.empty()) source.push_back(i);
  graph::Graph scratch = model.graph;
  if (!spec.up_to.empty()) {
    target = weighted_up_to(scratch, node_called(scratch, spec.up_to));
  } else {
    for (const int layer : graph::keras_order(scratch))
      if (has_weights(scratch, layer)) target.push_back(layer);
  }
}

bool Sides::fits(const Pair& pair) const {
  const graph::Layer& layer = model.graph.layers[static_cast<std::size_t>(pair.layer)];
  const StoredLayer& from = stored.layers[pair.stored];
  if (from.weights.size() != layer.weights.size()) return false;
  for (std::size_t i = 0; i < layer.weights.size(); ++i)
    if (from.weights[i].shape() != model.weights[static_cast<std::size_t>(layer.weights[i])].def.shape) return false;
  return true;
}

Pairing by_name(const Sides& sides, const graph::Renames& renames) {
  const auto layer = [&](std::size_t s) -> const StoredLayer& { return sides.stored.layers[s]; };
  const bool named =
      std::any_of(sides.source.begin(), sides.source.end(), [&](std::size_t s) { return layer(s).named; });
  if (!named && !sides.source.empty()) return {{}, "by name", "it does not contain the names of its layers"};
  const Renamer renamed(renames);
  std::map<std::size_t, int> done;
  std::set<int> filled;
  pair_equal(
      sides, [&](std::size_t s) { return renamed(layer(s).full_name()); }, done, filled);
  pair_equal(
      sides, [&](std::size_t s) { return flat(renamed(layer(s).full_name())); }, done, filled);
  pair_equal(
      sides, [&](std::size_t s) { return flat(renamed(layer(s).name)); }, done, filled);
  Pairing result;
  result.how = "by name";
  for (const auto& [s, target] : done) result.pairs.push_back({target, s});
  return result;
}

Pairing by_topology(const Sides& sides, const graph::WeightsSpec& spec) {
  if (!sides.stored.ordered) {
    Pairing result = by_class(sides, sides.target);
    if (!spec.up_to.empty()) result.how += fmt::format(" up to '{}'", spec.up_to);
    return result;
  }
  if (sides.source.size() < sides.target.size() && spec.up_to.empty()) return part_of_graph(sides);
  Pairing result;
  result.how = spec.up_to.empty() ? "by topology" : fmt::format("by topology up to '{}'", spec.up_to);
  // With `up_to` the file may have more layers, such as an unused head.
  if (sides.source.size() < sides.target.size() || (sides.source.size() > sides.target.size() && spec.up_to.empty()))
    result.failure = fmt::format("it has {} with weights, the model {}{}", counted(sides.source.size(), "layer"),
                                 sides.target.size(), spec.up_to.empty() ? "" : fmt::format(" up to '{}'", spec.up_to));
  else
    result.pairs = in_order(sides.target, sides.source);
  return result;
}

Pairing pair_layers(const Sides& sides, const graph::WeightsSpec& spec) {
  if (spec.match == graph::WeightsMatch::kName) return by_name(sides, spec.rename);
  if (spec.match == graph::WeightsMatch::kTopology) return by_topology(sides, spec);
  Pairing named = by_name(sides, spec.rename);
  const std::size_t least = std::min(sides.source.size(), sides.target.size()), found = named.pairs.size();
  if (named.failure.empty() && found == least) return named;
  // Some names may agree by accident, because Keras numbers layers.
  Pairing placed = by_topology(sides, spec);
  if (placed.failure.empty() && all_fit(sides, placed.pairs)) {
    placed.how +=
        named.failure.empty() ? fmt::format(" ({} of {} names agree)", found, least) : " (the file names no layers)";
    return placed;
  }
  if (named.failure.empty() && 2 * found >= least && found > 0) return named;
  if (placed.failure.empty()) return placed;  // the caller lists the shapes that differ
  placed.failure = fmt::format("by name {} of {} layers fit; by topology: {}", found, least, placed.failure);
  placed.pairs.clear();
  return placed;
}

}  // namespace dptrain::formats
