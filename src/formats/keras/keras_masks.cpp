#include "formats/keras/keras_masks.h"

#include <algorithm>
#include <utility>

#include "core/format.h"
#include "formats/keras/keras_layer.h"
#include "graph/masks.h"
#include "nn/attention.h"
#include "nn/layer.h"
#include "nn/reshaping.h"

namespace dptrain::formats {
namespace {

using graph::Mask;
using graph::Port;
using nn::MaskRule;

class MaskPlanner {
 public:
  MaskPlanner(const graph::Graph& graph, const std::map<std::string, KerasCall>& calls, const KerasWriter& writer)
      : graph_(graph), calls_(calls), writer_(writer) {}

  MaskPlan run(const std::vector<KerasModelCall>& model_calls) {
    for (int n = 0; n < static_cast<int>(graph_.nodes.size()); ++n) visit(n);
    if (!model_calls.empty()) check(model_calls);
    if (writer_.attention_removes_masks) warn_of_removed_masks();
    return std::move(result_);
  }

 private:
  const config::Typed& spec_of(const graph::Node& node) const {
    return graph_.layers[static_cast<std::size_t>(node.layer)].spec;
  }
  const nn::LayerType& type_of(const graph::Node& node) const { return nn::type_of(spec_of(node)); }
  MaskRule rule_of(const graph::Node& node) const {
    return type_of(node).mask_rule(spec_of(node).spec(), graph_.layers[static_cast<std::size_t>(node.layer)].inputs);
  }

  void visit(int n) {
    graph::Node& node = graph_.nodes[static_cast<std::size_t>(n)];
    const auto found = calls_.find(node.name);
    KerasCall call = found == calls_.end() ? KerasCall() : found->second;
    if (writer_.merges == MergeMasks::kNone && is_merge(node)) call.is_operator = true;
    const bool old_merge = writer_.merges == MergeMasks::kAllOfMasked && is_merge(node) && !call.is_operator;
    const MaskValue merged = old_merge ? common(node) : MaskValue();
    const std::vector<MaskValue> used = used_masks(node, call);
    if (has_separate_masks(node, call, used))
      refuse_mask(node,
                  "its query and its value are one tensor and have different masks, which dptrain does not support");
    if (!old_merge)
      set_mask(n, used);
    else if (type_of(node).uses_masks)
      set_mask(n, std::vector<MaskValue>(node.inputs.size()));
    else
      set_mask(n, std::vector<MaskValue>(node.inputs.size(), merged));
    keras_.push_back(old_merge ? merged : output_mask(node, call, used));
    ours_.push_back(graph::output_masks(graph_, n, ours_));
  }

  void check(const std::vector<KerasModelCall>& model_calls) {
    std::map<std::string, MaskValue> masks;
    for (int n = 0; n < static_cast<int>(graph_.nodes.size()); ++n) masks[graph::name_of(graph_, n)] = keras_mask(n);
    for (const KerasModelCall& call : model_calls)
      if (masks[call.tensor] != call.mask)
        result_.errors.push_back(
            fmt::format("model '{}' is called with another mask than that of its input '{}', which "
                        "dptrain does not support",
                        call.model, call.tensor));
  }

  /// Whether other readers of the tensor still find its mask depends on the order in which Keras runs the layers.
  void warn_of_removed_masks() {
    std::map<std::pair<int, int>, int> readers;
    for (const graph::Node& node : graph_.nodes)
      for (const Port& input : node.inputs) ++readers[{input.node, input.port}];
    for (const graph::Node& node : graph_.nodes) {
      if (spec_of(node).get_if<nn::MultiHeadAttentionSpec>() == nullptr) continue;
      const auto shared = std::ranges::find_if(node.inputs, [&](const Port& input) {
        return !keras_mask(input).empty() && readers[{input.node, input.port}] > 1;
      });
      if (shared == node.inputs.end()) continue;
      result_.warnings.push_back(fmt::format(
          "MultiHeadAttention '{}' and other layers read '{}', which has a mask. The Keras that wrote the file removes "
          "the mask when '{}' runs; dptrain keeps it, so that layers that use masks can give other values",
          node.name, graph::name_of(graph_, *shared), node.name));
      return;
    }
  }

  /// In Keras only the first output of a layer has a mask.
  const MaskValue& keras_mask(const Port& port) const {
    static const MaskValue none;
    return port.port == 0 ? keras_[static_cast<std::size_t>(port.node)] : none;
  }

  bool is_merge(const graph::Node& node) const {
    static const std::set<std::string> merges{"Add",     "Subtract", "Multiply",   "Average",
                                              "Maximum", "Minimum",  "Concatenate"};
    return merges.contains(spec_of(node).name());
  }
  bool has_initial_state(const graph::Node& node) const {
    return node.inputs.size() > 1 && !keras::layer_form(spec_of(node)).keyword.empty();
  }

  /// The mask that the layer uses for each of its inputs.
  std::vector<MaskValue> used_masks(const graph::Node& node, const KerasCall& call) const {
    std::vector<MaskValue> used(node.inputs.size());
    if (call.is_operator) return used;
    if (!writer_.states_replace_masks || !has_initial_state(node))
      std::ranges::transform(node.inputs, used.begin(), [&](const Port& input) { return keras_mask(input); });
    for (const auto& [keyword, mask] : call.masks)
      if (const std::size_t input = mask_input(keyword); input < used.size()) used[input] = mask;
    return used;
  }
  /// An attention layer that reads one tensor as query, value and key has one mask.
  bool has_separate_masks(const graph::Node& node, const KerasCall& call, const std::vector<MaskValue>& used) const {
    return node.inputs.size() == 1 && std::ranges::any_of(call.masks, [&](const auto& given) {
             return given.first != "mask" && !given.second.empty() && given.second != used.front();
           });
  }

  MaskValue output_mask(const graph::Node& node, const KerasCall& call, const std::vector<MaskValue>& used) const {
    if (call.is_operator) return {};
    switch (rule_of(node)) {
      case MaskRule::kProduces: return produced_mask(node);
      case MaskRule::kPasses:
      case MaskRule::kUnsupported: return used.front().empty() ? keras_mask(node.inputs.front()) : used.front();
      case MaskRule::kJoins: return any_of_all(node);
      case MaskRule::kEnds:
      case MaskRule::kDrops: break;
    }
    return {};
  }

  MaskValue produced_mask(const graph::Node& node) const {
    const std::string input = graph::name_of(graph_, node.inputs.front());
    const auto* masking = spec_of(node).get_if<nn::MaskingSpec>();
    return masking == nullptr ? MaskValue{{input, 0, 0}} : MaskValue{{input, masking->mask_value, 1}};
  }

  MaskValue any_of_all(const graph::Node& node) const {
    MaskValue all;
    for (const Port& input : node.inputs) {
      const MaskValue& one = keras_mask(input);
      if (one.empty()) return {};
      all.insert(one.begin(), one.end());
    }
    return all;
  }

  /// The common mask of all masked inputs.
  MaskValue common(const graph::Node& node) {
    const Port* first = nullptr;
    for (const Port& input : node.inputs) {
      if (keras_mask(input).empty()) continue;
      if (first == nullptr) {
        first = &input;
      } else if (keras_mask(input) != keras_mask(*first)) {
        refuse_mask(node,
                    fmt::format("its inputs '{}' and '{}' have different masks. In Keras 2, which wrote the file, a "
                                "step is then valid if it is valid in both masks, which dptrain cannot compute; set "
                                "mask_zero=False in one of the layers that make the masks",
                                graph::name_of(graph_, *first), graph::name_of(graph_, input)));
        return {};
      }
    }
    return first == nullptr ? MaskValue() : keras_mask(*first);
  }

  void refuse_mask(const graph::Node& node, const std::string& what) {
    result_.errors.push_back(fmt::format("layer '{}' ({}): {}", node.name, spec_of(node).name(), what));
  }

  /// Sets the node's `mask` if dptrain derives masks for its inputs that differ from `expected`.
  void set_mask(int n, const std::vector<MaskValue>& expected) {
    graph::Node& node = graph_.nodes[static_cast<std::size_t>(n)];
    const MaskRule rule = rule_of(node);
    const bool no_use = rule == MaskRule::kEnds || rule == MaskRule::kProduces;
    if (node.inputs.empty() || (no_use && !type_of(node).uses_masks) || agrees(node, expected) ||
        joins_alike(n, expected))
      return;
    const auto first = std::ranges::find_if(expected, [](const MaskValue& one) { return !one.empty(); });
    node.mask = first == expected.end() ? Port(-1) : port_with(*first);
    if (node.mask && agrees(node, expected)) {
      result_.masks.emplace(node.name, node.mask->node < 0 ? "none" : graph::name_of(graph_, *node.mask));
      return;
    }
    node.mask.reset();
    refuse_mask(node,
                "its mask is not made by a layer of the model; remove the mask, or use that of an Embedding with "
                "mask_zero or of a Masking layer");
  }

  bool agrees(const graph::Node& node, const std::vector<MaskValue>& expected) const {
    const std::vector<Mask> ours = graph::input_masks(graph_, node, ours_);
    for (std::size_t i = 0; i < ours.size(); ++i)
      if (ours[i].size() != expected[i].size() || value_of(ours[i]) != expected[i]) return false;
    return true;
  }

  /// Whether a merge that does not use masks gives its output the same one.
  bool joins_alike(int n, const std::vector<MaskValue>& expected) const {
    const graph::Node& node = graph_.nodes[static_cast<std::size_t>(n)];
    if (rule_of(node) != MaskRule::kJoins || type_of(node).uses_masks) return false;
    MaskValue joined;
    for (const MaskValue& one : expected) joined.insert(one.begin(), one.end());
    if (std::ranges::any_of(expected, &MaskValue::empty)) joined.clear();
    const Mask ours = graph::output_masks(graph_, n, ours_).front();
    return ours.size() == joined.size() && value_of(ours) == joined;
  }

  MaskValue value_of(const Mask& mask) const {
    MaskValue all;
    for (const Port& port : mask) all.merge(produced_mask(graph_.nodes[static_cast<std::size_t>(port.node)]));
    return all;
  }

  /// An earlier tensor with this mask, or nothing.
  std::optional<Port> port_with(const MaskValue& value) const {
    for (std::size_t n = 0; n < ours_.size(); ++n)
      for (std::size_t port = 0; port < ours_[n].size(); ++port)
        if (ours_[n][port].size() == value.size() && value_of(ours_[n][port]) == value)
          return Port(static_cast<int>(n), static_cast<int>(port));
    return std::nullopt;
  }

  graph::Graph graph_;
  const std::map<std::string, KerasCall>& calls_;
  const KerasWriter& writer_;
  std::vector<std::vector<Mask>> ours_;  ///< masks that dptrain derives for the outputs of the nodes visited
  std::vector<MaskValue> keras_;         ///< masks that Keras gives their first outputs
  MaskPlan result_;
};

}  // namespace

std::size_t mask_input(const std::string& keyword) {
  return keyword == "value_mask" ? 1 : keyword == "key_mask" ? 2 : 0;
}

MaskPlan plan_masks(const graph::Graph& graph, const std::map<std::string, KerasCall>& calls,
                    const std::vector<KerasModelCall>& model_calls, const KerasWriter& writer) {
  return MaskPlanner(graph, calls, writer).run(model_calls);
}

}  // namespace dptrain::formats
