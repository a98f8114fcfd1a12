#include <algorithm>
#include <array>

#include "core/format.h"
#include "core/text.h"
#include "graph/model.h"

namespace dptrain::graph {
namespace {

using Row = std::array<std::string, 4>;

/// "(None, 28, 28, 1)": Keras counts the batch.
std::string keras_shape(const Shape& shape) {
  std::string text = "(None";
  for (const std::int64_t extent : shape.dims()) text += ", " + std::to_string(extent);
  return text + ")";
}

/// Of several outputs as Keras shows them: "[(None, 8), (None, 4)]".
std::string keras_shapes(const Node& node) {
  std::vector<std::string> shapes;
  for (const layers::OutputDef& output : node.outputs)
    if (!output.is_mask) shapes.push_back(keras_shape(output.shape));
  if (shapes.size() == 1) return shapes.front();
  return "[" + join(shapes, ", ") + "]";
}

std::string totals(const char* what, std::int64_t count) {
  return fmt::format("{}: {} ({})\n", what, with_commas(count),
                     human_bytes(static_cast<std::uint64_t>(count) * sizeof(float)));
}

/// One row per layer, as in Keras; the calls of a shared layer are gathered in it.
std::vector<Row> rows(const Model& model) {
  const Graph& graph = model.graph;
  std::vector<Row> all(graph.layers.size());
  std::vector<int> calls(graph.layers.size(), 0);
  for (const Node& node : graph.nodes) {
    Row& row = all[static_cast<std::size_t>(node.layer)];
    ++calls[static_cast<std::size_t>(node.layer)];
    row[1] = keras_shapes(node);
    for (const Port& input : node.inputs) row[3] += (row[3].empty() ? "" : ", ") + name_of(graph, input);
  }
  for (std::size_t i = 0; i < all.size(); ++i) {
    const Layer& layer = graph.layers[i];
    std::int64_t count = 0;
    for (const int weight : layer.weights)
      count += model.weights[static_cast<std::size_t>(weight)].def.shape.elements();
    all[i][0] = fmt::format("{} ({})", layer.name, layer.spec.name());
    if (calls[i] > 1) all[i][0] += fmt::format(" shared x{}", calls[i]);
    if (!layer.trainable && !layer.weights.empty()) all[i][0] += " frozen";
    all[i][2] = with_commas(count);
  }
  return all;
}

}  // namespace

std::string summary(const Model& model) {
  const Row head{"Layer (type)", "Output Shape", "Param #", "Connected to"};
  const std::vector<Row> body = rows(model);
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
