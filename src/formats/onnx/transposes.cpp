#include "formats/onnx/transposes.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <utility>
#include <variant>

#include "core/format.h"
#include "formats/onnx/onnx_builder.h"

namespace dptrain::formats::onnx {
namespace {

/// Elementwise ops, which broadcast extents of 1.
const std::set<std::string> kElementwise{
    "Abs",         "Add",      "And",       "Cast",       "Clip",    "Div",
    "Elu",         "Equal",    "Erf",       "Exp",        "Greater", "GreaterOrEqual",
    "HardSigmoid", "Identity", "LeakyRelu", "Max",        "Min",     "Mul",
    "Not",         "Or",       "PRelu",     "Reciprocal", "Relu",    "Selu",
    "Sigmoid",     "Softplus", "Softsign",  "Sqrt",       "Sub",     "Tanh",
    "Where"};

const std::vector<std::int64_t>& perm_of(const Node& transpose) {
  return std::get<std::vector<std::int64_t>>(*transpose.find("perm"));
}

std::vector<std::int64_t> inverse(const std::vector<std::int64_t>& perm) {
  std::vector<std::int64_t> back(perm.size());
  for (std::size_t i = 0; i < perm.size(); ++i) back[static_cast<std::size_t>(perm[i])] = static_cast<std::int64_t>(i);
  return back;
}

/// Converts axes of a Transpose's output to those of its input.
std::vector<std::int64_t> axes_before(std::vector<std::int64_t> axes, const std::vector<std::int64_t>& perm) {
  for (std::int64_t& axis : axes)
    axis = perm[static_cast<std::size_t>(axis < 0 ? axis + static_cast<std::int64_t>(perm.size()) : axis)];
  return axes;
}

/// Elements of one sample.
std::int64_t size_of(const Dims& dims) {
  std::int64_t all = 1;
  for (const std::int64_t extent : dims) all *= extent < 0 ? 1 : extent;
  return all;
}

void set(Node& node, const std::string& name, AttributeValue value) {
  for (Attribute& attribute : node.attributes)
    if (attribute.name == name) attribute.value = std::move(value);
}

}  // namespace

TransposeSinking::TransposeSinking(Graph& graph) : graph_(graph) {}

std::optional<SunkNode> TransposeSinking::sink(const Node& node, const TransposeOf& transpose_of) {
  if (kElementwise.contains(node.op)) return elementwise(node, transpose_of);
  if (node.op == "Concat") return concat(node, transpose_of);
  if (node.inputs.empty()) return std::nullopt;
  const Node* transpose = transpose_of(node.inputs[0]);
  if (transpose == nullptr) return std::nullopt;
  if (node.op.starts_with("Reduce")) return reduction(node, *transpose);
  if (node.op == "Pad") return pad(node, *transpose);
  if (node.op == "Slice") return slice(node, *transpose);
  if (node.op == "Softmax" || node.op == "LogSoftmax") return softmax(node, *transpose);
  if (node.op == "Reshape") return reshape(node, *transpose);
  return std::nullopt;
}

std::optional<SunkNode> TransposeSinking::elementwise(const Node& node, const TransposeOf& transpose_of) {
  const Perm* perm = nullptr;
  std::int64_t size = 0;
  for (const std::string& input : node.inputs)
    if (const Node* transpose = transpose_of(input)) {
      if (perm != nullptr && perm_of(*transpose) != *perm) return std::nullopt;
      perm = &perm_of(*transpose);
      if (const Dims* dims = dims_of(input)) size = std::max(size, size_of(*dims));
    }
  if (perm == nullptr) return std::nullopt;
  std::vector<Node> before;
  std::vector<std::string> inputs;
  for (const std::string& input : node.inputs) {
    if (const Node* transpose = transpose_of(input)) {
      inputs.push_back(transpose->inputs[0]);
    } else if (input.empty()) {
      inputs.push_back(input);
    } else if (graph_.constants.contains(input)) {
      inputs.push_back(permuted_constant(input, *perm));
      if (inputs.back().empty()) return std::nullopt;
    } else {  // only worth it if the other input is smaller
      const Dims* dims = dims_of(input);
      if (dims == nullptr || dims->size() != perm->size() || size_of(*dims) >= size) return std::nullopt;
      const Perm back = inverse(*perm);
      inputs.push_back(fmt::format("{}/turned_{}", node.outputs[0], ++count_));
      graph_.dims[inputs.back()] = permuted(*dims, back);
      before.push_back({"Transpose", inputs.back(), {input}, {inputs.back()}, {{"perm", back}}});
    }
  }
  SunkNode sunk = after(node, *perm, std::move(inputs));
  sunk.before = std::move(before);
  return sunk;
}

std::optional<SunkNode> TransposeSinking::concat(const Node& node, const TransposeOf& transpose_of) {
  const Perm* perm = nullptr;
  std::vector<std::string> inputs;
  for (const std::string& input : node.inputs) {
    const Node* transpose = transpose_of(input);
    if (transpose == nullptr || (perm != nullptr && perm_of(*transpose) != *perm)) return std::nullopt;
    perm = &perm_of(*transpose);
    inputs.push_back(transpose->inputs[0]);
  }
  if (perm == nullptr) return std::nullopt;
  SunkNode sunk = after(node, *perm, std::move(inputs));
  set(sunk.node, "axis", axes_before({std::get<std::int64_t>(*node.find("axis"))}, *perm)[0]);
  return sunk;
}

std::optional<SunkNode> TransposeSinking::reduction(const Node& node, const Node& transpose) {
  const Perm& perm = perm_of(transpose);
  const auto* attribute = node.find("axes");
  const std::vector<std::int64_t>* axes = attribute != nullptr     ? std::get_if<std::vector<std::int64_t>>(attribute)
                                          : node.inputs.size() > 1 ? integers_of(node.inputs[1])
                                                                   : nullptr;
  if (axes == nullptr) return std::nullopt;
  const std::vector<std::int64_t> reduced = axes_before(*axes, perm);
  Perm rest = perm;  // permutation of the output
  if (std::get<std::int64_t>(*node.find("keepdims")) == 0) {
    const auto gone = [&](std::int64_t axis) { return std::ranges::find(reduced, axis) != reduced.end(); };
    std::erase_if(rest, gone);
    Perm sorted = rest;
    std::ranges::sort(sorted);
    for (std::int64_t& axis : rest) axis = std::ranges::lower_bound(sorted, axis) - sorted.begin();
  }
  std::vector<std::string> inputs{transpose.inputs[0]};
  if (attribute == nullptr) inputs.push_back(integers(reduced));
  SunkNode sunk = after(node, rest, std::move(inputs));
  set(sunk.node, "axes", reduced);
  return sunk;
}

std::optional<SunkNode> TransposeSinking::pad(const Node& node, const Node& transpose) {
  const Perm& perm = perm_of(transpose);
  const std::vector<std::int64_t>* pads = integers_of(node.inputs[1]);
  if (pads == nullptr || node.inputs.size() > 2) return std::nullopt;
  std::vector<std::int64_t> moved(pads->size());
  for (std::size_t i = 0; i < perm.size(); ++i) {
    const auto to = static_cast<std::size_t>(perm[i]);
    moved[to] = (*pads)[i];
    moved[perm.size() + to] = (*pads)[perm.size() + i];
  }
  return after(node, perm, {transpose.inputs[0], integers(moved)});
}

std::optional<SunkNode> TransposeSinking::slice(const Node& node, const Node& transpose) {
  if (node.inputs.size() < 4) return std::nullopt;
  const std::vector<std::int64_t>* axes = integers_of(node.inputs[3]);
  if (axes == nullptr) return std::nullopt;
  std::vector<std::string> inputs = node.inputs;
  inputs[0] = transpose.inputs[0];
  inputs[3] = integers(axes_before(*axes, perm_of(transpose)));
  return after(node, perm_of(transpose), std::move(inputs));
}

std::optional<SunkNode> TransposeSinking::softmax(const Node& node, const Node& transpose) {
  SunkNode sunk = after(node, perm_of(transpose), {transpose.inputs[0]});
  set(sunk.node, "axis", axes_before({std::get<std::int64_t>(*node.find("axis"))}, perm_of(transpose))[0]);
  return sunk;
}

/// A Transpose that moves only extents of 1 leaves the values in place.
std::optional<SunkNode> TransposeSinking::reshape(const Node& node, const Node& transpose) {
  const Dims* dims = dims_of(node.inputs[0]);
  if (dims == nullptr) return std::nullopt;
  std::int64_t last = -1;
  for (std::size_t i = 0; i < dims->size(); ++i) {
    if ((*dims)[i] == 1) continue;
    const std::int64_t from = perm_of(transpose)[i];
    if (from < last) return std::nullopt;
    last = from;
  }
  // A 0 copies the extent at its own position, which the Transpose must not have moved.
  const std::vector<std::int64_t>* shape = integers_of(node.inputs[1]);
  for (std::size_t i = 0; shape != nullptr && i < shape->size(); ++i)
    if ((*shape)[i] == 0 && perm_of(transpose)[i] != static_cast<std::int64_t>(i)) return std::nullopt;
  SunkNode sunk{.node = node};
  sunk.node.inputs[0] = transpose.inputs[0];
  return sunk;
}

SunkNode TransposeSinking::after(const Node& node, const Perm& perm, std::vector<std::string> inputs) {
  const std::string out = node.outputs[0], inner = fmt::format("{}/sunk_{}", out, ++count_);
  SunkNode sunk{.node = node};
  sunk.node.inputs = std::move(inputs);
  bool same = true;
  for (std::size_t i = 0; i < perm.size(); ++i) same = same && perm[i] == static_cast<std::int64_t>(i);
  if (same) return sunk;
  sunk.node.outputs = {inner};
  if (const Dims* dims = dims_of(out)) graph_.dims[inner] = permuted(*dims, inverse(perm));
  sunk.after = Node{"Transpose", out + "/Transpose", {inner}, {out}, {{"perm", perm}}};
  return sunk;
}

std::string TransposeSinking::permuted_constant(const std::string& name, const Perm& perm) {
  const Constant& constant = graph_.constants.at(name);
  if (size_of(constant.dims) == 1 && constant.dims.size() <= 1) return name;
  const auto* values = std::get_if<std::vector<float>>(&constant.values);
  if (values == nullptr || constant.dims.size() > perm.size()) return "";
  Dims dims(perm.size() - constant.dims.size(), 1);
  dims.insert(dims.end(), constant.dims.begin(), constant.dims.end());
  const Perm back = inverse(perm);
  std::string made = name + "/turned";
  for (const std::int64_t axis : back) made += fmt::format("_{}", axis);
  if (!graph_.constants.contains(made))
    graph_.constants[made] = {permuted(dims, back), permuted(std::span<const float>(*values), dims, back)};
  return made;
}

std::string TransposeSinking::integers(const std::vector<std::int64_t>& values) {
  std::string name = "integers";
  for (const std::int64_t value : values) name += fmt::format("/{}", value);
  if (!graph_.constants.contains(name)) graph_.constants[name] = {{static_cast<std::int64_t>(values.size())}, values};
  return name;
}

const std::vector<std::int64_t>* TransposeSinking::integers_of(const std::string& name) const {
  const auto found = graph_.constants.find(name);
  return found == graph_.constants.end() ? nullptr : std::get_if<std::vector<std::int64_t>>(&found->second.values);
}

const Dims* TransposeSinking::dims_of(const std::string& name) const {
  const auto found = graph_.dims.find(name);
  return found == graph_.dims.end() ? nullptr : &found->second;
}

namespace {

using Perm = std::vector<std::int64_t>;

bool is_identity(const Perm& perm) {
  for (std::size_t i = 0; i < perm.size(); ++i)
    if (perm[i] != static_cast<std::int64_t>(i)) return false;
  return true;
}

/// One pass over the nodes, from the inputs on.
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

  /// Merges it with the Transpose that it reads, and with an equal one.
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
    std::optional<SunkNode> sunk = sinking_.sink(node, [this](const std::string& name) { return transpose_of(name); });
    if (!sunk) return keep(std::move(node));
    for (Node& before : sunk->before) put_transpose(std::move(before));
    for (std::string& input : sunk->node.inputs) input = real_name(input);
    keep(std::move(sunk->node));
    if (sunk->after) put_transpose(*std::move(sunk->after));
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
  TransposeSinking sinking_;
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

}  // namespace dptrain::formats::onnx
