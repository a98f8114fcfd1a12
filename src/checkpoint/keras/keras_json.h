#pragma once

// Members of JSON that may have any form: a file's text can come from anybody. Pure.

#include <string>

#include <nlohmann/json.hpp>

namespace dptrain::checkpoint {

/// null where there is no such member.
inline const nlohmann::json& at(const nlohmann::json& json, const char* key) {
  static const nlohmann::json nothing;
  if (!json.is_object()) return nothing;
  const auto found = json.find(key);
  return found == json.end() ? nothing : *found;
}

/// "" where there is no such text.
inline std::string text_at(const nlohmann::json& json, const char* key) {
  const nlohmann::json& value = at(json, key);
  return value.is_string() ? value.get<std::string>() : "";
}

}  // namespace dptrain::checkpoint
