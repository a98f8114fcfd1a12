#include "graph/weights_spec.h"

#include <algorithm>

#include "config/json_fragment.h"
#include "config/schema.h"
#include "core/format.h"
#include "core/text.h"
#include "graph/graph.h"

namespace dptrain::graph {
namespace {

using config::Reader;

/// Finds the node of a step and replaces the step's name by the node's, which is independent of blocks.
bool resolve_up_to(const config::Node& node, const Graph& graph, const StepNames& steps, Reader& reader,
                   std::string& up_to) {
  const auto found = steps.find(up_to);
  if (found == steps.end()) {
    std::vector<std::string> names;
    for (const auto& [name, port] : steps) names.push_back(name);
    reader.error(node, fmt::format("up_to: no step is called '{}'{}", up_to, did_you_mean(up_to, names)));
    return false;
  }
  if (found->second.node < 0) return false;
  up_to = graph.nodes[static_cast<std::size_t>(found->second.node)].name;
  return true;
}

/// Reports a pattern that matches no layer of the model.
bool check_expected(const config::Node& node, const Graph& graph, const std::string& pattern, Reader& reader) {
  std::vector<std::string> names;
  for (const Layer& layer : graph.layers) {
    if (glob_match(pattern, layer.name)) return true;
    names.push_back(layer.name);
  }
  reader.error(node, fmt::format("expect: no layer is called '{}'{}", pattern, did_you_mean(pattern, names)));
  return false;
}

/// The value of a key for locating errors; the whole mapping if the key is missing.
const config::Node& place(const config::Node& node, const char* key) {
  const config::Node* found = node.is_map() ? node.find(key) : nullptr;
  return found != nullptr ? *found : node;
}

}  // namespace

const config::Schema& weights_schema() {
  using config::key;
  static const config::Schema schema =
      config::Schema::of<WeightsSpec>("weights")
          .positional(key("file", &WeightsSpec::file)
                          .required()
                          .doc("path of a `.h5`, `.weights.h5`, `.keras` or `.safetensors` file, relative to the "
                               "config's folder"))
          .key(key("match", &WeightsSpec::match)
                   .doc("how layers are matched: by name, by topology, or auto: the one that fits"))
          .key(key("rename", &WeightsSpec::rename)
                   .doc("`{regular expression: replacement}` for names in the file, applied in order; `$1` or `\\1` "
                        "is a group"))
          .key(key("up_to", &WeightsSpec::up_to)
                   .doc("name of a step: only it and the steps before it get weights; default: all"))
          .key(key("expect", &WeightsSpec::expect).doc("patterns of layers that must get weights"))
          .key(key("ignore", &WeightsSpec::ignore).doc("patterns of layers that keep their initial weights"))
          .key(key("skip_mismatch", &WeightsSpec::skip_mismatch)
                   .doc("whether to skip weights of another shape instead of ending with an error"));
  return schema;
}

std::optional<WeightsSpec> read_weights(const config::Node& raw, const config::Mark& where, const Graph& graph,
                                        const StepNames& steps, Reader& reader) {
  const Reader::Subject subject(reader, "model.weights");
  const config::Node node = reader.substituted(raw);
  if (node.is_null()) return std::nullopt;
  WeightsSpec spec;
  if (!weights_schema().read(node, where, reader, &spec)) return std::nullopt;
  bool good = spec.up_to.empty() || resolve_up_to(place(node, "up_to"), graph, steps, reader, spec.up_to);
  for (const std::string& pattern : spec.expect)
    good = check_expected(place(node, "expect"), graph, pattern, reader) && good;
  return good ? std::optional(std::move(spec)) : std::nullopt;
}

}  // namespace dptrain::graph

namespace dptrain::config {

using graph::Renames;

bool Value<Renames>::read(const Node& node, Reader& reader, Renames& out) {
  out.rules.clear();
  const Node map = reader.substituted(node);
  if (map.is_null()) return true;
  if (!map.is_map()) return reader.expected(map, "a mapping of regular expressions to names"), false;
  bool good = true;
  for (const Node::Entry& entry : map.entries()) {
    const auto name = reader.text(entry.value);
    good = good && name.has_value();
    try {
      const Pattern tried(entry.key);
    } catch (const PatternError& error) {
      reader.error(entry.mark, fmt::format("rename: '{}' is not a regular expression: {}", entry.key, error.what()));
      good = false;
    }
    if (name) out.rules.emplace_back(entry.key, *name);
  }
  return good;
}

Node Value<Renames>::write(const Renames& value) {
  Node map = Node::map();
  for (const auto& [pattern, name] : value.rules) map.set(pattern, Node::text(name));
  return map;
}

Node Value<Renames>::schema() { return detail::map_schema(fragment::types({"string"})); }

}  // namespace dptrain::config
