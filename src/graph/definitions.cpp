#include "graph/definitions.h"

#include <algorithm>
#include <cctype>

#include "core/format.h"
#include "core/text.h"
#include "graph/network.h"
#include "nn/layer.h"

namespace dptrain::graph {

const std::vector<std::string>& reserved_arguments() {
  static const std::vector<std::string> names{"name", "inputs", "device", "repeat", "trainable", "if"};
  return names;
}

const std::vector<std::string>& reserved_layer_arguments() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> all = reserved_arguments();
    all.emplace_back("mask");
    return all;
  }();
  return names;
}

std::optional<ListedStep> read_step(const config::Node& node, config::Reader& reader) {
  if (node.is_scalar() && !node.str().empty()) return ListedStep{node.str(), node.mark(), {}};
  if (node.is_map() && node.entries().size() == 1) {
    const auto& entry = node.entries().front();
    return ListedStep{entry.key, entry.mark, entry.value};
  }
  if (node.is_map() && node.entries().size() > 1) {
    const auto &type = node.entries()[0], &second = node.entries()[1];
    reader.error(second.mark, fmt::format("a step is one 'Type: {{arguments}}', found '{}' next to '{}'; put the "
                                          "arguments in braces or indent them further",
                                          second.key, type.key));
  } else {
    reader.error(node, fmt::format("a step is 'Type' or 'Type: {{arguments}}', found {}", node.describe()));
  }
  return std::nullopt;
}

namespace {

bool upper(char c) { return c >= 'A' && c <= 'Z'; }
bool lower(char c) { return c >= 'a' && c <= 'z'; }
bool digit(char c) { return c >= '0' && c <= '9'; }

}  // namespace

std::string snake_case(std::string_view class_name) {
  std::string text;
  for (std::size_t i = 0; i < class_name.size(); ++i) {
    const bool word_starts = i > 0 && upper(class_name[i]) &&
                             (lower(class_name[i - 1]) || (i + 1 < class_name.size() && lower(class_name[i + 1])));
    if (word_starts) text += '_';
    text += static_cast<char>(std::tolower(static_cast<unsigned char>(class_name[i])));
  }
  return text;
}

std::string automatic_base(std::string_view type) { return type == "Input" ? "input_layer" : snake_case(type); }

std::string name_error(const std::string& name) {
  const auto plain = [](char c) { return upper(c) || lower(c) || digit(c) || c == '.'; };
  bool good = !name.empty() && plain(name[0]) && name.size() <= 200;
  for (const char c : name) good = good && (plain(c) || c == '_' || c == '-');
  if (!good) return "1 to 200 letters, digits, '_', '-' and '.', the first a letter or digit";
  return name == "top_level_model_weights" ? "a name that Keras files do not use themselves" : "";
}

std::string repeated_name(const std::string& name, std::int64_t n) {
  return name + (digit(name.back()) ? "_" : "") + std::to_string(n);
}

std::string join_names(const std::string& base, const std::string& local) {
  if (base.empty() || local.empty()) return base + local;
  return base + "_" + local;
}

namespace {

using config::Reader;

/// The lower-case first letter distinguishes these names from those of built-in layers.
bool good_type_name(const config::Node::Entry& entry, const char* what, Reader& reader) {
  const bool good = !entry.key.empty() && entry.key[0] >= 'a' && entry.key[0] <= 'z' && name_error(entry.key).empty();
  if (!good)
    reader.error(entry.mark,
                 fmt::format("{} '{}': the name must start with a lower-case letter and contain letters, digits, '_', "
                             "'-' and '.' (built-in layers start with a capital)",
                             what, entry.key));
  return good;
}

bool good_parameter_name(const std::string& name) {
  const auto letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; };
  return !name.empty() && letter(name[0]) &&
         std::all_of(name.begin(), name.end(), [&](char c) { return letter(c) || (c >= '0' && c <= '9'); });
}

std::vector<Parameter> read_parameters(const config::Node& node, Reader& reader) {
  std::vector<Parameter> all;
  if (node.is_null()) return all;
  if (!node.is_map()) {
    reader.error(node,
                 fmt::format("params must be a mapping of names to defaults or 'required', found {}", node.describe()));
    return all;
  }
  for (const auto& entry : node.entries()) {
    const auto& reserved = reserved_arguments();
    if (!good_parameter_name(entry.key)) {
      reader.error(entry.mark,
                   fmt::format("a parameter's name must be letters, digits and '_', found '{}'", entry.key));
    } else if (std::find(reserved.begin(), reserved.end(), entry.key) != reserved.end()) {
      reader.error(entry.mark,
                   fmt::format("'{}' is an argument that every step has and cannot be a parameter", entry.key));
    } else {
      const bool required = entry.value.is_scalar() && !entry.value.quoted() && entry.value.str() == "required";
      all.push_back({entry.key, required ? std::nullopt : std::optional(entry.value)});
    }
  }
  return all;
}

void only_keys(const config::Node& map, const std::vector<std::string>& keys, Reader& reader) {
  for (const auto& part : map.entries())
    if (std::find(keys.begin(), keys.end(), part.key) == keys.end())
      reader.error(part.mark, fmt::format("unknown key '{}'{}", part.key, did_you_mean(part.key, keys)));
}

/// Names of a block's inputs. Invalid names are reported but kept, to avoid follow-up errors.
std::vector<std::string> read_inputs(const config::Node& node, Reader& reader) {
  const Reader::Key key(reader, "inputs");
  std::vector<std::string> names;
  const std::vector<config::Node> items = node.is_scalar() ? std::vector<config::Node>{node} : node.items();
  if (items.empty()) reader.expected(node, "a list of names for what the block reads");
  for (const config::Node& item : items) {
    if (!item.is_scalar() || !good_parameter_name(item.str()))
      reader.error(item,
                   fmt::format("the name of an input must be letters, digits and '_', found {}", item.describe()));
    else if (std::find(names.begin(), names.end(), item.str()) != names.end())
      reader.error(item, fmt::format("input '{}' is named twice", item.str()));
    names.push_back(item.is_scalar() ? item.str() : "");
  }
  return names;
}

const config::Node* section(const config::Node& model, const char* key, Reader& reader) {
  const config::Node* node = model.find(key);
  if (node == nullptr || node->is_null()) return nullptr;
  if (node->is_map()) return node;
  const Reader::Key name(reader, key);
  reader.expected(*node, "a mapping of names to definitions");
  return nullptr;
}

Shared read_shared(const config::Node::Entry& entry, Reader& reader) {
  const config::Node* layers = entry.value.is_map() ? entry.value.find("layers") : nullptr;
  if (layers == nullptr) return {entry.mark, entry.value, {}};
  only_keys(entry.value, {"inputs", "layers"}, reader);
  Shared shared{entry.mark, *layers, {}};
  if (const config::Node* inputs = entry.value.find("inputs")) shared.inputs = read_inputs(*inputs, reader);
  return shared;
}

}  // namespace

std::vector<std::string> Definitions::type_names() const {
  std::vector<std::string> names = nn::layer_family().names();
  for (const auto& [name, network] : networks()) names.push_back(name);
  for (const auto& [name, block] : blocks) names.push_back(name);
  for (const auto& [name, entry] : shared) names.push_back(name);
  return names;
}

std::optional<Block> read_block(const config::Node& node, const config::Mark& mark, std::vector<std::string> others,
                                Reader& reader) {
  if (!node.is_map()) {
    reader.error(mark, fmt::format("expected a mapping with params and layers, found {}", node.describe()));
    return std::nullopt;
  }
  std::vector<std::string> keys = std::move(others);
  keys.insert(keys.end(), {"params", "layers"});
  only_keys(node, keys, reader);
  Block block;
  if (const config::Node* params = node.find("params")) block.parameters = read_parameters(*params, reader);
  const config::Node* layers = node.find("layers");
  if (layers == nullptr) {
    reader.error(mark, "missing key 'layers'");
    return std::nullopt;
  }
  block.layers = *layers;
  return block;
}

Definitions read_definitions(const config::Node& model, Reader& reader) {
  Definitions all;
  if (const config::Node* blocks = section(model, "blocks", reader))
    for (const auto& entry : blocks->entries())
      if (good_type_name(entry, "block", reader)) {
        const Reader::Subject subject(reader, fmt::format("block '{}'", entry.key));
        if (auto block = read_block(entry.value, entry.mark, {"inputs"}, reader)) {
          if (const config::Node* inputs = entry.value.find("inputs")) block->inputs = read_inputs(*inputs, reader);
          all.blocks.emplace(entry.key, std::move(*block));
        }
      }
  if (const config::Node* shared = section(model, "shared", reader)) {
    for (const auto& entry : shared->entries()) {
      if (!good_type_name(entry, "shared", reader)) continue;
      if (all.blocks.contains(entry.key))
        reader.error(entry.mark, fmt::format("shared '{}' is a block as well", entry.key));
      const Reader::Subject subject(reader, fmt::format("shared '{}'", entry.key));
      all.shared.emplace(entry.key, read_shared(entry, reader));
    }
  }
  return all;
}

}  // namespace dptrain::graph
