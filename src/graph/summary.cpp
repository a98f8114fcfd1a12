#include <algorithm>
#include <array>

#include "core/format.h"
#include "core/text.h"
#include "graph/model.h"

namespace dptrain::graph {
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

}  // namespace dptrain::graph
