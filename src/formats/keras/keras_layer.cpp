#include "formats/keras/keras_layer.h"

#include <algorithm>

#include <nlohmann/json.hpp>

#include "core/error.h"
#include "core/format.h"
#include "core/text.h"
#include "nn/wrappers.h"

namespace dptrain::formats::keras {
namespace {

using config::Node;

Entries::iterator position(Entries& entries, const std::string& key) {
  const auto found = std::ranges::find(entries, key, &Entries::value_type::first);
  if (found == entries.end()) throw Error(ErrorKind::kInternal, fmt::format("no argument '{}' to change", key));
  return found;
}

}  // namespace

config::Registry<std::type_index, LayerForm>& layer_forms() {
  static config::Registry<std::type_index, LayerForm> forms;
  return forms;
}

const LayerForm& layer_form(std::type_index spec) {
  static const LayerForm plain;
  const LayerForm* own = layer_forms().find(spec);
  return own == nullptr ? plain : *own;
}

// Writing

std::string class_name(const config::Typed& layer) {
  const LayerForm& form = layer_form(layer);
  return form.class_name.empty() ? layer.name() : form.class_name;
}

std::vector<std::string> call_arguments(const config::Typed& layer) {
  std::vector<std::string> all;
  for (const std::string& key : layer_form(layer).of_calls)
    for (const config::Field& field : layer.def().schema.fields())
      if (field.name == key && value(field, layer.spec()).str() == "true") all.push_back(key);
  return all;
}

Node layer_arguments(const config::Typed& layer, Dialect dialect) {
  const bool keras3 = dialect == Dialect::kKeras3;
  Entries entries;
  for (const config::Field& field : layer.def().schema.fields())
    entries.emplace_back(field.name, keras3 ? keras3_value(field, layer.spec()) : value(field, layer.spec()));
  for (const LayerForm::Difference& difference : layer_form(layer).differences)
    if (difference.dialect.value_or(dialect) == dialect) difference.make(layer.spec(), entries);
  return object(std::move(entries));
}

void insert(Entries& entries, const std::string& after, const std::string& key, Node value) {
  entries.emplace(after.empty() ? entries.begin() : std::next(position(entries, after)), key, std::move(value));
}

Node take(Entries& entries, const std::string& key) {
  const auto found = position(entries, key);
  Node value = std::move(found->second);
  entries.erase(found);
  return value;
}

Node& at(Entries& entries, const std::string& key) { return position(entries, key)->second; }

// Reading

namespace {

constexpr int kDeepestArgument = 8;  ///< lists and objects within one argument

/// Arguments of all layers that do not change the output.
bool is_bookkeeping(const std::string& key) {
  static const std::vector<std::string> keys = split(
      "name trainable dtype batch_input_shape batch_shape input_shape seed autocast build_config implementation "
      "input_dtype registered_name module fused shared_object_id renorm_momentum renorm_clipping "
      "quantization_config",
      ' ');
  return std::ranges::find(keys, key) != keys.end();
}

/// Whether the value means the same as an absent argument.
bool is_nothing(const nlohmann::json& value) {
  return value.is_null() || (value.is_boolean() && !value.get<bool>()) ||
         ((value.is_array() || value.is_object()) && value.empty());
}

std::string excerpt(const nlohmann::json& value) {
  std::string text = value.dump(-1, ' ', true, nlohmann::json::error_handler_t::replace);
  constexpr std::size_t kMax = 60;
  return text.size() <= kMax ? text : text.substr(0, kMax) + "...";
}

std::optional<Node> read_value(const nlohmann::json& value, int depth = 0);

/// {"class_name": "L2", "config": {"l2": 0.01}} -> L2: {l2: 0.01}. The config of a Keras 3 function is its name.
std::optional<Node> read_object(const nlohmann::json& value, int depth) {
  if (const auto plain = value.find("value"); plain != value.end())
    return read_value(*plain, depth + 1);  // a NumPy number
  const auto name = value.find("class_name"), config = value.find("config");
  if (name == value.end() || !name->is_string()) return std::nullopt;
  if (config != value.end() && config->is_string()) return Node::text(config->get<std::string>());
  Node arguments = Node::map();
  if (config != value.end() && config->is_object())
    for (const auto& [key, item] : config->items()) {
      if (is_nothing(item) || key == "seed" || key == "dtype" || key == "name") continue;
      std::optional<Node> node = read_value(item, depth + 1);
      if (!node) return std::nullopt;
      arguments.set(key, std::move(*node));
    }
  if (arguments.entries().empty()) return Node::text(name->get<std::string>());
  Node typed = Node::map();
  typed.set(name->get<std::string>(), std::move(arguments));
  return typed;
}

std::optional<Node> read_value(const nlohmann::json& value, int depth) {
  if (depth > kDeepestArgument) return std::nullopt;
  if (value.is_null()) return Node();  // an extent of a noise_shape
  if (value.is_string()) return Node::text(value.get<std::string>());
  if (value.is_boolean()) return Node::boolean(value.get<bool>());
  if (value.is_number()) return Node::scalar(value.dump());
  if (value.is_object()) return read_object(value, depth);
  if (!value.is_array()) return std::nullopt;
  Node list = Node::sequence();
  for (const nlohmann::json& item : value) {
    std::optional<Node> node = read_value(item, depth + 1);
    if (!node) return std::nullopt;
    list.items().push_back(std::move(*node));
  }
  return list;
}

const config::Field* field_of(const config::Schema& schema, const std::string& key) {
  for (const config::Field& field : schema.fields())
    if (field.name == key || std::ranges::find(field.aliases, key) != field.aliases.end()) return &field;
  return nullptr;
}

/// Whether an argument that dptrain's layer lacks has a value that does not change the output.
bool is_harmless(const LayerForm& form, const std::string& key, const nlohmann::json& value) {
  if (is_nothing(value)) return true;
  if (key == "data_format") return value == "channels_last";
  if (key == "groups" || key == "depth_multiplier") return value == 1;
  if (key == "interpolation") return value == "nearest";
  return std::ranges::any_of(form.ignored, [&](const std::string& pattern) { return glob_match(pattern, key); });
}

/// The function that Keras 2 computes under the name of an activation if Keras 3 computes another, else null. A value
/// with the module `keras.ops` is Keras 3's.
const char* meaning_in_keras2(const nlohmann::json& activation) {
  const std::optional<Node> name = read_value(activation);
  if (!name || !name->is_scalar()) return nullptr;
  if (activation.is_object() && activation.value("module", nlohmann::json()) == kOps) return nullptr;
  for (const kernels::ActivationTraits& traits : kernels::kActivations)
    if (name->str() == traits.name) return traits.keras2;
  return nullptr;
}

/// The layer in a wrapper, {"class_name", "config"}, as `Type: {arguments}`.
std::optional<Node> read_wrapped(const nlohmann::json& value, bool by_keras3, std::vector<std::string>& errors) {
  const auto name = value.find("class_name"), config = value.find("config");
  if (!value.is_object() || name == value.end() || !name->is_string() || config == value.end()) return std::nullopt;
  const auto type = name->get<std::string>();
  if (nn::layer_family().find(type) == nullptr) {
    errors.push_back(fmt::format("its layer is of class {}, which dptrain does not support", type));
    return Node();
  }
  nlohmann::json own = *config;
  if (own.is_object()) own.erase("zero_output_for_mask");  // the wrapper sets it
  Node typed = Node::map();
  typed.set(type, layer_arguments(type, own, by_keras3, errors));
  return typed;
}

}  // namespace

Node layer_arguments(const std::string& class_name, const nlohmann::json& config, bool by_keras3,
                     std::vector<std::string>& errors) {
  const config::TypeDef& type = *nn::layer_family().find(class_name);
  const LayerForm& form = layer_form(type.type);
  Node arguments = Node::map();
  if (!config.is_object()) return arguments;
  for (const auto& [key, value] : config.items()) {
    if (form.reader != nullptr && form.reader(key, config, errors)) continue;
    if (is_bookkeeping(key) || value.is_null()) continue;
    const config::Field* field = field_of(type.schema, key);
    if (field == nullptr) {
      if (!is_harmless(form, key, value))
        errors.push_back(fmt::format("argument '{}' is not supported, found {}", key, excerpt(value)));
      continue;
    }
    if (const char* other = by_keras3 || !key.ends_with("activation") ? nullptr : meaning_in_keras2(value)) {
      errors.push_back(fmt::format(
          "activation {} of Keras 2, which wrote the file, is {}; Keras 3 and dptrain compute another function under "
          "that name",
          excerpt(value), other));
      continue;
    }
    const bool single = key == "axis" && value.is_array() && value.size() == 1;  // Keras 2: [3]
    std::optional<Node> node = field->value == &config::kValueOperations<nn::WrappedLayer>
                                   ? read_wrapped(value, by_keras3, errors)
                                   : read_value(single ? value.front() : value);
    if (node)
      arguments.set(field->name, std::move(*node));
    else
      errors.push_back(fmt::format("argument '{}' is of an unknown kind: {}", key, excerpt(value)));
  }
  return arguments;
}

}  // namespace dptrain::formats::keras
