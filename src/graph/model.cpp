#include "graph/model.h"

#include <algorithm>
#include <array>

#include "core/format.h"
#include "core/quantity.h"
#include "core/random.h"
#include "core/text.h"
#include "nn/initializer.h"
#include "nn/layer.h"

namespace dptrain::graph {
namespace {

std::int64_t elements(const Model& model, bool only_trainable) {
  std::int64_t sum = 0;
  for (const Weight& weight : model.weights)
    if (weight.trainable || !only_trainable) sum += weight.def.shape.elements();
  return sum;
}

}  // namespace

Model undrawn_model(Graph graph, std::uint64_t seed) {
  Model model;
  model.seed = seed;
  for (std::size_t i = 0; i < graph.layers.size(); ++i) {
    Layer& layer = graph.layers[i];
    layer.weights.clear();
    for (nn::WeightDef& def : nn::type_of(layer.spec).weights(layer.spec.spec(), layer.inputs)) {
      layer.weights.push_back(static_cast<int>(model.weights.size()));
      const bool trainable = layer.trainable && def.trainable;
      model.weights.push_back({static_cast<int>(i), std::move(def), trainable, {}});
    }
  }
  model.graph = std::move(graph);
  return model;
}

void draw(Model& model) {
  for (std::size_t i = 0; i < model.weights.size(); ++i)
    if (Weight& weight = model.weights[i]; weight.values.empty())
      weight.values = initialize(weight.def, model.seed, static_cast<std::uint32_t>(i));
}

Model make_model(Graph graph, std::uint64_t seed) {
  Model model = undrawn_model(std::move(graph), seed);
  draw(model);
  return model;
}

std::int64_t Model::parameters() const { return elements(*this, false); }

std::int64_t Model::trainable_parameters() const { return elements(*this, true); }

namespace {

using Row = std::array<std::string, 4>;

std::string keras_shape(const Shape& shape) {
  std::string text = "(None";
  for (const std::int64_t extent : shape.dims()) text += ", " + std::to_string(extent);
  return text + ")";
}

std::string keras_shapes(const Node& node) {
  std::vector<std::string> shapes;
  for (const nn::OutputDef& output : node.outputs)
    if (!output.is_mask) shapes.push_back(keras_shape(output.shape));
  if (shapes.size() == 1) return shapes.front();
  return "[" + join(shapes, ", ") + "]";
}

std::string totals(const char* what, std::int64_t count) {
  return fmt::format("{}: {} ({})\n", what, with_commas(count),
                     human_bytes(static_cast<std::uint64_t>(count) * sizeof(float)));
}

Row text_row(const SummaryRow& row) {
  std::string title = fmt::format("{} ({})", row.name, row.type);
  if (row.calls > 1) title += fmt::format(" shared x{}", row.calls);
  if (row.frozen) title += " frozen";
  return {title, row.shape, with_commas(row.parameters), row.inputs};
}

}  // namespace

std::vector<SummaryRow> summary_rows(const Model& model) {
  const Graph& graph = model.graph;
  std::vector<SummaryRow> all(graph.layers.size());
  for (const Node& node : graph.nodes) {
    SummaryRow& row = all[static_cast<std::size_t>(node.layer)];
    ++row.calls;
    row.shape = keras_shapes(node);
    for (const Port& input : node.inputs) row.inputs += (row.inputs.empty() ? "" : ", ") + name_of(graph, input);
  }
  for (std::size_t i = 0; i < all.size(); ++i) {
    const Layer& layer = graph.layers[i];
    for (const int weight : layer.weights)
      all[i].parameters += model.weights[static_cast<std::size_t>(weight)].def.shape.elements();
    all[i].name = layer.name;
    all[i].type = layer.spec.name();
    all[i].frozen = !layer.trainable && !layer.weights.empty();
  }
  return all;
}

std::string summary(const Model& model) {
  const Row head{"Layer (type)", "Output Shape", "Param #", "Connected to"};
  std::vector<Row> body;
  for (const SummaryRow& row : summary_rows(model)) body.push_back(text_row(row));
  std::array<std::size_t, 3> width{};
  for (std::size_t c = 0; c < width.size(); ++c) {
    width[c] = head[c].size();
    for (const Row& row : body) width[c] = std::max(width[c], row[c].size());
  }
  const auto line = [&](const Row& row) {
    std::string text =
        fmt::format("{:<{}}  {:<{}}  {:>{}}  {}", row[0], width[0], row[1], width[1], row[2], width[2], row[3]);
    text.erase(text.find_last_not_of(' ') + 1);
    return text + "\n";
  };
  const std::string rule(width[0] + width[1] + width[2] + 6 + head[3].size(), '-');
  std::string text = fmt::format("Model: {}\n{}\n{}{}\n", model.graph.name, rule, line(head), rule);
  for (const Row& row : body) text += line(row);
  const std::int64_t all = model.parameters(), trainable = model.trainable_parameters();
  return text + rule + "\n" + totals("Total params", all) + totals("Trainable params", trainable) +
         totals("Non-trainable params", all - trainable);
}

namespace {

/// Category of a layer, derived from its weights and shapes instead of a list of layer types.
struct Kind {
  const char* what;
  const char* fill;
};
constexpr std::array kKinds{Kind{"input", "#dfe3e8"},           Kind{"kernels", "#bcd7f2"},
                            Kind{"matrices", "#cfe8c9"},        Kind{"scales and statistics", "#fbe3a8"},
                            Kind{"joins inputs", "#f6cdb5"},    Kind{"changes the shape", "#e3d3ee"},
                            Kind{"keeps the shape", "#ffffff"}, Kind{"frozen", "#e9e9e9"}};
enum : std::size_t { kInput, kKernels, kMatrices, kScales, kJoins, kChanges, kKeeps, kFrozen };

/// "28 x 28 x 32"
std::string size_text(const Shape& shape) {
  std::vector<std::string> extents;
  for (const std::int64_t extent : shape.dims()) extents.push_back(with_commas(extent));
  return extents.empty() ? "scalar" : join(extents, " x ");
}

class DotText {
 public:
  explicit DotText(const Model& model) : model_(model), graph_(model.graph) {}

  std::string text() {
    for (std::size_t i = 0; i < graph_.nodes.size(); ++i) kinds_.push_back(kind_of(graph_.nodes[i]));
    text_ = fmt::format(
        "digraph {{\n"
        "  graph [label=<{}>, labelloc=t, fontname=\"Helvetica,Arial,sans-serif\", fontsize=14, nodesep=0.3, "
        "ranksep=0.35];\n"
        "  node [shape=box, style=\"rounded,filled\", color=\"#7b858f\", fontname=\"Helvetica,Arial,sans-serif\", "
        "fontsize=12, margin=\"0.16,0.07\"];\n"
        "  edge [color=\"#5d656d\", arrowsize=0.7, fontname=\"Helvetica,Arial,sans-serif\", fontsize=10];\n",
        title());
    std::vector<std::size_t> all(graph_.nodes.size());
    for (std::size_t i = 0; i < all.size(); ++i) all[i] = i;
    nodes(all, 0);
    edges();
    return text_ + "}\n";
  }

 private:
  const nn::WeightDef& weight(int index) const { return model_.weights[static_cast<std::size_t>(index)].def; }

  std::size_t kind_of(const Node& node) const {
    const Layer& layer = layer_of(graph_, node);
    if (node.inputs.empty()) return kInput;
    if (!layer.weights.empty()) {
      if (!layer.trainable) return kFrozen;
      int rank = 0;
      for (const int index : layer.weights) rank = std::max(rank, static_cast<int>(weight(index).shape.rank()));
      return rank >= 3 ? kKernels : rank == 2 ? kMatrices : kScales;
    }
    if (node.inputs.size() > 1) return kJoins;
    return tensor_of(graph_, node.inputs.front()).shape == node.output() ? kKeeps : kChanges;
  }

  std::string title() const {
    std::string cells;
    std::size_t count = 0;
    for (std::size_t kind = 0; kind < kKinds.size(); ++kind)
      if (std::ranges::find(kinds_, kind) != kinds_.end()) {
        cells += fmt::format("<td bgcolor=\"{}\" border=\"1\" color=\"#7b858f\"><font point-size=\"10\">{}</font></td>",
                             kKinds[kind].fill, kKinds[kind].what);
        ++count;
      }
    const auto row = [&](const std::string& text) {
      return fmt::format("<tr><td colspan=\"{}\">{}</td></tr>", std::max<std::size_t>(1, count), text);
    };
    return fmt::format("<table border=\"0\" cellborder=\"0\" cellspacing=\"4\">{}{}<tr>{}</tr></table>",
                       row(fmt::format("<font point-size=\"17\"><b>{}</b></font>", xml_text(graph_.name))),
                       row(counted(model_.parameters(), "parameter")), cells.empty() ? "<td></td>" : cells);
  }

  std::string label(const Node& node) const {
    const Layer& layer = layer_of(graph_, node);
    std::string text = fmt::format("<b>{}</b><br/>{}", xml_text(node.name), xml_text(layer.spec.name()));
    if (node.name != layer.name || node.call > 0) text += fmt::format(" (weights of {})", xml_text(layer.name));
    for (const nn::OutputDef& output : node.outputs)
      if (!output.is_mask)
        text +=
            fmt::format("<br/>{}{}{}", xml_text(output.name), output.name.empty() ? "" : " ", size_text(output.shape));
    std::int64_t count = 0;
    for (const int index : layer.weights) count += weight(index).shape.elements();
    if (count > 0 && node.call == 0) text += "<br/>" + counted(count, "parameter");
    if (!node.device.empty()) text += "<br/>on slot " + xml_text(node.device);
    return text;
  }

  /// Writes the `members` that are in at most `depth` blocks, and a cluster per deeper block, in node order.
  void nodes(const std::vector<std::size_t>& members, std::size_t depth) {
    std::vector<std::pair<BlockUse, std::vector<std::size_t>>> clusters;
    const std::string indent(2 * depth + 2, ' ');
    for (const std::size_t i : members) {
      const Node& node = graph_.nodes[i];
      if (node.blocks.size() > depth) {
        const auto of = std::ranges::find_if(clusters, [&](const auto& c) { return c.first == node.blocks[depth]; });
        if (of == clusters.end())
          clusters.push_back({node.blocks[depth], {i}});
        else
          of->second.push_back(i);
        continue;
      }
      const bool output =
          std::ranges::any_of(graph_.outputs, [&](const Port& port) { return port.node == static_cast<int>(i); });
      text_ += fmt::format("{}n{} [label=<{}>, fillcolor=\"{}\"{}];\n", indent, i, label(node), kKinds[kinds_[i]].fill,
                           output ? ", penwidth=2.2" : "");
    }
    for (const auto& [use, inside] : clusters) {
      text_ += fmt::format(
          "{0}subgraph cluster_{1} {{\n{0}  label=<{2}>; labeljust=l; fontsize=11; fontcolor=\"#5d656d\"; "
          "style=\"rounded,filled\"; color=\"#c3c9cf\"; fillcolor=\"{3}\";\n",
          indent, clusters_++,
          use.name.empty() ? xml_text(use.type) : fmt::format("<b>{}</b> ({})", xml_text(use.name), xml_text(use.type)),
          depth % 2 == 0 ? "#f5f6f8" : "#ebedf0");
      nodes(inside, depth + 1);
      text_ += indent + "}\n";
    }
  }

  void edges() {
    for (std::size_t i = 0; i < graph_.nodes.size(); ++i)
      for (const Port& input : graph_.nodes[i].inputs)
        text_ += fmt::format("  n{} -> n{}{};\n", input.node, i,
                             input.port == 0 ? "" : fmt::format(" [label=\"{}\"]", tensor_of(graph_, input).name));
  }

  const Model& model_;
  const Graph& graph_;
  std::vector<std::size_t> kinds_;  // per node
  std::string text_;
  int clusters_ = 0;
};

}  // namespace

std::string to_dot(const Model& model) { return DotText(model).text(); }

void initialize(const nn::WeightDef& weight, std::uint64_t seed, std::uint32_t index, std::span<float> values) {
  RandomStream stream(seed, static_cast<std::uint32_t>(Purpose::kInitializer) + index);
  if (weight.parts.empty()) return nn::fill(weight.initializer, weight.shape, stream, values);
  for (const nn::WeightPart& part : weight.parts) {
    nn::fill(part.initializer, {part.elements}, stream, values.first(static_cast<std::size_t>(part.elements)));
    values = values.subspan(static_cast<std::size_t>(part.elements));
  }
}

std::vector<float> initialize(const nn::WeightDef& weight, std::uint64_t seed, std::uint32_t index) {
  std::vector<float> values(static_cast<std::size_t>(weight.shape.elements()));
  initialize(weight, seed, index, values);
  return values;
}

}  // namespace dptrain::graph
