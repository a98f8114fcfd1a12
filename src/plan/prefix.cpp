#include "plan/prefix.h"

#include <algorithm>
#include <set>
#include <utility>

#include "core/format.h"
#include "graph/masks.h"
#include "nn/layer.h"
#include "nn/reshaping.h"
#include "plan/stages.h"

namespace dptrain::plan {
namespace {

using graph::Port;

class PrefixFinder {
 public:
  explicit PrefixFinder(const graph::Model& model)
      : model_(model),
        graph_(model.graph),
        used_(graph_.nodes.size(), false),
        inside_(graph_.nodes.size(), false),
        masks_(graph::masks(graph_)) {}

  FrozenPrefix run() {
    find_used();
    for (int n = 0; n <= last_index(graph_.nodes.size()); ++n) inside_[at(n)] = used_[at(n)] && belongs(n);
    std::vector<Port> border = find_border();
    while (give_back(border)) border = find_border();
    return describe(std::move(border));
  }

 private:
  const graph::Layer& layer_of(int n) const { return graph_.layers[at(graph_.nodes[at(n)].layer)]; }
  bool is_input(int n) const { return layer_of(n).spec.get_if<nn::InputSpec>() != nullptr; }
  std::int64_t elements(const Port& port) const { return graph::tensor_of(graph_, port).shape.elements(); }

  void find_used() {
    for (const Port& output : graph_.outputs) used_[at(output.node)] = true;
    for (int n = last_index(graph_.nodes.size()); n >= 0; --n)
      if (used_[at(n)])
        for (const Port& input : graph_.nodes[at(n)].inputs) used_[at(input.node)] = true;
  }

  /// Whether training changes weights of the node: trainable ones or statistics of a layer that is not frozen.
  bool trains(int n) const {
    return layer_of(n).trainable && std::ranges::any_of(layer_of(n).weights, [&](int weight) {
             return !model_.weights[at(weight)].def.constant;
           });
  }
  bool is_random(int n) const { return nn::is_random(layer_of(n).spec); }
  bool belongs(int n) const {
    const std::vector<Port>& inputs = graph_.nodes[at(n)].inputs;
    const auto is_inside = [&](const Port& port) { return inside_[at(port.node)]; };
    return !trains(n) && !is_random(n) && std::ranges::all_of(inputs, is_inside) &&
           std::ranges::all_of(graph::input_masks(graph_, graph_.nodes[at(n)], masks_),
                               [&](const graph::Mask& mask) { return std::ranges::all_of(mask, is_inside); });
  }

  std::vector<Port> find_border() const {
    std::set<std::pair<int, int>> read;
    const auto reads = [&](const Port& port) {
      if (inside_[at(port.node)]) read.emplace(port.node, port.port);
    };
    for (int n = 0; n <= last_index(graph_.nodes.size()); ++n)
      if (used_[at(n)] && !inside_[at(n)]) {
        std::ranges::for_each(graph_.nodes[at(n)].inputs, reads);
        if (!nn::type_of(layer_of(n).spec).uses_masks) continue;
        for (const graph::Mask& mask : graph::input_masks(graph_, graph_.nodes[at(n)], masks_))
          std::ranges::for_each(mask, reads);
      }
    for (const Port& output : graph_.outputs) {
      reads(output);
      std::ranges::for_each(masks_[at(output.node)][at(output.port)], reads);
    }
    std::vector<Port> border;
    for (const auto& [node, port] : read) border.emplace_back(node, port);
    return border;
  }

  /// Moves one layer out of the prefix if it has no weights and its output is larger than its inputs (ZeroPadding2D,
  /// UpSampling2D): recomputing it is cheaper than storing its output. Returns whether it did.
  bool give_back(const std::vector<Port>& border) {
    for (const Port& port : border) {
      const int n = port.node;
      if (is_input(n) || !layer_of(n).weights.empty()) continue;
      std::int64_t reads = 0;
      for (const Port& input : graph_.nodes[at(n)].inputs) reads += elements(input);
      if (reads >= elements(port)) continue;
      inside_[at(n)] = false;
      return true;
    }
    return false;
  }

  FrozenPrefix describe(std::vector<Port> border) const {
    FrozenPrefix prefix;
    std::vector<bool> counted(graph_.layers.size(), false);
    for (int n = 0; n <= last_index(graph_.nodes.size()); ++n) {
      const int layer = graph_.nodes[at(n)].layer;
      if (!inside_[at(n)] || is_input(n) || counted[at(layer)]) continue;
      counted[at(layer)] = true;
      ++prefix.layers;
      for (const int w : graph_.layers[at(layer)].weights) prefix.weights += model_.weights[at(w)].def.shape.elements();
    }
    prefix.ends = what_follows();
    if (prefix.weights == 0)
      prefix.none = prefix.ends.empty() ? "no layer has weights" : "no frozen layer comes before " + prefix.ends;
    else if (std::ranges::none_of(model_.weights, [](const graph::Weight& weight) { return weight.trainable; }))
      prefix.none = "nothing trains";
    if (!prefix.none.empty()) return prefix;
    for (const Port& port : border) prefix.elements += elements(port);
    prefix.border = std::move(border);
    return prefix;
  }

  /// Describes the first node after the prefix.
  std::string what_follows() const {
    for (int n = 0; n <= last_index(graph_.nodes.size()); ++n) {
      if (!used_[at(n)] || inside_[at(n)]) continue;
      const std::string& name = graph_.nodes[at(n)].name;
      if (trains(n)) return fmt::format("'{}', which trains", name);
      if (is_random(n)) return fmt::format("'{}', which is random", name);
    }
    return "";
  }

  const graph::Model& model_;
  const graph::Graph& graph_;
  std::vector<bool> used_, inside_;
  const std::vector<std::vector<graph::Mask>> masks_;
};

}  // namespace

FrozenPrefix frozen_prefix(const graph::Model& model) { return PrefixFinder(model).run(); }

}  // namespace dptrain::plan
