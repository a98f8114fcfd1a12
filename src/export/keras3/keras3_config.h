#pragma once

// The texts of JSON in a `.keras` file, in the dialect of Keras 3 (docs/keras-files.md). Pure functions, any thread.

#include <string>

#include <nlohmann/json_fwd.hpp>

#include "export/compiled.h"
#include "graph/graph.h"

namespace dptrain::exporting::keras {

/// config.json: the model, and how it was trained where `compiled` says it.
std::string keras3_config(const graph::Graph& graph, const Compiled& compiled);
/// metadata.json. Without a date: the same model gives the same bytes.
std::string keras3_metadata();
/// Null without optimizer or loss.
nlohmann::ordered_json compile_config(const Compiled& compiled);

}  // namespace dptrain::exporting::keras
