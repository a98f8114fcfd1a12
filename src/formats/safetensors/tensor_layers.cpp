#include "formats/safetensors/tensor_layers.h"

#include <algorithm>
#include <array>
#include <map>
#include <tuple>

#include <nlohmann/json.hpp>

#include "core/format.h"
#include "core/json_depth.h"
#include "core/text.h"
#include "graph/definitions.h"

namespace dptrain::formats {
namespace {

constexpr std::size_t kNowhere = 1000;

template <std::size_t N>
std::size_t place_in(const std::array<const char*, N>& words, const std::string& word) {
  const auto found = std::ranges::find(words, word);
  return found == words.end() ? kNowhere : static_cast<std::size_t>(found - words.begin());
}

/// Parts of a layer that Keras names between the layer and its weight, in the order of their weights.
std::size_t place_of_part(const std::string& part) {
  static constexpr std::array<const char*, 4> kProjections{"query", "key", "value", "attention_output"};
  if (part.ends_with("_cell")) return 0;
  if (part.starts_with("forward_")) return 1;
  if (part.starts_with("backward_")) return 2;
  const std::size_t projection = place_in(kProjections, part);
  return projection == kNowhere ? kNowhere : 10 + projection;
}

/// Keras's order of the weights of a layer, over all layers.
std::size_t place_of_weight(const std::string& weight) {
  static constexpr std::array<const char*, 17> kOrder{"kernel",
                                                      "depthwise_kernel",
                                                      "pointwise_kernel",
                                                      "recurrent_kernel",
                                                      "embeddings",
                                                      "alpha",
                                                      "scale",
                                                      "weight",
                                                      "bias",
                                                      "gamma",
                                                      "beta",
                                                      "moving_mean",
                                                      "moving_variance",
                                                      "mean",
                                                      "variance",
                                                      "count",
                                                      "concat_score_weight"};
  return place_in(kOrder, weight);
}

struct Named {
  std::string layer, weight;
  std::vector<std::size_t> order;
};

/// By slashes where there are any, else by points.
Named parse_name(const std::string& name) {
  const char separator = name.find('/') != std::string::npos ? '/' : '.';
  std::vector<std::string> parts = split(name, separator);
  std::size_t layer = parts.size() - 1;
  while (separator == '/' && layer > 1 && place_of_part(parts[layer - 1]) != kNowhere) --layer;
  Named named;
  for (std::size_t i = layer; i + 1 < parts.size(); ++i) named.order.push_back(place_of_part(parts[i]));
  named.order.push_back(place_of_weight(parts.back()));
  const auto joined = [&](std::size_t from, std::size_t to) {
    return join(std::vector<std::string>(parts.begin() + static_cast<std::ptrdiff_t>(from),
                                         parts.begin() + static_cast<std::ptrdiff_t>(to)),
                std::string(1, separator));
  };
  named.layer = joined(0, layer);
  named.weight = joined(layer, parts.size());
  return named;
}

}  // namespace

StoredLayers layers_of(const Safetensors& file) {
  struct Piece {
    Named named;
    const Safetensors::Tensor* tensor;
  };
  std::vector<std::string> order;
  std::map<std::string, std::vector<Piece>> pieces;
  std::map<std::string, std::string> kinds;
  if (const auto config = file.metadata.find("model_config"); config != file.metadata.end())
    for (const ConfigLayer& layer : config_layers(config->second)) {
      order.push_back(layer.name);
      kinds.emplace(layer.name, graph::snake_case(layer.class_name));
      pieces[layer.name];
    }
  const bool ordered = !order.empty();
  for (const Safetensors::Tensor& tensor : file.tensors) {
    Named named = parse_name(tensor.name);
    if (!pieces.contains(named.layer)) order.push_back(named.layer);
    pieces[named.layer].push_back({std::move(named), &tensor});
  }
  StoredLayers all;
  all.layout = "safetensors";
  all.ordered = ordered;
  for (const std::string& name : order) {
    std::vector<Piece>& own = pieces[name];
    std::ranges::stable_sort(own, {}, [](const Piece& piece) { return piece.named.order; });
    StoredLayer layer{name, {}, {}, "", kinds[name], true};
    for (const Piece& piece : own) {
      layer.weight_names.push_back(name + "/" + piece.named.weight);
      layer.weights.emplace_back(piece.tensor->array);
    }
    all.layers.push_back(std::move(layer));
  }
  return all;
}

}  // namespace dptrain::formats
