#pragma once

// Log lines whose values become fields with --log json:
//
//   log::info("step 50/118 - loss: 0.5", {{"ev", "step"}, {"step", 50}, {"loss", 0.5}});
//   {"level":"info","ev":"step","step":50,"loss":0.5,"message":"step 50/118 - loss: 0.5"}
//
// Any thread.

#include <string>

#include <nlohmann/json_fwd.hpp>

namespace dptrain::log {

/// As log::info() and log::debug(). `fields`: an object, written in its order. Numbers that are not finite become null.
void info(const std::string& line, const nlohmann::ordered_json& fields);
void debug(const std::string& line, const nlohmann::ordered_json& fields);

}  // namespace dptrain::log
