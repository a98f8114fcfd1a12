#include "checkpoint/config_layers.h"

#include <nlohmann/json.hpp>

namespace dptrain::checkpoint {
namespace {

constexpr int kDeepestModel = 16;  ///< models in models

std::string text_or_empty(const nlohmann::json& json, const char* key) {
  const auto found = json.is_object() ? json.find(key) : json.end();
  return json.is_object() && found != json.end() && found->is_string() ? found->get<std::string>() : "";
}

/// The list of layers in the config of a model, or null. Early Sequential models have the list itself for a config.
const nlohmann::json* list_of(const nlohmann::json& model) {
  if (!model.is_object()) return nullptr;
  const auto config = model.find("config");
  if (config == model.end()) return nullptr;
  if (config->is_array() && text_or_empty(model, "class_name") == "Sequential") return &*config;
  const auto list = config->is_object() ? config->find("layers") : config->end();
  return config->is_object() && list != config->end() && list->is_array() ? &*list : nullptr;
}

std::vector<ConfigLayer> read(const nlohmann::json& list, int depth) {
  std::vector<ConfigLayer> layers;
  for (const nlohmann::json& entry : list) {
    if (!entry.is_object()) continue;
    ConfigLayer layer{text_or_empty(entry, "name"), text_or_empty(entry, "class_name"), false, {}};
    if (const auto config = entry.find("config"); layer.name.empty() && config != entry.end())
      layer.name = text_or_empty(*config, "name");
    if (const nlohmann::json* inner = list_of(entry); inner != nullptr && depth < kDeepestModel) {
      layer.is_model = true;
      layer.inner = read(*inner, depth + 1);
    }
    layers.push_back(std::move(layer));
  }
  return layers;
}

}  // namespace

std::vector<ConfigLayer> config_layers(const std::string& model_config) {
  const nlohmann::json model = nlohmann::json::parse(model_config, nullptr, false);
  const nlohmann::json* list = list_of(model);
  return list == nullptr ? std::vector<ConfigLayer>() : read(*list, 0);
}

const ConfigLayer* multi_gpu_core(const std::vector<ConfigLayer>& layers) {
  const ConfigLayer* core = nullptr;
  bool slices = false;
  for (const ConfigLayer& layer : layers) {
    if (layer.is_model && core == nullptr) {
      core = &layer;
    } else if (layer.class_name == "Lambda") {
      slices = true;
    } else if (layer.class_name != "InputLayer" && layer.class_name != "Concatenate") {
      return nullptr;
    }
  }
  return slices ? core : nullptr;
}

}  // namespace dptrain::checkpoint
