#include "plan/prefix.h"

#include <algorithm>

#include "core/format.h"
#include "layers/input.h"
#include "layers/layer.h"
#include "plan/stages.h"

namespace dptrain::plan {
namespace {

class PrefixFinder {
 public:
  explicit PrefixFinder(const graph::Model& model)
      : model_(model), graph_(model.graph), used_(graph_.nodes.size(), false), inside_(graph_.nodes.size(), false) {}

  FrozenPrefix run() {
    find_used();
    for (int n = 0; n <= last_index(graph_.nodes.size()); ++n) inside_[at(n)] = used_[at(n)] && belongs(n);
    std::vector<int> border = find_border();
    while (give_back(border)) border = find_border();
    return describe(std::move(border));
  }

 private:
  const graph::Layer& layer_of(int n) const { return graph_.layers[at(graph_.nodes[at(n)].layer)]; }
  bool is_input(int n) const { return layer_of(n).spec.get_if<layers::InputSpec>() != nullptr; }
  std::int64_t elements(int n) const { return graph_.nodes[at(n)].output.elements(); }

  /// Nodes that an output depends on.
  void find_used() {
    for (const int n : graph_.outputs) used_[at(n)] = true;
    for (int n = last_index(graph_.nodes.size()); n >= 0; --n)
      if (used_[at(n)])
        for (const int input : graph_.nodes[at(n)].inputs) used_[at(input)] = true;
  }

  /// Weights that training changes: trainable ones and the statistics of a layer that is not frozen.
  bool trains(int n) const { return layer_of(n).trainable && !layer_of(n).weights.empty(); }
  bool is_random(int n) const { return layers::type_of(layer_of(n).spec).is_random; }
  bool belongs(int n) const {
    const std::vector<int>& inputs = graph_.nodes[at(n)].inputs;
    return !trains(n) && !is_random(n) && std::ranges::all_of(inputs, [&](int input) { return inside_[at(input)]; });
  }

  std::vector<int> find_border() const {
    std::vector<bool> read(graph_.nodes.size(), false);
    for (int n = 0; n <= last_index(graph_.nodes.size()); ++n)
      if (used_[at(n)] && !inside_[at(n)])
        for (const int input : graph_.nodes[at(n)].inputs) read[at(input)] = read[at(input)] || inside_[at(input)];
    for (const int n : graph_.outputs) read[at(n)] = read[at(n)] || inside_[at(n)];
    std::vector<int> border;
    for (int n = 0; n <= last_index(read.size()); ++n)
      if (read[at(n)]) border.push_back(n);
    return border;
  }

  /// A layer without weights at the border that only makes tensors larger (ZeroPadding2D, UpSampling2D) is cheaper to
  /// run again than to keep. True: there was one.
  bool give_back(const std::vector<int>& border) {
    for (const int n : border) {
      if (is_input(n) || !layer_of(n).weights.empty()) continue;
      std::int64_t reads = 0;
      for (const int input : graph_.nodes[at(n)].inputs) reads += elements(input);
      if (reads >= elements(n)) continue;
      inside_[at(n)] = false;
      return true;
    }
    return false;
  }

  FrozenPrefix describe(std::vector<int> border) const {
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
    for (const int n : border) prefix.elements += elements(n);
    prefix.border = std::move(border);
    return prefix;
  }

  /// The first node that ended it, in words.
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
};

}  // namespace

FrozenPrefix frozen_prefix(const graph::Model& model) { return PrefixFinder(model).run(); }

}  // namespace dptrain::plan
