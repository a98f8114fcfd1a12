#include "formats/keras/keras_layer_arguments.h"

#include <algorithm>
#include <array>
#include <optional>
#include <set>
#include <string_view>

#include <nlohmann/json.hpp>

#include "core/format.h"
#include "formats/keras/keras_values.h"
#include "nn/wrappers.h"

namespace dptrain::formats {
namespace {

using config::Node;

constexpr int kDeepestArgument = 8;  ///< lists and objects within one argument

/// Keys that Keras writes and that do not change what a layer computes.
bool is_bookkeeping(const std::string& key) {
  static constexpr std::array<std::string_view, 18> kKeys{"name",
                                                          "trainable",
                                                          "dtype",
                                                          "batch_input_shape",
                                                          "batch_shape",
                                                          "input_shape",
                                                          "seed",
                                                          "autocast",
                                                          "build_config",
                                                          "implementation",
                                                          "input_dtype",
                                                          "registered_name",
                                                          "module",
                                                          "fused",
                                                          "shared_object_id",
                                                          "renorm_momentum",
                                                          "renorm_clipping",
                                                          "quantization_config"};
  return std::find(kKeys.begin(), kKeys.end(), key) != kKeys.end();
}

/// The value that leaves a thing out.
bool is_nothing(const nlohmann::json& value) {
  return value.is_null() || (value.is_boolean() && !value.get<bool>()) ||
         ((value.is_array() || value.is_object()) && value.empty());
}

std::string excerpt(const nlohmann::json& value) {
  std::string text = value.dump(-1, ' ', true, nlohmann::json::error_handler_t::replace);
  constexpr std::size_t kMost = 60;
  return text.size() <= kMost ? text : text.substr(0, kMost) + "...";
}

std::optional<Node> node_of(const nlohmann::json& value, int depth);

/// {"class_name": "L2", "config": {"l2": 0.01}} -> L2: {l2: 0.01}; a function of Keras 3 has its name for a config.
std::optional<Node> object_of(const nlohmann::json& value, int depth) {
  if (const auto plain = value.find("value"); plain != value.end())
    return node_of(*plain, depth + 1);  // a number of numpy
  const auto name = value.find("class_name"), config = value.find("config");
  if (name == value.end() || !name->is_string()) return std::nullopt;
  if (config != value.end() && config->is_string()) return Node::text(config->get<std::string>());
  Node arguments = Node::map();
  if (config != value.end() && config->is_object())
    for (const auto& [key, item] : config->items()) {
      if (is_nothing(item) || key == "seed" || key == "dtype" || key == "name") continue;
      std::optional<Node> node = node_of(item, depth + 1);
      if (!node) return std::nullopt;
      arguments.set(key, std::move(*node));
    }
  if (arguments.entries().empty()) return Node::text(name->get<std::string>());
  Node typed = Node::map();
  typed.set(name->get<std::string>(), std::move(arguments));
  return typed;
}

std::optional<Node> node_of(const nlohmann::json& value, int depth) {
  if (depth > kDeepestArgument) return std::nullopt;
  if (value.is_null()) return Node();  // an extent of a noise_shape
  if (value.is_string()) return Node::text(value.get<std::string>());
  if (value.is_boolean()) return Node::boolean(value.get<bool>());
  if (value.is_number()) return Node::scalar(value.dump());
  if (value.is_object()) return object_of(value, depth);
  if (!value.is_array()) return std::nullopt;
  Node list = Node::sequence();
  for (const nlohmann::json& item : value) {
    std::optional<Node> node = node_of(item, depth + 1);
    if (!node) return std::nullopt;
    list.items().push_back(std::move(*node));
  }
  return list;
}

const config::Field* field_of(const config::Schema& schema, const std::string& key) {
  for (const config::Field& field : schema.fields())
    if (field.name == key || std::find(field.aliases.begin(), field.aliases.end(), key) != field.aliases.end())
      return &field;
  return nullptr;
}

/// Whether a key that our layer does not have can be ignored because its value changes nothing.
bool is_harmless(const std::string& class_name, const std::string& key, const nlohmann::json& value) {
  if (is_nothing(value)) return true;
  if (class_name == "MultiHeadAttention" && key.ends_with("_shape")) return true;  // Keras 2: of what it was built for
  if (class_name == "Embedding" && key == "input_length") return true;             // Keras 2: the extent of its input
  if (key == "data_format") return value == "channels_last";
  if (key == "groups" || key == "depth_multiplier") return value == 1;
  if (key == "interpolation") return value == "nearest";
  if (class_name == "Resizing" && key.starts_with("fill_")) return true;              // of pad_to_aspect_ratio
  if (class_name == "PositionEmbedding" && key == "hierarchical_alpha") return true;  // of longer sequences
  // Keras 2 writes those of its convolution into the layers derived from it, which do not use them.
  const bool derived = class_name.starts_with("SeparableConv") || class_name.starts_with("DepthwiseConv");
  return derived && (key == "kernel_initializer" || key == "filters");
}

/// What Keras 2 computes under the name of an activation that is another function in Keras 3; null for all others.
/// What is of `keras.ops` says that it is Keras 3's.
const char* meaning_in_keras2(const nlohmann::json& activation) {
  std::optional<Node> name = node_of(activation, 0);
  if (!name || !name->is_scalar()) return nullptr;
  if (activation.is_object() && activation.value("module", nlohmann::json()) == keras::kOps) return nullptr;
  for (const kernels::ActivationTraits& traits : kernels::kActivations)
    if (name->str() == traits.name) return traits.keras2;
  return nullptr;
}

/// The same but for the names of objects and the direction. The text's depth has been checked.
bool alike(const nlohmann::json& a, const nlohmann::json& b) {
  static const std::set<std::string> own{"name", "go_backwards", "build_config", "shared_object_id"};
  if (!a.is_object() || !b.is_object()) return a == b;
  const auto counts = [](const auto& item) { return !own.contains(item.key()); };
  const auto there = [&](const auto& item) {
    return !counts(item) || (b.contains(item.key()) && alike(item.value(), b.at(item.key())));
  };
  return std::ranges::count_if(a.items(), counts) == std::ranges::count_if(b.items(), counts) &&
         std::ranges::all_of(a.items(), there);
}

/// The layer that a wrapper holds, {"class_name", "config"}, as `Type: {arguments}`.
std::optional<Node> wrapped_layer(const nlohmann::json& value, bool by_keras3, std::vector<std::string>& complaints) {
  const auto name = value.find("class_name"), config = value.find("config");
  if (!value.is_object() || name == value.end() || !name->is_string() || config == value.end()) return std::nullopt;
  const auto type = name->get<std::string>();
  if (nn::layer_family().find(type) == nullptr) {
    complaints.push_back(fmt::format("its layer is of class {}, which dptrain does not have", type));
    return Node();
  }
  nlohmann::json own = *config;
  if (own.is_object()) own.erase("zero_output_for_mask");  // the wrapper sets it
  Node typed = Node::map();
  typed.set(type, layer_arguments(type, own, by_keras3, complaints));
  return typed;
}

/// Complaints about arguments of a wrapper that have no value of ours. True: the key is done with.
bool settles_wrapper_key(const std::string& class_name, const std::string& key, const nlohmann::json& config,
                         std::vector<std::string>& complaints) {
  if (class_name != "Bidirectional") return false;
  if (key == "merge_mode" && config.at(key).is_null()) {
    complaints.push_back("merge_mode None is not supported: dptrain's layer gives one output");
    return true;
  }
  if (key != "backward_layer" || config.at(key).is_null()) return false;
  // Keras 3 always writes it.
  if (!alike(config.at(key), config.value("layer", nlohmann::json())))
    complaints.push_back("its backward_layer has other settings than its layer, which is not supported");
  return true;
}

}  // namespace

Node layer_arguments(const std::string& class_name, const nlohmann::json& config, bool by_keras3,
                     std::vector<std::string>& complaints) {
  const config::Schema& schema = nn::layer_family().find(class_name)->schema;
  Node arguments = Node::map();
  if (!config.is_object()) return arguments;
  for (const auto& [key, value] : config.items()) {
    const config::Field* field = field_of(schema, key);
    if (settles_wrapper_key(class_name, key, config, complaints)) continue;
    if (is_bookkeeping(key) || value.is_null()) continue;
    if (field == nullptr) {
      if (!is_harmless(class_name, key, value))
        complaints.push_back(fmt::format("argument '{}' is not supported, found {}", key, excerpt(value)));
      continue;
    }
    if (const char* other = by_keras3 || !key.ends_with("activation") ? nullptr : meaning_in_keras2(value)) {
      complaints.push_back(fmt::format(
          "activation {} of Keras 2, which wrote the file, is {}; Keras 3 and dptrain compute another function under "
          "that name",
          excerpt(value), other));
      continue;
    }
    const bool alone = key == "axis" && value.is_array() && value.size() == 1;  // Keras 2: [3]
    std::optional<Node> node = field->value == &config::kValueOperations<nn::WrappedLayer>
                                   ? wrapped_layer(value, by_keras3, complaints)
                                   : node_of(alone ? value.front() : value, 0);
    if (node)
      arguments.set(field->name, std::move(*node));
    else
      complaints.push_back(fmt::format("argument '{}' is of an unknown kind: {}", key, excerpt(value)));
  }
  return arguments;
}

}  // namespace dptrain::formats
