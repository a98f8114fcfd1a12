#pragma once

// Members of JSON that may have any form: a file's text can come from anybody. Pure.

#include <string>

#include <nlohmann/json_fwd.hpp>

namespace dptrain::formats {

/// null where there is no such member.
const nlohmann::json& at(const nlohmann::json& json, const char* key);
/// "" where there is no such text.
std::string text_at(const nlohmann::json& json, const char* key);

}  // namespace dptrain::formats
