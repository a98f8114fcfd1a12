#pragma once

// Lines of the log that --log json writes with their values as fields:
//
//   log::info("Epoch 1/8", {{"ev", "epoch_begin"}, {"epoch", 1}});
//   {"level":"info","ev":"epoch_begin","epoch":1,"message":"Epoch 1/8"}
//
// Any thread.

#include <string>

#include <nlohmann/json_fwd.hpp>

namespace dptrain::log {

/// As log::info() and log::debug(); `fields` is an object, in whose order they are written. A number that is not finite
/// is written as null.
void info(const std::string& line, const nlohmann::ordered_json& fields);
void debug(const std::string& line, const nlohmann::ordered_json& fields);

}  // namespace dptrain::log
