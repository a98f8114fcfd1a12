#include "export/onnx/transposes.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <numeric>
#include <optional>
#include <set>
#include <utility>
#include <variant>

#include "export/onnx/onnx_builder.h"
#include "export/onnx/sinking.h"

namespace dptrain::exporting::onnx {
namespace {

using Perm = std::vector<std::int64_t>;

bool is_identity(const Perm& perm) {
  for (std::size_t i = 0; i < perm.size(); ++i)
    if (perm[i] != static_cast<std::int64_t>(i)) return false;
  return true;
}

/// One walk over the nodes, from the inputs on.
class Pass {
 public:
  explicit Pass(Graph& graph) : graph_(graph), sinking_(graph) {}

  void run() {
    for (Node& node : graph_.nodes) {
      for (std::string& input : node.inputs) input = real_name(input);
      if (node.op == "Transpose")
        put_transpose(std::move(node));
      else
        put(std::move(node));
    }
    graph_.nodes = std::move(nodes_);
    for (Value& output : graph_.outputs) output.name = real_name(output.name);
  }

 private:
  std::string real_name(const std::string& name) const {
    const auto found = aliases_.find(name);
    return found == aliases_.end() ? name : found->second;
  }

  /// Merges it with the one that it reads, and with an equal one.
  void put_transpose(Node node) {
    Perm perm = std::get<Perm>(*node.find("perm"));
    if (const Node* before = transpose_of(node.inputs[0])) {
      perm = permuted(std::get<Perm>(*before->find("perm")), perm);
      node.inputs[0] = before->inputs[0];
    }
    std::string& known = transposed_[{node.inputs[0], perm}];
    if (is_identity(perm)) {
      aliases_[node.outputs[0]] = node.inputs[0];
    } else if (!known.empty()) {
      aliases_[node.outputs[0]] = known;
    } else {
      known = node.outputs[0];
      node.attributes = {{"perm", perm}};
      keep(std::move(node));
    }
  }

  void put(Node node) {
    std::optional<Sunk> sunk = sinking_.sink(node, [this](const std::string& name) { return transpose_of(name); });
    if (!sunk) return keep(std::move(node));
    for (Node& before : sunk->before) put_transpose(std::move(before));
    for (std::string& input : sunk->node.inputs) input = real_name(input);
    keep(std::move(sunk->node));
    if (sunk->behind) put_transpose(*std::move(sunk->behind));
  }

  void keep(Node node) {
    if (node.op == "Transpose") transposes_[node.outputs[0]] = nodes_.size();
    nodes_.push_back(std::move(node));
  }

  const Node* transpose_of(const std::string& name) const {
    const auto found = transposes_.find(name);
    return found == transposes_.end() ? nullptr : &nodes_[found->second];
  }

  Graph& graph_;
  Sinking sinking_;
  std::vector<Node> nodes_;
  std::map<std::string, std::string> aliases_;
  std::map<std::string, std::size_t> transposes_;  ///< output to place
  std::map<std::pair<std::string, Perm>, std::string> transposed_;
};

void drop_unread(Graph& graph) {
  std::set<std::string> read;
  for (const Value& output : graph.outputs) read.insert(output.name);
  std::vector<Node> kept;
  for (auto node = graph.nodes.rbegin(); node != graph.nodes.rend(); ++node) {
    if (std::ranges::none_of(node->outputs, [&](const std::string& output) { return read.contains(output); })) continue;
    read.insert(node->inputs.begin(), node->inputs.end());
    kept.push_back(std::move(*node));
  }
  graph.nodes.assign(std::make_move_iterator(kept.rbegin()), std::make_move_iterator(kept.rend()));
  std::erase_if(graph.constants, [&](const auto& constant) { return !read.contains(constant.first); });
}

}  // namespace

void cancel_transposes(Graph& graph) {
  for (std::size_t count = graph.nodes.size() + 1; graph.nodes.size() != count;) {
    count = graph.nodes.size();
    Pass(graph).run();
    drop_unread(graph);
  }
}

}  // namespace dptrain::exporting::onnx
