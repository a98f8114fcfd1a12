#pragma once

// Lines of the log that --log json writes with their values as fields:
//
//   log::info("step 50/118 - loss: 0.5", {{"ev", "step"}, {"step", 50}, {"loss", 0.5}});
//   {"level":"info","ev":"step","step":50,"loss":0.5,"message":"step 50/118 - loss: 0.5"}
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
