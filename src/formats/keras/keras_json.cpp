#include "formats/keras/keras_json.h"

#include <nlohmann/json.hpp>

namespace dptrain::formats {

const nlohmann::json& at(const nlohmann::json& json, const char* key) {
  static const nlohmann::json nothing;
  if (!json.is_object()) return nothing;
  const auto found = json.find(key);
  return found == json.end() ? nothing : *found;
}

std::string text_at(const nlohmann::json& json, const char* key) {
  const nlohmann::json& value = at(json, key);
  return value.is_string() ? value.get<std::string>() : "";
}

}  // namespace dptrain::formats
